"""Hits within a budget of characters."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.search.query import MAX_ROOMY_RESULTS
from memd.system.sqlite import Database
from memd_client.hit_text import size_of_hit
from memd_client.messages import Hit
from tests.support.indexes import is_exact, new_index, publish_note, search, search_spec

DAYS = 14
TEXTS = {
    f"memory/2026-03-{day:02}.md": "\n".join(
        [
            f"# Day {day}",
            *(f"- filler line {line} of day {day} about the weather at the coast" for line in range(day)),
            f"- the ferry to the island left at {day} o'clock",
            "- nothing else was said about the day, the sea or the people on the pier",
            *(f"- more filler {line} after the crossing on day {day}" for line in range(6)),
        ]
    )
    for day in range(1, DAYS + 1)
}


@pytest.fixture(scope="module")
def db() -> Database:
    """An index of some dated notes with one line each about the ferry."""
    index = new_index(extension=False)
    for path, text in TEXTS.items():
        publish_note(index, path, text)
    return index


def ask(
    db: Database, query: str = "ferry island", *, max_results: int = 60, max_chars: int | None = None
) -> list[Hit]:
    return search(db, search_spec(query, max_results=max_results, max_chars=max_chars)).hits


def size(hits: list[Hit]) -> int:
    """Return the characters of all hits as they are shown."""
    return sum(map(size_of_hit, hits))


@settings(max_examples=40, deadline=None)
@given(
    budget=st.integers(160, 6_000),
    more=st.integers(0, 3_000),
    query=st.sampled_from(["ferry island", "list the ferry"]),
)
def test_hits_fit_the_budget_and_a_larger_one_only_adds_hits(
    db: Database, budget: int, more: int, query: str
) -> None:
    hits = ask(db, query, max_chars=budget)

    assert 0 < size(hits) <= budget
    assert all(is_exact(hit, TEXTS) for hit in hits)
    if budget >= 900:  # less than one hit cuts the first one
        assert ask(db, query, max_chars=budget + more)[: len(hits)] == hits


def test_a_budget_shows_more_places_than_a_few_roomy_hits_of_the_same_size(db: Database) -> None:
    roomy = ask(db, max_results=6)

    fitted = ask(db, max_chars=size(roomy))

    assert len(fitted) > len(roomy)
    assert {hit.path for hit in fitted} > {hit.path for hit in roomy}


def test_hits_of_a_query_for_several_things_are_shorter(db: Database) -> None:
    one, many = (
        ask(db, "ferry island", max_chars=3_000),
        ask(db, "list all the times of the ferry island", max_chars=3_000),
    )

    assert len(many) > len(one)
    assert all("ferry" in hit.snippet for hit in many)


def test_many_results_are_as_short_as_those_of_a_budget(db: Database) -> None:
    many = ask(db, max_results=MAX_ROOMY_RESULTS + 1)

    assert many == ask(db, max_results=MAX_ROOMY_RESULTS + 1, max_chars=100_000)


def test_a_number_of_results_limits_a_budget_too(db: Database) -> None:
    assert ask(db, max_results=2, max_chars=4_200) == ask(db, max_chars=4_200)[:2]
