"""Fusion of keyword and vector scores: bounds, order, neighbours, and lazy candidates."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.index.chunk_locations import ChunkLocations, Numbers, pack_facts
from memd.search.rank.candidates import MatchScores
from memd.search.rank.fusion import (
    NEIGHBOUR_WEIGHT,
    Ranked,
    best_first,
    bm25_score,
    fuse_rrf,
    fuse_weighted,
    normalized_scores,
    scores_with_neighbours,
    with_score,
)
from memd.search.rank.stages import decay_candidates, rerank_mmr

Fuse = Callable[[list[Ranked]], list[Ranked]]

# --- fusion --------------------------------------------------------------------------------------


UNIT = st.none() | st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 1.0])
ANY = st.none() | st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.5, 3.0])


def candidate(
    at: int, vector: float | None = None, text: float | None = None, path: str = "memory/a.md"
) -> Ranked:
    """Return a candidate with that id."""
    return Ranked(at, path, at, at + 1, f"text {at % 3}", vector, text)


def pools(scores: st.SearchStrategy[float | None]) -> st.SearchStrategy[list[Ranked]]:
    """Return lists of candidates with distinct ids."""
    return st.lists(st.tuples(scores, scores), max_size=12).map(
        lambda rows: [candidate(at, vector, text) for at, (vector, text) in enumerate(rows)]
    )


def side_of(scores: list[float | None]) -> MatchScores:
    """Return the scores with the rows of their candidates."""
    found = [(at, score) for at, score in enumerate(scores) if score is not None]
    at, told = zip(*found, strict=True) if found else ((), ())
    return MatchScores(np.array(at, dtype=np.intp), np.array(told, dtype=np.float64))


def fuse_normalized(pool: list[Ranked], vector_weight: float, text_weight: float) -> list[Ranked]:
    """Return candidates with their normalized scores, best first."""
    near = side_of([each.vector_score for each in pool])
    told = side_of([each.text_score for each in pool])
    scores = normalized_scores(len(pool), near, told, vector_weight, text_weight).tolist()
    return best_first(with_score(each, score) for each, score in zip(pool, scores, strict=True))


FUSIONS: list[Fuse] = [
    lambda pool: fuse_weighted(pool, 0.7, 0.3),
    lambda pool: fuse_normalized(pool, 0.7, 0.3),
    lambda pool: fuse_normalized(pool, 0.0, 1.0),
    lambda pool: fuse_normalized(pool, 3.0, 5.0),
    fuse_rrf,
]
NAMES = ["weighted", "normalized", "words only", "ratio", "rrf"]


@pytest.mark.parametrize("fuse", FUSIONS, ids=NAMES)
@given(pool=pools(UNIT))
def test_scores_stay_between_0_and_1_best_first(fuse: Fuse, pool: list[Ranked]) -> None:
    scores = [item.score for item in fuse(pool)]

    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == len(pool)


@given(pools(ANY))
def test_normalized_scores_stay_between_0_and_1_for_any_scale(pool: list[Ranked]) -> None:
    assert all(0 <= item.score <= 1 for item in fuse_normalized(pool, 0.5, 0.5))


@pytest.mark.parametrize("fuse", FUSIONS, ids=NAMES)
@given(pool=pools(UNIT), seed=st.integers(0, 1000))
def test_fusion_is_independent_of_the_input_order(fuse: Fuse, pool: list[Ranked], seed: int) -> None:
    shuffled = random.Random(seed).sample(pool, len(pool))

    assert fuse(shuffled) == fuse(pool)
    ranked = fuse(pool)
    again = random.Random(seed).sample(ranked, len(ranked))
    assert rerank_mmr(again, 0.7) == rerank_mmr(ranked, 0.7)
    assert decay_candidates(again, 0, 30) == decay_candidates(ranked, 0, 30)


@pytest.mark.parametrize("fuse", FUSIONS, ids=NAMES)
@given(pool=pools(UNIT))
def test_fusion_returns_every_candidate_once(fuse: Fuse, pool: list[Ranked]) -> None:
    ranked = fuse(pool)

    assert sorted(str(item.id) for item in ranked) == sorted(str(each.id) for each in pool)


def test_weighted_fusion_adds_unscaled_scores() -> None:
    ranked = fuse_weighted([candidate(1, 0.5, 0.5), candidate(2, 0.9), candidate(3, None, 1.0)], 0.7, 0.3)

    assert [item.id for item in ranked] == [2, 1, 3]
    assert [item.score for item in ranked] == pytest.approx([0.63, 0.5, 0.3])


def test_normalized_fusion_scales_cosines_by_range_and_bm25_by_the_best() -> None:
    pool = [candidate(1, 0.30, 12.0), candidate(2, 0.40, None), candidate(3, 0.35, 3.0)]

    ranked = fuse_normalized(pool, 1, 1)

    assert [item.id for item in ranked] == [2, 1, 3]
    assert [item.score for item in ranked] == pytest.approx([0.5, 0.5, 0.25 + 0.125])


def test_the_lowest_bm25_keeps_a_score_and_the_lowest_cosine_becomes_0() -> None:
    pool = [candidate(1, 0.30, 12.0), candidate(2, 0.40, 11.0)]

    assert [item.score for item in fuse_normalized(pool, 0, 1)] == pytest.approx([1.0, 11 / 12])
    assert [item.score for item in fuse_normalized(pool, 1, 0)] == pytest.approx([1.0, 0.0])


def test_a_single_match_of_a_search_scores_1() -> None:
    assert fuse_normalized([candidate(1, None, 0.2)], 0, 1)[0].score == 1


def test_first_in_both_searches_scores_1_by_reciprocal_rank() -> None:
    ranked = fuse_rrf([candidate(1, 0.9, 5.0), candidate(2, 0.8, 4.0), candidate(3, 0.8, None)])

    assert ranked[0].score == 1
    assert [item.score for item in ranked[1:]] == [
        pytest.approx((2 / 62) / (2 / 61)),
        pytest.approx((1 / 62) / (2 / 61)),
    ]


def test_equal_scores_are_ordered_by_cosine_then_bm25_then_location() -> None:
    pool = [candidate(10), candidate(9), candidate(3, None, 0.4), candidate(4, 0.1), candidate(5, 0.2)]

    assert [item.id for item in fuse_weighted(pool, 0, 0)] == [5, 4, 3, 9, 10]


@pytest.mark.parametrize(
    ("rank", "score"),
    [(-4.0, 0.8), (0.0, 1.0), (3.0, 0.25), (math.nan, 0.001), (math.inf, 0.001), (-math.inf, 0.001)],
)
def test_bm25_score_of_a_rank(rank: float, score: float) -> None:
    assert bm25_score(rank) == pytest.approx(score)


# --- neighbours ----------------------------------------------------------------------------------


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
    numbers = Numbers()
    facts = [
        (int(item.id), numbers.give(path), 0, 1, 1, start, end, 0)
        for item in by_id
        for path, start, end in [spans[int(item.id)]]
    ]
    locations = ChunkLocations(pack_facts(facts, len(facts)), numbers, Numbers())
    lifted = scores_with_neighbours(
        np.array([item.score for item in by_id], dtype=np.float64), locations, share
    )
    return best_first(with_score(item, score) for item, score in zip(by_id, lifted.tolist(), strict=True))


def scores_of(scores: list[float], spans: list[Span], share: float | None = None) -> list[float]:
    """Return the scores of candidates with their neighbours' shares, in the order given."""
    items = [ranked(at, score) for at, score in enumerate(scores)]
    lifted = {item.id: item.score for item in lift_by_neighbours(items, dict(enumerate(spans)), share)}
    return [lifted[at] for at in range(len(scores))]


@st.composite
def placed(draw: st.DrawFn) -> tuple[list[Ranked], dict[int, Span]]:
    """Return candidates and their locations: consecutive in each file, some overlapping, some with gaps."""
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
def test_lifted_scores_stay_between_0_and_1_best_first(
    given_items: tuple[list[Ranked], dict[int, Span]], share: float | None
) -> None:
    items, spans = given_items

    lifted = lift_by_neighbours(items, spans, share)

    assert all(0 <= item.score <= 1 for item in lifted)
    assert lifted == best_first(lifted)
    assert sorted(int(item.id) for item in lifted) == list(range(len(items)))


@given(placed(), st.integers(0, 1000))
def test_neighbour_scores_are_independent_of_the_input_order(
    given_items: tuple[list[Ranked], dict[int, Span]], seed: int
) -> None:
    items, spans = given_items
    shuffled = random.Random(seed).sample(items, len(items))

    assert lift_by_neighbours(shuffled, spans) == lift_by_neighbours(items, spans)


@given(placed())
def test_a_neighbour_weight_of_0_changes_no_score(given_items: tuple[list[Ranked], dict[int, Span]]) -> None:
    items, spans = given_items

    assert lift_by_neighbours(items, spans, 0.0) == best_first(items)


@given(placed(), st.none() | st.floats(0, 2))
def test_the_best_score_stays_the_same(
    given_items: tuple[list[Ranked], dict[int, Span]], share: float | None
) -> None:
    items, spans = given_items

    lifted = lift_by_neighbours(items, spans, share)

    assert max((item.score for item in lifted), default=0.0) == pytest.approx(
        max((item.score for item in items), default=0.0)
    )


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0, 2))
def test_scores_without_neighbours_stay_the_same(given_scores: list[float], share: float) -> None:
    spans = [("a.md", 100 * at, 100 * at + 10) for at in range(len(given_scores))]

    assert scores_of(given_scores, spans, share) == pytest.approx(given_scores)


@given(placed())
def test_a_neighbour_never_lowers_the_rank(given_items: tuple[list[Ranked], dict[int, Span]]) -> None:
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
def test_adjacent_or_overlapping_chunks_are_neighbours(one: Span, other: Span, are_neighbours: bool) -> None:
    scores = scores_of([0.25, 0.5], [one, other], 0.5)

    # A neighbour half as good: (0.25 + 0.25) against (0.5 + 0.125), scaled so that the best score stays.
    assert scores == pytest.approx([0.4, 0.5] if are_neighbours else [0.25, 0.5])


@pytest.mark.parametrize(("above", "below"), [(0.4, 0.8), (0.8, 0.4)])
def test_the_better_of_two_neighbours_adds_its_score(above: float, below: float) -> None:
    spans = [("a.md", 0, 10), ("a.md", 11, 20), ("a.md", 21, 30)]

    scores = scores_of([above, 0.2, below], spans, 0.5)

    # The best reaches 0.9 and is scaled to 0.8; the one in between gets half of 0.8 from either side.
    expected = [(above + 0.1) * 0.8 / 0.9, (0.2 + 0.4) * 0.8 / 0.9, (below + 0.1) * 0.8 / 0.9]
    assert scores == pytest.approx(expected)


def test_a_chunk_between_two_good_ones_outranks_one_without_neighbours() -> None:
    items = [ranked(1, 0.7), ranked(2, 0.55), ranked(3, 0.7), ranked(4, 0.6)]
    spans = {1: ("a.md", 0, 10), 2: ("a.md", 10, 20), 3: ("a.md", 20, 30), 4: ("b.md", 0, 10)}

    assert [item.id for item in lift_by_neighbours(items, spans)] == [1, 3, 2, 4]


def test_a_neighbour_adds_its_original_score() -> None:
    spans = [("a.md", 0, 10), ("a.md", 10, 20), ("a.md", 20, 30)]

    # The share of the first in the second is not passed to the third.
    assert scores_of([1.0, 0.0, 0.0], spans, 0.5)[2] == 0.0


def test_no_candidates_have_no_scores() -> None:
    assert lift_by_neighbours([], {}) == []
