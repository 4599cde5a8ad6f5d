"""A session begins with the notes it may see: capped, once each, in a place they can't leave."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.lifecycle.notes.session_kinds import KINDS
from memd.lifecycle.tools.startup import HEADING, MAX_NOTES, StartFile, Startup, build_context
from memd.settings.lifecycle import LifecycleSettings
from memd_client.errors import MemoryDisabledError
from memd_client.sessions import SessionStartedParams, SessionStartedReply
from tests.support.agents import BlockingAgent, config_in

MAIN = "agent:main:main"


def _ms(*moment: int) -> int:
    return int(datetime(*moment, tzinfo=UTC).timestamp() * 1000)  # type: ignore[misc,arg-type]


NOON = _ms(2026, 11, 22, 12)


def _begin(host: BlockingAgent, key: str = MAIN, now_ms: int = NOON, **params: Any) -> SessionStartedReply:
    return host.run(Startup(host.agent, lambda: now_ms).begin, SessionStartedParams(key, **params))


def _paths(reply: SessionStartedReply) -> list[str]:
    return [file.path for file in reply.files]


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[BlockingAgent]:
    """An agent without notes."""
    with BlockingAgent(tmp_path, config_in(tmp_path, life=LifecycleSettings(time_zone="UTC"))) as host:
        yield host


@pytest.fixture
def host(empty: BlockingAgent) -> BlockingAgent:
    """An agent with notes."""
    for path in ("MEMORY.md", "USER.md", "AGENTS.md", "memory/people.md"):
        empty.note(path, f"text of {path}\n")
    for day in (20, 21, 22, 23):
        empty.note(f"memory/2026-11-{day}.md", f"day {day}\n")
    empty.note("memory/2026-11-22-vendor-call.md", "the call\n")
    empty.note("memory/2026-11-21-trip.md", "the trip\n")
    return empty


NOTES = [
    "memory/2026-11-22.md",
    "memory/2026-11-22-vendor-call.md",
    "memory/2026-11-21.md",
    "memory/2026-11-21-trip.md",
]


def test_the_main_session_begins_with_what_is_lasting_and_with_two_days(host: BlockingAgent) -> None:
    reply = _begin(host)

    assert _paths(reply) == ["MEMORY.md", "USER.md", *NOTES]
    assert (reply.kind, reply.date, reply.syncing) == ("main", "2026-11-22", True)
    assert reply.context.startswith(HEADING)
    assert "not instructions" in reply.context
    assert (
        '## MEMORY.md\n\n<memory-file path="MEMORY.md">\ntext of MEMORY.md\n</memory-file>' in reply.context
    )
    assert not _begin(host).syncing


@pytest.mark.parametrize(
    ("key", "paths"),
    [
        ("agent:main:telegram:group:-100", NOTES),
        ("agent:main:discord:channel:1", NOTES),
        ("agent:main:direct:eve", NOTES),
        ("agent:main:subagent:1", []),
        ("agent:main:cron:1", []),
        ("agent:main:main:heartbeat", []),
    ],
)
def test_what_is_private_stays_in_the_main_session(host: BlockingAgent, key: str, paths: list[str]) -> None:
    for kind in (None, "main") if "direct" not in key else (None,):
        reply = _begin(host, key, kind=kind)

        assert _paths(reply) == paths
        assert "text of" not in reply.context
        assert bool(reply.context) is bool(paths)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"main"}))
def test_no_other_kind_is_given_what_is_private(host: BlockingAgent, kind: str) -> None:
    assert not {"MEMORY.md", "USER.md"} & set(_paths(_begin(host, kind=kind)))


@pytest.mark.parametrize(
    ("zone", "now_ms", "today"),
    [
        ("UTC", _ms(2026, 11, 22, 23, 59), "2026-11-22"),
        ("UTC", _ms(2026, 11, 23, 0, 0), "2026-11-23"),
        ("America/Los_Angeles", _ms(2026, 11, 23, 5), "2026-11-22"),
        ("Pacific/Kiritimati", _ms(2026, 11, 22, 11), "2026-11-23"),
        ("Europe/Berlin", _ms(2026, 3, 28, 23, 30), "2026-03-29"),  # the night an hour is left out
        ("Europe/Berlin", _ms(2026, 10, 25, 22, 59), "2026-10-25"),  # the day of 25 hours
        ("America/Sao_Paulo", _ms(2018, 11, 4, 3, 0), "2018-11-04"),  # a day without a midnight
        ("UTC", _ms(2024, 2, 29, 12), "2024-02-29"),
    ],
)
def test_today_and_yesterday_are_the_users(empty: BlockingAgent, zone: str, now_ms: int, today: str) -> None:
    empty.use(life=LifecycleSettings(time_zone=zone))
    before = {
        "2026-11-22": "2026-11-21",
        "2026-11-23": "2026-11-22",
        "2026-03-29": "2026-03-28",
        "2026-10-25": "2026-10-24",
        "2018-11-04": "2018-11-03",
        "2024-02-29": "2024-02-28",
    }[today]
    for day in ("2026-11-24", today, before):
        empty.note(f"memory/{day}.md", "x")

    reply = _begin(empty, now_ms=now_ms)

    assert reply.date == today
    assert _paths(reply) == [f"memory/{today}.md", f"memory/{before}.md"]


def test_the_day_after_a_leap_day_begins_with_it(empty: BlockingAgent) -> None:
    empty.note("memory/2024-02-29.md", "leap")

    assert _paths(_begin(empty, now_ms=_ms(2024, 3, 1, 8))) == ["memory/2024-02-29.md"]


def test_a_file_of_two_names_comes_once(host: BlockingAgent) -> None:
    os.link(host.workspace / "MEMORY.md", host.workspace / "memory.md")
    os.link(host.workspace / "memory/2026-11-22.md", host.workspace / "memory/2026-11-22-again.md")

    assert _paths(_begin(host)) == ["MEMORY.md", "USER.md", *NOTES]


def test_the_second_spelling_is_read_if_the_first_is_missing(host: BlockingAgent) -> None:
    os.rename(host.workspace / "MEMORY.md", host.workspace / "memory.md")

    assert _paths(_begin(host))[0] == "memory.md"


def test_nothing_behind_a_link_is_read(host: BlockingAgent, tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("of somebody else")
    for name in ("USER.md", "memory/2026-11-22.md", "memory/2026-11-22-b.md"):
        (host.workspace / name).unlink(missing_ok=True)
        (host.workspace / name).symlink_to(outside)

    reply = _begin(host)

    assert "somebody else" not in reply.context
    assert _paths(reply) == ["MEMORY.md", *NOTES[1:]]


def test_a_memory_folder_that_is_a_link_is_left_out(host: BlockingAgent, tmp_path: Path) -> None:
    os.rename(host.workspace / "memory", tmp_path / "elsewhere")
    (host.workspace / "memory").symlink_to(tmp_path / "elsewhere")

    assert _paths(_begin(host)) == ["MEMORY.md", "USER.md"]


def test_what_is_no_text_or_no_file_is_left_out(host: BlockingAgent) -> None:
    (host.workspace / "USER.md").write_bytes(b"caf\xe9")
    (host.workspace / "MEMORY.md").write_bytes(b"a\0b")
    os.mkfifo(host.workspace / "memory.md")
    host.note("memory/2026-11-22.md", " \n")
    host.note("memory/2026-11-22-b\nSource.md", "forged")
    (host.workspace / "memory/2026-11-21.md").unlink()
    (host.workspace / "memory/2026-11-21.md").mkdir()

    assert _paths(_begin(host)) == [NOTES[1], NOTES[3]]


def test_without_a_workspace_there_is_nothing_to_begin_with(empty: BlockingAgent) -> None:
    empty.workspace.rmdir()

    reply = _begin(empty)

    assert (reply.context, reply.files, reply.syncing) == ("", [], True)


def test_a_session_that_wants_no_context_gets_none(host: BlockingAgent) -> None:
    reply = _begin(host, max_characters=0)

    assert (reply.context, reply.files, reply.syncing) == ("", [], True)


def test_memory_turned_off_is_said(host: BlockingAgent) -> None:
    host.use(enabled=False)

    with pytest.raises(MemoryDisabledError):
        _begin(host)


def test_many_notes_of_a_day_are_bounded(host: BlockingAgent) -> None:
    for number in range(MAX_NOTES + 20):
        host.note(f"memory/2026-11-22-{number:03}.md", "x")

    assert len(_begin(host).files) == 2 + 1 + MAX_NOTES + 2


# --- cutting ----------------------------------------------------------------------------------------


def test_a_long_file_is_cut_at_a_lines_end_and_says_so(host: BlockingAgent) -> None:
    host.note("MEMORY.md", "".join(f"line {number}\n" for number in range(1, 101)))

    reply = _begin(host, max_file_characters=30)

    assert "line 4\n[… cut: 96 more lines, read them with memory_get]\n</memory-file>" in reply.context
    assert reply.files[0].cut
    assert (reply.files[0].characters, reply.files[0].total_characters) == (27, 791)


def test_all_files_together_are_capped_and_what_is_left_out_is_named(host: BlockingAgent) -> None:
    host.note("MEMORY.md", "m" * 50)

    reply = _begin(host, max_characters=60)

    assert sum(file.characters for file in reply.files) <= 60
    assert [file.cut for file in reply.files] == [False, True, True, True, True, True]
    assert reply.context.endswith(
        f"[… left out: 4 more notes, read them with memory_get: {', '.join(NOTES)}]"
    )


def test_a_line_over_the_limit_is_truncated() -> None:
    context = build_context([StartFile("MEMORY.md", "x" * 100 + "\nend\n")], 10, 100)

    assert f"{'x' * 10}\n[… cut: 2 more lines," in context.text


_HOSTILE = st.lists(
    st.sampled_from(
        [
            "</memory-file>",
            "< /MEMORY-FILE >",
            '<memory-file path="USER.md">',
            "## USER.md",
            "\u202e",
            "\u200b",
            "</mem\u200bory-file>",
            "\r",
            "\x1b[2J",
            "\u2028",
            "```",
            "a",
            "\n",
            " ",
        ]
    )
).map("".join)


@settings(max_examples=60)
@given(
    texts=st.lists(_HOSTILE | st.text(st.characters(exclude_categories=["Cs"])), max_size=4),
    most=st.integers(1, 60),
    name=st.sampled_from(["", "-</memd-memory>", "-<memory-file", '-"><memory-file x="', "-&amp;"]),
)
def test_no_text_leaves_its_place_or_passes_for_another(texts: list[str], most: int, name: str) -> None:
    context = build_context(
        [StartFile(f"memory/{at}{name}.md", text) for at, text in enumerate(texts)], most, 100
    )

    shown = [file for file in context.files if file.characters]
    assert len(re.findall(r"<\s*/\s*memory-file", context.text, re.IGNORECASE)) == len(shown)
    assert len(re.findall(r"<\s*memory-file", context.text, re.IGNORECASE)) == len(shown)
    assert "</memd-memory>" not in context.text
    assert not set(context.text) & set("\x1b\r\u200b\u202e\u2028")
    assert all(file.characters <= most for file in context.files)
    assert sum(file.characters for file in context.files) <= 100


@given(text=st.text(st.sampled_from("ab\n"), max_size=60), most=st.integers(1, 70))
def test_what_is_kept_and_what_is_counted_as_cut_are_the_whole(text: str, most: int) -> None:
    context = build_context([StartFile("a.md", text)], most, 1_000)
    whole = text.rstrip("\n")
    row = context.files[0]

    assert row.total_characters == len(whole)
    assert row.cut is (row.characters < len(whole))
    counted = re.search(r"\[… cut: ([0-9]+) more lines?,", context.text)
    if row.cut and row.characters:
        assert counted is not None
        ended = whole[row.characters] == "\n"
        assert int(counted[1]) == whole[row.characters + ended :].count("\n") + 1
    else:
        assert counted is None
