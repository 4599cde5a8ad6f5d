"""Conversations of one session, parted by resets: each leaves a note of its own, also if its end is reported late."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.transcripts import header, message, reset
from tests.unit.lifecycle.session_home import NOW, Home


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with Home(tmp_path) as home:
        yield home


DAY_MS = 86_400_000
TALKS = [["about the heron", "it nests"], ["about the stork", "it left"], ["about the crane", "it dances"]]


def _turns(said: Sequence[str]) -> list[str]:
    return [message("assistant" if at % 2 else "user", text) for at, text in enumerate(said)]


def _begin(home: Home, era: str) -> Callable[[Sequence[str]], None]:
    """Return what appends records to a session `abc` of an era."""
    home.transcripts.write_file("abc", [header("abc")])
    if era == "jsonl":
        return lambda records: home.transcripts.append_file("abc", records)
    (home.transcripts.sessions / "abc.jsonl").unlink()
    with home.transcripts.open_database() as database:
        database.add_session("abc", [header("abc")], key="agent:main:main")

    def append(records: Sequence[str]) -> None:
        with home.transcripts.open_database() as database:
            database.append("abc", records)

    return append


@pytest.mark.parametrize("era", ["jsonl", "sqlite"])
def test_three_conversations_of_one_session_leave_three_notes_each_its_own(home: Home, era: str) -> None:
    append = _begin(home, era)
    notes = []
    for said in TALKS:
        append([*_turns(said), reset()])
        notes.append(home.text(home.end(session_id="abc", next_session_id="abc")))

    assert len(home.written()) == 3
    for note, said in zip(notes, TALKS, strict=True):
        assert note.endswith(f"## Conversation Summary\n\nuser: {said[0]}\nassistant: {said[1]}\n")


@pytest.mark.parametrize("era", ["jsonl", "sqlite"])
def test_what_is_said_after_the_reset_is_in_no_note_of_the_conversation_before(home: Home, era: str) -> None:
    append = _begin(home, era)
    append([*_turns(TALKS[0]), reset(), *_turns(TALKS[1]), reset(), *_turns(TALKS[2])])

    ended = home.text(home.end(session_id="abc", next_session_id="abc"))
    last = home.text(home.end(session_id="abc", next_session_id="def"))

    assert ended.endswith("\n\nuser: about the stork\nassistant: it left\n")
    assert last.endswith("\n\nuser: about the crane\nassistant: it dances\n")


@pytest.mark.parametrize("era", ["jsonl", "sqlite"])
@pytest.mark.parametrize("padding", [0, 300_000], ids=["short", "long"])
def test_ends_reported_late_leave_a_note_each_of_their_own_conversation_and_day(
    home: Home, era: str, padding: int
) -> None:
    append = _begin(home, era)
    printed = message("toolResult", "x" * padding)
    ends = [NOW - day * DAY_MS for day in (2, 1, 0)]
    for said, ended in zip(TALKS, ends, strict=True):
        append([*_turns(said), printed, reset(at_ms=ended)])
    home.now_ms = NOW + DAY_MS

    replies = [home.end(session_id="abc", next_session_id="abc", ended_ms=ended + 40) for ended in ends]
    again = home.end(session_id="abc", next_session_id="abc", ended_ms=ends[0] + 40)

    assert [reply.path[:17] for reply in replies] == [f"memory/2026-01-{day}" for day in (14, 15, 16)]
    for reply, said in zip(replies, TALKS, strict=True):
        assert home.text(reply).endswith(f"\n\nuser: {said[0]}\nassistant: {said[1]}\n")
    assert (again.path, again.reason) == (replies[0].path, "known")


def test_resets_without_a_time_end_the_last_conversation(home: Home) -> None:
    append = _begin(home, "jsonl")
    undated = json.dumps({"type": "reset", "id": "r", "timestamp": "yesterday"})
    append([*_turns(TALKS[0]), reset(at_ms=NOW), *_turns(TALKS[1]), undated])

    note = home.text(home.end(session_id="abc", next_session_id="abc", ended_ms=NOW))

    assert note.endswith("\n\nuser: about the stork\nassistant: it left\n")


def test_a_reset_that_follows_a_reset_leaves_no_note(home: Home) -> None:
    append = _begin(home, "jsonl")
    append([*_turns(TALKS[0]), reset(), reset()])

    assert home.end(session_id="abc", next_session_id="abc").reason == "nothing_said"


def test_a_long_conversation_before_a_reset_is_found_behind_what_tools_printed(home: Home) -> None:
    append = _begin(home, "jsonl")
    printed = message("toolResult", "x" * 300_000)
    append([*_turns(TALKS[0]), reset(), *_turns(TALKS[1]), printed, reset(), printed, *_turns(TALKS[2])])

    note = home.text(home.end(session_id="abc", next_session_id="abc"))

    assert note.endswith("\n\nuser: about the stork\nassistant: it left\n")
