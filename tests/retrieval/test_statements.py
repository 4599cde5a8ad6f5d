"""What is still true: pairs of dated statements, of which the later one supersedes the earlier one or both stay true.

A pair is a line of `statements/pairs.jsonl`: `kind` is `changed` or `kept`, `style` is where it was written (`notes`,
`chats`: two sessions, or one `session`), and `half` is `held-out` if the mechanism was not made on it.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from typing import Any

import pytest

from memd.index.database import transaction
from memd.index.transcripts import StoredTranscript, store_transcript
from memd.system.sqlite import Database
from memd_client.messages import Hit
from tests.support.indexes import new_index, publish_note, search, search_spec
from tests.support.retrieval import SETS

MIN_MARKED = 0.85
"""Share of the outdated statements that are marked."""

MAX_MARKED_WRONGLY = 0.02
"""Share of the statements that are still true and marked as outdated: a wrong mark is worse than a missing one."""

DAYS = (datetime.date(2026, 1, 10), datetime.date(2026, 3, 2))
OTHERS = (
    "The harbour lights were repaired by the port authority",
    "Learned a new way of tying sailing knots",
    "The orchard needs pruning before spring",
    "Painted the fence green and white",
)
ANSWERS = ("Understood, that stays in mind.", "Thanks, the next steps will follow from it.")


def load_pairs(kind: str, half: str) -> list[dict[str, Any]]:
    """Return the pairs of one kind and half."""
    lines = (SETS / "statements" / "pairs.jsonl").read_text(encoding="utf-8").splitlines()
    return [pair for pair in map(json.loads, lines) if (pair["kind"], pair["half"]) == (kind, half)]


def publish_session(db: Database, name: str, day: datetime.date, said: Sequence[str]) -> None:
    """Publish a session in which the user says some lines, one a minute from nine o'clock."""
    lines = [
        line for at, text in enumerate(said) for line in (f"User: {text}", f"Assistant: {ANSWERS[at % 2]}")
    ]
    path = f"sources/claude-code/{name}.jsonl"
    start = datetime.datetime.combine(day, datetime.time(9), datetime.UTC).timestamp() * 1000
    publish_note(db, path, "\n".join(lines), source="claude-code")
    with transaction(db):
        times = [int(start) + 60_000 * number for number in range(len(lines))]
        store_transcript(db, path, StoredTranscript(range(1, len(lines) + 1), times))


def find(pair: dict[str, Any]) -> list[Hit]:
    """Return the hits of a pair's query among both statements and other notes."""
    db = new_index(extension=False)
    for number in range(12):
        day = datetime.date(2025, 9, 1) + datetime.timedelta(9 * number)
        publish_note(db, f"memory/{day}.md", "".join(f"- {text} ({number})\n" for text in OTHERS))
    said = (pair["older"], pair["newer"])
    if pair["style"] == "session":
        steps = [f"go on with step {number} of the plan please" for number in range(12)]
        publish_session(db, "one", DAYS[0], [said[0], *steps, steps[0], said[1]])
    else:
        for day, text in zip(DAYS, said, strict=True):
            if pair["style"] == "chats":
                publish_session(db, str(day.month), day, [text])
            else:
                publish_note(db, f"memory/{day}.md", f"# Notes\n\n- {text}\n")
    return search(db, search_spec(pair["query"], max_results=20, min_score=0.0)).hits


def is_marked(pair: dict[str, Any]) -> bool:
    """Return whether the earlier statement is marked as outdated."""
    return any(hit.superseded_by is not None and pair["older"] in hit.snippet for hit in find(pair))


@pytest.mark.parametrize("half", ["fit", "held-out"])
def test_outdated_statements_are_marked(half: str) -> None:
    pairs = load_pairs("changed", half)
    missed = [pair["newer"] for pair in pairs if not is_marked(pair)]

    assert len(missed) <= (1 - MIN_MARKED) * len(pairs), missed


@pytest.mark.parametrize("half", ["fit", "held-out"])
def test_statements_that_are_still_true_are_not_marked(half: str) -> None:
    pairs = load_pairs("kept", half)
    wrong = [pair["newer"] for pair in pairs if is_marked(pair)]

    assert len(wrong) <= MAX_MARKED_WRONGLY * len(pairs), wrong


def test_the_current_statement_comes_first() -> None:
    pairs = [pair for pair in load_pairs("changed", "held-out") if is_marked(pair)]

    for pair in pairs:
        first = next(
            hit for hit in find(pair) if pair["older"] in hit.snippet or pair["newer"] in hit.snippet
        )
        assert pair["newer"] in first.snippet
