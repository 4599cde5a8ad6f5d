"""Messages and questions about the user: which place the user's own lines get."""

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
