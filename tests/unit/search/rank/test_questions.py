"""A question is not an answer: whoever only asks what the query asks is not the best hit."""

from __future__ import annotations

import pytest

from memd.search.rank.fusion import Ranked
from memd.search.rank.stages import MAX_ASKING, put_statement_first
from tests.support.indexes import new_index, publish_note, search, search_spec

QUERY = "which payment provider does the shop use"
NOTE = "# Payments\n\nThe shop uses Mollie for payments since the contract with the bank ended.\n"
QUEUES = "User: move the queue of orders to nats\nAssistant: Done, nats is the provider of the queue.\n"


def first_snippet(*chats: str) -> str:
    """Return the best hit of the query among a note and chats."""
    db = new_index(extension=False)
    publish_note(db, "memory/payments.md", NOTE)
    for number, text in enumerate((*chats, QUEUES)):
        publish_note(db, f"sources/claude-code/{number}.jsonl", text, source="claude-code")
    return search(db, search_spec(QUERY, min_score=0.0)).hits[0].snippet


@pytest.mark.parametrize(
    "asked",
    [
        "which payment provider does the shop use?",
        "**User**: which payment provider does the shop use for the queue?",
        "User: Which payment provider does the shop use",
        "User: which payment provider does the shop use?\nUser: which provider does the shop use?",
    ],
)
def test_a_question_or_a_repeated_prompt_without_an_answer_comes_after_a_statement(asked: str) -> None:
    assert "Mollie" in first_snippet(asked)


def test_a_question_with_its_answer_may_come_first() -> None:
    assert "Adyen" in first_snippet(
        "User: which payment provider does the shop use?\nAssistant: The shop uses Adyen."
    )


def test_a_long_message_with_a_question_states_something() -> None:
    message = (
        "User: all cards are charged through Adyen in euros, so which payment provider does the shop use?"
    )

    assert "Adyen" in first_snippet(message)


def test_a_question_stays_first_if_nothing_states_anything() -> None:
    db = new_index(extension=False)
    publish_note(db, "sources/claude-code/a.jsonl", f"User: {QUERY}?", source="claude-code")

    assert len(search(db, search_spec(QUERY, min_score=0.0)).hits) == 1


def test_only_the_best_statement_moves_and_only_past_a_few_questions() -> None:
    items = [Ranked(key, f"{key}.md", 1, 1, "", None, None, 1 - key / 100) for key in range(20)]

    moved = put_statement_first(items, lambda item: int(item.id) < 3)
    assert [item.id for item in moved] == [3, 0, 1, 2, *range(4, 20)]
    assert moved[0].score == items[0].score
    assert put_statement_first(items, lambda item: int(item.id) < MAX_ASKING) == items
    assert put_statement_first(items, lambda item: int(item.id) > 0) == items
