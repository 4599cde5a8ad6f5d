"""Messages of a user: the place of the user's own lines, and of the newest conversation."""

from __future__ import annotations

import pytest

from tests.support.indexes import new_index, publish_note, search, search_spec

PLAN = "Assistant: the fitness plan has squats on Monday\nAssistant: and rows on Friday of the plan"
SAID = "User: squats of the fitness plan hurt\nUser: no luck"


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("what is in my fitness plan with squats on Monday", "memory/said.md"),
        ("I am done. What is in my fitness plan with squats on Monday?", "memory/plan.md"),
    ],
)
def test_user_lines_decide_the_first_hit_of_a_question_but_not_of_a_message(query: str, first: str) -> None:
    db = new_index()
    publish_note(db, "memory/plan.md", PLAN)
    publish_note(db, "memory/said.md", SAID)
    for number in range(4):
        publish_note(db, f"memory/{number}.md", f"the ferry leaves at {number}")

    hits = search(db, search_spec(query)).hits

    assert hits[0].path == first
    assert {hit.path for hit in hits[:2]} == {"memory/plan.md", "memory/said.md"}


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("I am back. Where did we stop with the fitness plan for squats and rows?", "memory/2026-05-03.md"),
        ("what is in the fitness plan for squats and rows", "memory/2026-05-01.md"),
    ],
)
def test_a_message_has_the_newest_of_similar_hits_first(query: str, first: str) -> None:
    db = new_index()
    publish_note(db, "memory/2026-05-01.md", "the fitness plan for squats and rows begins")
    publish_note(db, "memory/2026-05-02.md", "the weather was fine")
    publish_note(db, "memory/2026-05-03.md", "the fitness plan for squats, presses and rows goes on")

    assert search(db, search_spec(query)).hits[0].path == first


def test_a_note_without_a_date_counts_as_new() -> None:
    db = new_index()
    publish_note(db, "MEMORY.md", "the fitness plan for squats and rows")
    publish_note(db, "memory/2026-05-03.md", "the fitness plan for squats, presses and rows goes on")

    hits = search(db, search_spec("I am back. Where is the fitness plan for squats and rows?")).hits

    assert hits[0].path == "MEMORY.md"


@pytest.mark.parametrize("query", ["where were we?", "I'm back", "wie geht es weiter"])
def test_a_query_that_only_resumes_finds_the_end_of_the_newest_note(query: str) -> None:
    db = new_index()
    publish_note(db, "memory/2026-05-01.md", "we were back at the next step")
    publish_note(db, "memory/2026-05-03.md", "begin " * 150 + "\n\n" + "the parser is left\n" * 30)

    hits = search(db, search_spec(query)).hits

    assert {hit.path for hit in hits} == {"memory/2026-05-03.md"}
    assert "the parser is left" in hits[0].snippet
    assert hits[0].relevance == "strong"


def test_a_query_that_only_resumes_finds_nothing_in_an_empty_index() -> None:
    assert not search(new_index(), search_spec("where were we?")).hits


def test_a_resuming_query_with_a_subject_finds_the_newest_note_about_it() -> None:
    db = new_index()
    publish_note(db, "memory/2026-05-01.md", "the fitness plan has squats")
    publish_note(db, "memory/2026-05-02.md", "the fitness plan has squats and rows")
    publish_note(db, "memory/2026-05-03.md", "the ferry leaves")

    hits = search(db, search_spec("let's continue with the fitness plan and squats")).hits

    assert hits[0].path == "memory/2026-05-02.md"
