"""Two ranked lists become one, whatever order they come in."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.search.rank.fusion import (
    Candidate,
    Ranked,
    SideScores,
    best_first,
    bm25_score,
    fuse_rrf,
    fuse_weighted,
    normalized_scores,
    with_score,
)
from memd.search.rank.stages import decay_candidates, rerank_mmr

Fuse = Callable[[list[Candidate]], list[Ranked]]

UNIT = st.none() | st.floats(0, 1) | st.sampled_from([0.0, 0.25, 0.5, 1.0])
ANY = st.none() | st.floats(-1e6, 1e6) | st.sampled_from([0.0, 1.5, 3.0])


def candidate(
    at: int, vector: float | None = None, text: float | None = None, path: str = "memory/a.md"
) -> Candidate:
    """Return a candidate with that id."""
    return Candidate(at, path, at, at + 1, f"text {at % 3}", vector, text)


def pools(scores: st.SearchStrategy[float | None]) -> st.SearchStrategy[list[Candidate]]:
    """Return lists of candidates with distinct ids."""
    return st.lists(st.tuples(scores, scores), max_size=12).map(
        lambda rows: [candidate(at, vector, text) for at, (vector, text) in enumerate(rows)]
    )


def side_of(scores: list[float | None]) -> SideScores:
    """Return which candidates have a score, and which."""
    found = [(at, score) for at, score in enumerate(scores) if score is not None]
    at, told = zip(*found, strict=True) if found else ((), ())
    return SideScores(np.array(at, dtype=np.intp), np.array(told, dtype=np.float64))


def fuse_normalized(pool: list[Candidate], vector_weight: float, text_weight: float) -> list[Ranked]:
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
def test_scores_stay_between_0_and_1_best_first(fuse: Fuse, pool: list[Candidate]) -> None:
    scores = [item.score for item in fuse(pool)]

    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == len(pool)


@given(pools(ANY))
def test_normalized_scores_stay_between_0_and_1_whatever_the_scale(pool: list[Candidate]) -> None:
    assert all(0 <= item.score <= 1 for item in fuse_normalized(pool, 0.5, 0.5))


@pytest.mark.parametrize("fuse", FUSIONS, ids=NAMES)
@given(pool=pools(UNIT), seed=st.integers(0, 1000))
def test_the_order_does_not_depend_on_the_order_given(fuse: Fuse, pool: list[Candidate], seed: int) -> None:
    shuffled = random.Random(seed).sample(pool, len(pool))

    assert fuse(shuffled) == fuse(pool)
    ranked = fuse(pool)
    again = random.Random(seed).sample(ranked, len(ranked))
    assert rerank_mmr(again, 0.7) == rerank_mmr(ranked, 0.7)
    assert decay_candidates(again, 0, 30) == decay_candidates(ranked, 0, 30)


@pytest.mark.parametrize("fuse", FUSIONS, ids=NAMES)
@given(pool=pools(UNIT))
def test_every_candidate_comes_out_once(fuse: Fuse, pool: list[Candidate]) -> None:
    ranked = fuse(pool)

    assert sorted(str(item.id) for item in ranked) == sorted(str(each.id) for each in pool)


def test_weighted_adds_scores_as_they_are() -> None:
    ranked = fuse_weighted([candidate(1, 0.5, 0.5), candidate(2, 0.9), candidate(3, None, 1.0)], 0.7, 0.3)

    assert [item.id for item in ranked] == [2, 1, 3]
    assert [item.score for item in ranked] == pytest.approx([0.63, 0.5, 0.3])


def test_normalized_stretches_meaning_and_divides_words_by_the_best() -> None:
    pool = [candidate(1, 0.30, 12.0), candidate(2, 0.40, None), candidate(3, 0.35, 3.0)]

    ranked = fuse_normalized(pool, 1, 1)

    assert [item.id for item in ranked] == [2, 1, 3]
    assert [item.score for item in ranked] == pytest.approx([0.5, 0.5, 0.25 + 0.125])


def test_the_least_of_the_words_still_counts_and_the_least_meaning_does_not() -> None:
    pool = [candidate(1, 0.30, 12.0), candidate(2, 0.40, 11.0)]

    assert [item.score for item in fuse_normalized(pool, 0, 1)] == pytest.approx([1.0, 11 / 12])
    assert [item.score for item in fuse_normalized(pool, 1, 0)] == pytest.approx([1.0, 0.0])


def test_the_only_candidate_of_a_side_is_its_best() -> None:
    assert fuse_normalized([candidate(1, None, 0.2)], 0, 1)[0].score == 1


def test_first_on_both_sides_is_1_by_rank() -> None:
    ranked = fuse_rrf([candidate(1, 0.9, 5.0), candidate(2, 0.8, 4.0), candidate(3, 0.8, None)])

    assert ranked[0].score == 1
    assert [item.score for item in ranked[1:]] == [
        pytest.approx((2 / 62) / (2 / 61)),
        pytest.approx((1 / 62) / (2 / 61)),
    ]


def test_equal_scores_go_by_meaning_then_words_then_place() -> None:
    pool = [candidate(10), candidate(9), candidate(3, None, 0.4), candidate(4, 0.1), candidate(5, 0.2)]

    assert [item.id for item in fuse_weighted(pool, 0, 0)] == [5, 4, 3, 9, 10]


@pytest.mark.parametrize(
    ("rank", "score"),
    [(-4.0, 0.8), (0.0, 1.0), (3.0, 0.25), (math.nan, 0.001), (math.inf, 0.001), (-math.inf, 0.001)],
)
def test_bm25_becomes_a_score(rank: float, score: float) -> None:
    assert bm25_score(rank) == pytest.approx(score)
