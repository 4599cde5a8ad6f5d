"""Questions whose answer is in a line that the question shares no word with."""

from __future__ import annotations

import random

import pytest

from memd.system.sqlite import Database
from tests.support.indexes import new_index, publish_note, search, search_spec

CHAIN = ("Ann's sister is Clara.", "Clara started at Nordwind in March.", "Nordwind has its office in Kiel.")


@pytest.fixture
def db() -> Database:
    """An index of many facts; those of the chain are far apart."""
    db, pick = new_index(), random.Random(1)
    names = [
        f"{one}{other}" for one in ("Ba", "Do", "Fi", "Lu", "Mo") for other in ("ran", "sel", "tim", "vok")
    ]
    facts = [f"{name}'s sister is {pick.choice(names)}x." for name in names]
    facts += [f"{name} plays tennis in a city." for name in names]
    for number in range(0, len(facts), 8):
        note = "\n".join(f"- {fact}" for fact in facts[number : number + 8])
        publish_note(db, f"memory/facts-{number}.md", note)
    for number, fact in enumerate(CHAIN):
        publish_note(db, f"memory/chain-{number}.md", f"- weather was good\n- {fact}\n- nothing else")
    return db


def shown(db: Database, query: str) -> list[str]:
    return [hit.snippet for hit in search(db, search_spec(query, max_chars=4_200)).hits]


def test_names_of_the_best_line_lead_to_the_answer(db: Database) -> None:
    snippets = shown(db, "Which city is the employer of Ann's sister based in?")

    assert CHAIN[0] in snippets[0]
    assert snippets[1:3] == [f"- {CHAIN[1]}", f"- {CHAIN[2]}"]


def test_a_plain_question_is_not_followed(db: Database) -> None:
    assert not any(CHAIN[1] in snippet for snippet in shown(db, "Who is Ann's sister?"))


def test_a_frequent_name_is_not_followed(db: Database) -> None:
    for number in range(20):
        publish_note(db, f"memory/clara-{number}.md", f"- Clara likes the number {number}.")

    assert not any(CHAIN[1] in snippet for snippet in shown(db, "Where does Ann's sister work?"))


def test_a_capital_that_only_begins_a_sentence_is_no_name(db: Database) -> None:
    publish_note(db, "memory/zed.md", "Congrats to the sister of Zed.")
    publish_note(db, "memory/congrats.md", "We sent congrats.")
    publish_note(db, "memory/more.md", "Congrats again.")

    assert not any("again" in snippet for snippet in shown(db, "Where does the sister of Zed work?"))


def test_questions_and_headings_are_no_statements_about_a_name(db: Database) -> None:
    publish_note(db, "memory/asked.md", "Does Clara work?")
    publish_note(db, "memory/clara.md", "# Clara\n\nnothing here")

    assert not any(
        "Does Clara" in snippet or "# Clara" in snippet
        for snippet in shown(db, "Where does Ann's sister live?")[:3]
    )
