"""A passage beside one that was found moves up; one that stands alone doesn't."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.index.chunk_locations import ChunkLocations, FileNumbers, pack_facts
from memd.search.rank.fusion import NEIGHBOUR_WEIGHT, Ranked, best_first, lifted_scores, with_score

Span = tuple[str, int, int]
"""File, start and end."""

PATHS = ("memory/a.md", "memory/b.md")


def ranked(at: int, score: float) -> Ranked:
    """Return a candidate with that id and score."""
    return Ranked(at, "memory/a.md", at, at + 1, "", None, None, score)


def lift_by_neighbours(
    items: Sequence[Ranked], spans: Mapping[int, Span], share: float | None = None
) -> list[Ranked]:
    """Return candidates with their new scores, best first."""
    by_id = sorted(items, key=lambda item: int(item.id))
    numbers = FileNumbers()
    facts = [
        (int(item.id), numbers.give(path), 1, 1, start, end, 0, 0)
        for item in by_id
        for path, start, end in [spans[int(item.id)]]
    ]
    locations = ChunkLocations(pack_facts(facts, len(facts)), numbers)
    lifted = lifted_scores(np.array([item.score for item in by_id], dtype=np.float64), locations, share)
    return best_first(with_score(item, score) for item, score in zip(by_id, lifted.tolist(), strict=True))


def scores_of(scores: list[float], spans: list[Span], share: float | None = None) -> list[float]:
    """Return the lifted scores of candidates at some locations, in the order given."""
    items = [ranked(at, score) for at, score in enumerate(scores)]
    lifted = {item.id: item.score for item in lift_by_neighbours(items, dict(enumerate(spans)), share)}
    return [lifted[at] for at in range(len(scores))]


@st.composite
def placed(draw: st.DrawFn) -> tuple[list[Ranked], dict[int, Span]]:
    """Return candidates and their locations: in each file one after the other, some overlapping, some with gaps."""
    items: list[Ranked] = []
    spans: dict[int, Span] = {}
    for path in PATHS:
        end = 0
        for score, step, size in draw(
            st.lists(st.tuples(st.floats(0, 1), st.integers(-20, 20), st.integers(0, 60)), max_size=6)
        ):
            start = max(0, end + step)
            key = len(items)
            items.append(ranked(key, score))
            spans[key] = (path, start, start + size)
            end = start + size
    return items, spans


@given(placed(), st.none() | st.floats(0, 2))
def test_scores_stay_between_0_and_1_best_first(
    given_items: tuple[list[Ranked], dict[int, Span]], share: float | None
) -> None:
    items, spans = given_items

    lifted = lift_by_neighbours(items, spans, share)

    assert all(0 <= item.score <= 1 for item in lifted)
    assert lifted == best_first(lifted)
    assert sorted(int(item.id) for item in lifted) == list(range(len(items)))


@given(placed(), st.integers(0, 1000))
def test_the_order_given_does_not_matter(
    given_items: tuple[list[Ranked], dict[int, Span]], seed: int
) -> None:
    items, spans = given_items
    shuffled = random.Random(seed).sample(items, len(items))

    assert lift_by_neighbours(shuffled, spans) == lift_by_neighbours(items, spans)


@given(placed())
def test_no_share_changes_nothing(given_items: tuple[list[Ranked], dict[int, Span]]) -> None:
    items, spans = given_items

    assert lift_by_neighbours(items, spans, 0.0) == best_first(items)


@given(placed(), st.none() | st.floats(0, 2))
def test_the_best_score_stays_what_it_was(
    given_items: tuple[list[Ranked], dict[int, Span]], share: float | None
) -> None:
    items, spans = given_items

    lifted = lift_by_neighbours(items, spans, share)

    assert max((item.score for item in lifted), default=0.0) == pytest.approx(
        max((item.score for item in items), default=0.0)
    )


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0, 2))
def test_where_nothing_has_neighbours_nothing_changes(given_scores: list[float], share: float) -> None:
    spans = [("a.md", 100 * at, 100 * at + 10) for at in range(len(given_scores))]

    assert scores_of(given_scores, spans, share) == pytest.approx(given_scores)


@given(placed())
def test_a_neighbour_only_ever_helps(given_items: tuple[list[Ranked], dict[int, Span]]) -> None:
    items, spans = given_items
    alone = {item.id: item.score / (1 + NEIGHBOUR_WEIGHT) for item in items}

    for item in lift_by_neighbours(items, spans):
        assert item.score >= alone[item.id] - 1e-12


@pytest.mark.parametrize(
    ("one", "other", "are_neighbours"),
    [
        (("a.md", 0, 100), ("a.md", 100, 200), True),
        (("a.md", 0, 100), ("a.md", 101, 200), True),
        (("a.md", 0, 100), ("a.md", 60, 200), True),
        (("a.md", 101, 200), ("a.md", 0, 100), True),
        (("a.md", 0, 100), ("a.md", 102, 200), False),
        (("a.md", 0, 100), ("b.md", 100, 200), False),
        (("a.md", 0, 0), ("a.md", 0, 100), False),
        (("a.md", 0, 0), ("a.md", 0, 0), False),
    ],
)
def test_who_is_a_neighbour(one: Span, other: Span, are_neighbours: bool) -> None:
    scores = scores_of([0.25, 0.5], [one, other], 0.5)

    # A neighbour half as good: (0.25 + 0.25) against (0.5 + 0.125), the better keeping its score.
    assert scores == pytest.approx([0.4, 0.5] if are_neighbours else [0.25, 0.5])


@pytest.mark.parametrize(("above", "below"), [(0.4, 0.8), (0.8, 0.4)])
def test_the_better_of_two_neighbours_counts(above: float, below: float) -> None:
    spans = [("a.md", 0, 10), ("a.md", 11, 20), ("a.md", 21, 30)]

    scores = scores_of([above, 0.2, below], spans, 0.5)

    # The best comes to 0.9 and keeps its 0.8; the one between has half of that 0.8, whichever side it is on.
    expected = [(above + 0.1) * 0.8 / 0.9, (0.2 + 0.4) * 0.8 / 0.9, (below + 0.1) * 0.8 / 0.9]
    assert scores == pytest.approx(expected)


def test_a_passage_between_two_good_ones_passes_one_that_stands_alone() -> None:
    items = [ranked(1, 0.7), ranked(2, 0.55), ranked(3, 0.7), ranked(4, 0.6)]
    spans = {1: ("a.md", 0, 10), 2: ("a.md", 10, 20), 3: ("a.md", 20, 30), 4: ("b.md", 0, 10)}

    assert [item.id for item in lift_by_neighbours(items, spans)] == [1, 3, 2, 4]


def test_a_neighbour_counts_with_the_score_it_came_with() -> None:
    spans = [("a.md", 0, 10), ("a.md", 10, 20), ("a.md", 20, 30)]

    # What the first gives to the second doesn't go on to the third.
    assert scores_of([1.0, 0.0, 0.0], spans, 0.5)[2] == 0.0


def test_nothing_found_is_nothing_lifted() -> None:
    assert lift_by_neighbours([], {}) == []
