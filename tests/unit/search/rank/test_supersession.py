"""What is still true: current statements come first, outdated ones stay and are marked."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.index.database import transaction
from memd.index.transcripts import StoredTranscript, store_transcript
from memd.search.rank.fusion import Ranked
from memd.search.rank.supersession import DatedLine, Superseded, day_of_line, put_current_first
from memd.system.sqlite import Database
from memd_client.messages import Hit
from tests.support.indexes import TODAY_MS, new_index, publish_note, search, search_spec

DAY = datetime.date(2026, 3, 2)


def line_of(chunk_id: int, day: datetime.date) -> DatedLine:
    """Return the first line of a chunk."""
    return DatedLine(day, f"{chunk_id}.md", 1, chunk_id, None, "")


OLD, NEW = "memory/2026-01-10.md", "memory/2026-03-02.md"
OLDER = "# Notes\n\nThe staging database runs on port 5433.\n"
NEWER = "# Notes\n\nThe staging database now runs on port 5544.\n"


def find(notes: dict[str, str], query: str) -> list[Hit]:
    """Return the hits of a keyword search in some notes."""
    db = new_index(extension=False)
    for path, text in notes.items():
        publish_note(db, path, text)
    return search(db, search_spec(query, max_results=20, min_score=0.0)).hits


def marks(hits: list[Hit]) -> dict[str, str | None]:
    """Return what supersedes each hit, in order."""
    return {hit.path: hit.superseded_by.citation if hit.superseded_by else None for hit in hits}


def test_the_current_statement_comes_first_and_the_outdated_one_is_marked() -> None:
    hits = find({OLD: OLDER, NEW: NEWER}, "staging database port")

    assert list(marks(hits).items()) == [(NEW, None), (OLD, f"{NEW}#L3")]
    mark = hits[1].superseded_by
    assert mark is not None
    assert (mark.date, mark.outdated_date, mark.start_line) == ("2026-03-02", "2026-01-10", 3)


def test_queries_about_the_past_keep_the_order_and_the_mark() -> None:
    past = marks(find({OLD: OLDER, NEW: NEWER}, "which port did the staging database run on before"))

    assert past == {OLD: f"{NEW}#L3", NEW: None}


def test_undated_notes_change_nothing() -> None:
    hits = find({"MEMORY.md": OLDER, "memory/ports.md": NEWER}, "staging database port")

    assert set(marks(hits).values()) == {None}
    assert set(marks(find({"MEMORY.md": OLDER, NEW: NEWER}, "staging database port")).values()) == {None}


def test_different_subjects_are_not_linked() -> None:
    notes = {
        OLD: "The staging database runs on port 5433.\n",
        NEW: "The production database runs on port 5432.\n",
    }

    assert set(marks(find(notes, "database port")).values()) == {None}


def test_a_series_of_measurements_is_not_linked() -> None:
    notes = {f"memory/2026-03-0{day}.md": f"Open tickets in the queue: {day * 7}\n" for day in (1, 2, 3, 4)}

    assert set(marks(find(notes, "open tickets queue")).values()) == {None}


def test_dates_in_headings_and_lines_count() -> None:
    filler = "".join(f"- word{number} about gardens, walks and the harbour lights\n" for number in range(40))
    heading = f"## 2026-01-10\n\nDeploys happen on Fridays.\n\n{filler}\n## 2026-03-02\n\nDeploys happen on Tuesdays.\n"
    lines = f"- 2026-01-10: Deploys happen on Fridays.\n{filler}- (2026-03-02) Deploys happen on Tuesdays.\n"

    for text in (heading, lines):
        hits = find({"MEMORY.md": text}, "deploys happen")
        assert [bool(hit.superseded_by) for hit in hits[:2]] == [False, True]
        assert "Tuesdays" in hits[0].snippet


def test_in_one_dated_file_the_later_line_is_the_later_statement() -> None:
    said = "".join(
        f"**User**: Tell me something about gardens and walks {number}.\n\n" for number in range(60)
    )
    text = f"**User**: I own 3 bikes, help me.\n\n{said}**User**: I now own 4 bikes, help me.\n"

    hits = find({OLD: text}, "how many bikes do I own")

    assert "4 bikes" in hits[0].snippet
    outdated = next(hit for hit in hits if "3 bikes" in hit.snippet)
    assert outdated.superseded_by is not None
    assert outdated.superseded_by.path == OLD


def test_different_speakers_are_not_linked() -> None:
    lines = [
        f"Anna: The bus to work takes {number} turns.\nBert: Mine goes past the mill.\n"
        for number in range(4)
    ]
    notes = {
        OLD: f"Anna: My desk is on floor 3.\n{''.join(lines)}",
        NEW: f"Bert: My desk is on floor 5.\n{''.join(lines)}",
    }

    assert set(marks(find(notes, "desk floor")).values()) == {None}


def publish_chat(db: Database, name: str, start_ms: int, *said: str) -> str:
    """Publish a session in which the user says some lines; return its path."""
    path = f"sources/claude-code/{name}.jsonl"
    lines = [f"User: {text}" for text in said]
    publish_note(db, path, "\n".join(lines), source="claude-code")
    with transaction(db):
        numbers = [10 * number for number in range(1, len(lines) + 1)]
        store_transcript(db, path, StoredTranscript(numbers, [start_ms + number for number in numbers]))
    return path


@pytest.mark.parametrize("hours", [1, 24 * 30])
def test_times_of_messages_count_on_the_same_day_and_across_days(hours: int) -> None:
    db = new_index(extension=False)
    first, last = "we use mollie for payments", "we use adyen for payments now"
    older = publish_chat(db, "z", TODAY_MS, first)
    newer = publish_chat(db, "a", TODAY_MS + hours * 3_600_000, "thanks for the summary", last)

    hits = search(db, search_spec("what do we use for payments", min_score=0.0)).hits

    assert [hit.path for hit in hits] == [newer, older]
    assert hits[1].superseded_by is not None
    assert hits[1].superseded_by.citation == f"{newer}#L20"


def test_a_message_supersedes_a_note_of_an_earlier_day_but_not_of_the_same_day() -> None:
    for day, is_marked in (("2026-11-01", True), ("2026-11-20", False)):
        db = new_index(extension=False)
        publish_note(db, f"memory/{day}.md", "# Payments\n\nWe use mollie for payments.\n")
        publish_chat(db, "a", TODAY_MS, "we use adyen for payments now")

        hits = search(db, search_spec("what do we use for payments", min_score=0.0)).hits

        assert any(hit.superseded_by for hit in hits) is is_marked


def test_days_of_lines_are_read_at_their_start_or_in_brackets() -> None:
    assert str(day_of_line("- 2026-03-04: port 5433")) == "2026-03-04"
    assert str(day_of_line("- port 5433 (2026-03-04)")) == "2026-03-04"
    assert day_of_line("the deadline is 2026-03-04 at noon") is None
    assert day_of_line("- 2026-02-31: no such day") is None


@given(
    st.lists(st.integers(0, 30), unique=True, max_size=20),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=8),
)
def test_no_candidate_is_lost_and_the_others_keep_their_order(
    ids: list[int], pairs: list[tuple[int, int]]
) -> None:
    items = [Ranked(key, f"{key}.md", 1, 1, "", None, None, 1 - place / 100) for place, key in enumerate(ids)]
    links = [Superseded(line_of(one, DAY), line_of(other, DAY)) for one, other in pairs]
    current = {other for _, other in pairs}

    ranked = put_current_first(items, links)

    assert sorted(int(item.id) for item in ranked) == sorted(ids)
    others = [int(item.id) for item in ranked if item.id not in current]
    assert others == [key for key in ids if key not in current]
    assert [item.score for item in ranked] == sorted((item.score for item in ranked), reverse=True)


def test_the_current_statement_moves_no_further_than_the_outdated_one() -> None:
    items = [Ranked(key, f"{key}.md", 1, 1, "", None, None, 1 - key / 10) for key in range(5)]
    lines: list[DatedLine] = [line_of(key, DAY) for key in range(5)]

    ranked = put_current_first(items, [Superseded(lines[1], lines[4])])

    assert [item.id for item in ranked] == [0, 4, 1, 2, 3]
