"""Dated notes found by the dates in their names."""

from __future__ import annotations

import datetime

import pytest

from memd.index.days import find_dated, find_newest, load_days_of
from memd.index.keyword import Scope
from memd.index.transcripts import SessionFacts, StoredTranscript, store_transcript
from memd.system.sqlite import Database
from tests.support.indexes import chunk_ids, new_index, publish, publish_note

NOTES = {
    "memory/2026-05-07.md": "the day before",
    "memory/2026-05-08.md": "the day",
    "memory/2026-05-08-standup.md": "the day's standup",
    "memory/projects/2026-05-08.md": "the day's project",
    "memory/2026-05-09.md": "the day after",
    "memory/2026-05-32.md": "no day at all",
    "memory/2026-05-081.md": "a number",
    "memory/plan-2026-05-08.md": "a plan for the day",
    "memory/2026-05-08/list.md": "in a folder of the day",
    "MEMORY.md": "of every day",
}


@pytest.fixture
def db() -> Database:
    """An index of notes of some days."""
    db = new_index(extension=False)
    for path, text in NOTES.items():
        publish(db, path, [text])
    return db


def find(db: Database, first: str, last: str, limit: int = 100, scope: Scope | None = None) -> list[str]:
    """Return the texts of the found chunks, in order."""
    by_id = {key: text for text, key in chunk_ids(db).items()}
    days = (datetime.date.fromisoformat(first), datetime.date.fromisoformat(last))
    return [by_id[key] for key in find_dated(db, *days, limit, scope)]


def test_note_is_dated_by_the_beginning_of_its_name(db: Database) -> None:
    assert set(find(db, "2026-05-08", "2026-05-08")) == {"the day", "the day's standup", "the day's project"}


def test_date_range_includes_both_ends_newest_first(db: Database) -> None:
    found = find(db, "2026-05-07", "2026-05-09")
    assert (found[0], found[-1], len(found)) == ("the day after", "the day before", 5)


def test_dates_without_notes_find_nothing(db: Database) -> None:
    assert find(db, "2026-05-10", "2026-12-31") == []
    assert find(db, "2026-05-09", "2026-05-08") == []


def test_chunks_of_each_note_are_in_order(db: Database) -> None:
    text = "\n".join(f"# Part {number}\n" + f"entry {number} of the day " * 15 for number in range(6))
    chunks = publish_note(db, "memory/2026-06-01.md", text)
    assert len(chunks) > 3
    assert find(db, "2026-06-01", "2026-06-01") == [chunk.text for chunk in chunks]


def test_limit_keeps_the_newest_notes(db: Database) -> None:
    assert find(db, "2026-05-07", "2026-05-09", 1) == ["the day after"]
    assert len(find(db, "2026-05-07", "2026-05-09", 4)) == 4
    assert "the day before" not in find(db, "2026-05-07", "2026-05-09", 4)


def test_dated_notes_are_limited_to_the_scope(db: Database) -> None:
    publish(db, "sessions/2026-05-08.md", ["the day's talk"], source="sessions")
    days = ("2026-05-08", "2026-05-08")
    assert find(db, *days, scope=Scope(("sessions",))) == ["the day's talk"]
    assert find(db, *days, scope=Scope(path_prefix="memory/projects/")) == ["the day's project"]
    # A scope applies before the limit.
    assert find(db, "2026-05-07", "2026-05-09", 1, Scope(path_prefix="memory/projects/")) == [
        "the day's project"
    ]


def test_names_with_invalid_dates_are_ignored(db: Database) -> None:
    publish(db, "memory/0000-00-00.md", ["year zero"])
    publish(db, "memory/9999-12-31.md", ["the last day"])
    assert find(db, "0001-01-01", "9999-12-31")[0] == "the last day"
    assert "year zero" not in find(db, "0001-01-01", "9999-12-31")


def test_the_newest_conversation_comes_before_notes_and_its_last_chunk_first(db: Database) -> None:
    for path, day in (("sessions/new.jsonl", 2), ("sessions/old.jsonl", 1)):
        publish(db, path, [f"{path} begins", f"{path} ends"], source="sessions")
        facts = SessionFacts(updated_ms=day * 86_400_000)
        store_transcript(db, path, StoredTranscript([1, 2], times=[0, facts.updated_ms], facts=facts))
    texts = {key: text for text, key in chunk_ids(db).items()}

    newest = find_newest(db, 5)

    assert [texts[key] for key in newest] == ["sessions/new.jsonl ends", "sessions/new.jsonl begins"]
    assert load_days_of(db, newest) == {newest[0]: datetime.date(1970, 1, 3).toordinal()}
    assert [texts[key] for key in find_newest(db, 5, Scope(("memory",)))] == ["the day after"]
    assert find_newest(db, 5, Scope(("nowhere",))) == []


def test_notes_have_the_day_in_their_name_and_others_none(db: Database) -> None:
    keys = chunk_ids(db)
    days = load_days_of(db, list(keys.values()))
    assert days[keys["the day's standup"]] == datetime.date(2026, 5, 8).toordinal()
    assert keys["of every day"] not in days
