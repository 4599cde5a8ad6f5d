"""Messages of a transcript, one line each."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.transcripts.messages import kind_of_key, kind_of_opening, read_record
from tests.support.flattening import flatten_transcript

HEARTBEAT = "Read HEARTBEAT.md if it exists. If nothing needs attention, reply HEARTBEAT_OK."


def said(role: object, content: object, **more: object) -> str:
    """Return a transcript's line."""
    return json.dumps({"type": "message", "message": {"role": role, "content": content, **more}})


def test_each_message_is_one_line_with_its_source() -> None:
    lines = [
        said("user", "a\n b"),
        said("toolResult", "x"),
        "",
        said("assistant", [{"type": "text", "text": "c"}]),
    ]

    assert flatten_transcript("\n".join(lines)) == ("User: a b\nAssistant: c", [1, 4])


def test_only_text_blocks_count() -> None:
    content = [{"type": "image", "text": "x"}, {"type": "text", "text": " a "}, {"type": "text"}, "b", None]

    assert flatten_transcript(said("user", content))[0] == "User: a"


def test_damaged_lines_are_skipped() -> None:
    damaged = [
        "{",
        "null",
        "[1]",
        "\ufeff" + said("user", "x"),
        '{"type": "message", "message": {"role": ["user"], "content": "x"}}',
        '{"type": "message", "message": NaN}',
        '{"type": "message", "message": {"role": "user", "content": {"text": "x"}}}',
        "[" * 100_000,
        "9" * 5000,
    ]

    assert flatten_transcript("\n".join([*damaged, said("user", "ok")])) == ("User: ok", [len(damaged) + 1])


def test_whitespace_matches_openclaws() -> None:
    assert flatten_transcript(said("user", "\ufeffa\u00a0\u3000b\x1c\u2028c"))[0] == "User: a b\x1c c"


def test_a_lone_surrogate_is_replaced() -> None:
    text, _ = flatten_transcript(said("user", "a\ud83db 🙂"))

    assert text.encode() == "User: a\ufffdb 🙂".encode()


def test_text_written_by_openclaw_is_skipped() -> None:
    lines = [
        said("user", HEARTBEAT),
        said("assistant", "HEARTBEAT_OK"),
        said(
            "user", [{"type": "text", "text": "[cron:1 x] go"}, {"type": "text", "text": "[message_id: 1]"}]
        ),
        said("user", "from another session", provenance={"kind": "inter_session"}),
        said("user", "hidden", display=False),
        said("user", "[Telegram Ann id:1 2026-01-05 10:00 UTC] me", provenance={"kind": "external_user"}),
        said("assistant", "internal_system", provenance={"kind": "internal_system"}),
    ]

    assert flatten_transcript("\n".join(lines)) == ("User: me\nAssistant: internal_system", [6, 7])


def test_a_record_is_one_line_or_none() -> None:
    assert read_record(said("user", "a\n\nb")).line == "User: a b"
    assert read_record(said("tool", "a")).line is None
    assert read_record("").line is None


@pytest.mark.parametrize(
    ("key", "kind"),
    [
        ("agent:main:main", None),
        ("agent:main:telegram:group:-100", None),
        ("agent:main:direct:cron", None),
        ("agent:cron:main", None),
        ("main", None),
        ("", None),
        ("agent", None),
        ("agent:main", None),
        ("agent:main:cron:job", "cron"),
        ("agent:main:cron:job:run:1", "cron"),
        ("cron:job", "cron"),
        ("Agent:Main:Cron:Job", "cron"),
        ("agent:main:subagent:1", "subagent"),
        ("subagent:1", "subagent"),
        ("agent:main:subagent:1:subagent:2", "subagent"),
        ("agent:main:main:heartbeat", "heartbeat"),
        ("agent:main:main:heartbeat:heartbeat", "heartbeat"),
        ("agent:main:heartbeat:x", "heartbeat"),
        ("agent:main:dreaming-narrative-light-1", "dreaming"),
        ("dreaming-narrative-1", "dreaming"),
        ("agent:main:internal:x", "internal"),
        ("agent:main:telegram:direct:7:active-memory:0123456789ab", "internal"),
        ("agent:main:active-memory", None),
    ],
)
def test_kind_of_session_by_key(key: str, kind: str | None) -> None:
    assert kind_of_key(key) == kind


@pytest.mark.parametrize(
    ("records", "told"),
    [
        ([], (None, False)),
        ([said("assistant", "hi")], (None, False)),
        ([said("user", "hi")], (None, True)),
        ([said("user", ""), said("user", "[cron:1 x] go")], ("cron", True)),
        ([said("user", "[Subagent Task]: go")], ("subagent", True)),
        ([said("user", HEARTBEAT)], ("heartbeat", False)),
        ([said("user", HEARTBEAT), said("user", "hi"), said("user", "[cron:1 x] go")], (None, True)),
        ([said("user", "A new session was started via /new or /reset.")], (None, False)),
        (['{"sessionKey": "agent:main:cron:j:run:1"}', said("user", "hi")], ("cron", True)),
        (['{"data": {"runId": "dreaming-narrative-1"}}'], ("dreaming", True)),
        (['{"data": {"runId": "cron:1", "sessionKey": "agent:main:subagent:1"}}'], (None, False)),
        (["{", "7", '{"sessionKey": 7, "data": []}'], (None, False)),
    ],
)
def test_kind_of_session_by_first_records(records: list[str], told: tuple[str | None, bool]) -> None:
    assert kind_of_opening(records) == told


@given(st.lists(st.one_of(st.text(), st.builds(said, st.sampled_from(["user", "assistant"]), st.text()))))
def test_every_line_has_a_record_number(lines: list[str]) -> None:
    text, sources = flatten_transcript("\n".join(lines))

    assert len(sources) == (len(text.split("\n")) if text else 0)
    assert sources == sorted(set(sources))
