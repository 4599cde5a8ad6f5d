"""Fusion of keyword and vector scores into one ranking.

The order never depends on the order of the input: equal scores are ordered by cosine, BM25 and location.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from memd.index.chunk_locations import ChunkLocations

FloatArray = NDArray[np.float64]

RRF_K = 60
"""Constant of reciprocal rank fusion, as in its paper."""

NEIGHBOUR_WEIGHT = 0.35
"""Weight of the better neighbour's score; see benchmarks/NOTES.md."""

NOT_RANKED = 999
"""The rank of a match whose BM25 is not a number, as in OpenClaw."""


class Candidate(msgspec.Struct, gc=False):
    """A chunk found by keyword search, vector search or both; the score of the other search is None.

    A struct because a search creates hundreds of them.
    """

    id: str | int
    path: str
    start_line: int
    end_line: int
    snippet: str
    vector_score: float | None
    text_score: float | None


class Ranked(Candidate, gc=False):
    """A candidate with its score; higher is better."""

    score: float


class MatchScores(NamedTuple):
    """Matches of keyword or vector search: row of each candidate in the columns, and its score."""

    at: NDArray[np.intp]
    scores: FloatArray


def bm25_score(rank: float) -> float:
    """Return FTS5's rank as the score that OpenClaw calculates."""
    if not math.isfinite(rank):
        return 1 / (1 + NOT_RANKED)
    if rank < 0:
        return -rank / (1 - rank)
    return 1 / (1 + rank)


def fuse_weighted(candidates: Iterable[Candidate], vector_weight: float, text_weight: float) -> list[Ranked]:
    """Return the weighted sum of both scores: OpenClaw's formula."""
    return best_first(
        with_score(each, vector_weight * (each.vector_score or 0.0) + text_weight * (each.text_score or 0.0))
        for each in candidates
    )


def normalized_scores(
    count: int, vectors: MatchScores, keywords: MatchScores, vector_weight: float, text_weight: float
) -> FloatArray:
    """Scale the scores of each search to 0..1, then add them with their weights.

    BM25 has no upper bound, so it is divided by the best. Cosines fall into a narrow range, so they are min-max scaled.
    """
    total = vector_weight + text_weight
    vector_share = vector_weight / total if total > 0 else 0.0
    text_share = 1 - vector_share if total > 0 else 0.0
    scores = np.zeros(count)
    scores[vectors.at] = vector_share * _min_max_scaled(vectors.scores)
    scores[keywords.at] += text_share * _scaled_by_best(keywords.scores)
    return scores


def fuse_rrf(candidates: Sequence[Candidate], k: int = RRF_K) -> list[Ranked]:
    """Return reciprocal rank fusion of both searches."""
    vector_ranks = _ranks([each.vector_score for each in candidates])
    text_ranks = _ranks([each.text_score for each in candidates])
    best = 2 / (k + 1)
    return best_first(
        with_score(
            each,
            (_reciprocal(vector_ranks, each.vector_score, k) + _reciprocal(text_ranks, each.text_score, k))
            / best,
        )
        for each in candidates
    )


def best_first(items: Iterable[Ranked]) -> list[Ranked]:
    """Return candidates by score, equal scores by `_tie_break`."""
    listed = list(items)
    scores = np.array([item.score for item in listed], dtype=np.float64)
    order = np.argsort(-scores, kind="stable")
    ordered, best = [listed[at] for at in order.tolist()], scores[order]
    equal = (best[1:] == best[:-1]).nonzero()[0]  # each equals the next
    end = 0
    for first in equal.tolist():
        if first >= end:
            end = first + 2
            while end < len(ordered) and best[end] == best[first]:
                end += 1
            ordered[first:end] = sorted(ordered[first:end], key=_tie_break)
    return ordered


def _tie_break(item: Ranked) -> tuple[float, float, str, int, int, str]:
    """Return the sort key of a candidate among those with the same score: cosine, BM25, location, id."""
    by_cosine = math.inf if item.vector_score is None else -item.vector_score
    by_bm25 = math.inf if item.text_score is None else -item.text_score
    number, name = (item.id, "") if isinstance(item.id, int) else (0, item.id)
    return by_cosine, by_bm25, item.path, item.start_line, number, name


def with_score(candidate: Candidate, score: float) -> Ranked:
    """Return a candidate with another score."""
    return Ranked(
        candidate.id,
        candidate.path,
        candidate.start_line,
        candidate.end_line,
        candidate.snippet,
        candidate.vector_score,
        candidate.text_score,
        score,
    )


def _min_max_scaled(scores: FloatArray) -> FloatArray:
    """Return scores scaled from 0 (the lowest) to 1 (the best)."""
    if not scores.size:
        return scores
    least, best = scores.min(), scores.max()
    return (scores - least) / (best - least) if best > least else np.ones(len(scores))


def _scaled_by_best(scores: FloatArray) -> FloatArray:
    """Return scores divided by the best; all 1 if the best is not positive."""
    best = scores.max(initial=0.0)
    return np.maximum(scores, 0.0) / best if best > 0 else np.ones(len(scores))


def _ranks(scores: Iterable[float | None]) -> dict[float, int]:
    """Return the rank of every score, 1 for the best; equal scores share the better rank."""
    ranks: dict[float, int] = {}
    for rank, score in enumerate(
        sorted((each for each in scores if each is not None), reverse=True), start=1
    ):
        ranks.setdefault(score, rank)
    return ranks


def _reciprocal(ranks: dict[float, int], score: float | None, k: int) -> float:
    """Return the reciprocal rank of a score, 0 for None."""
    return 0.0 if score is None else 1 / (k + ranks[score])


def scores_with_neighbours(
    scores: FloatArray, locations: ChunkLocations, share: float | None = None
) -> FloatArray:
    """Add to each score a share of the better score of its direct neighbours in the file.

    A chunk whose neighbour matched too is more likely to be relevant.
    """
    share = NEIGHBOUR_WEIGHT if share is None else share
    if not scores.size:
        return scores
    at = (locations.ends > locations.starts).nonzero()[0]
    at = at[np.lexsort((locations.ends[at], locations.starts[at], locations.files[at]))]
    one, other = at[:-1], at[1:]
    # They overlap, or only a line end separates them.
    adjacent = (locations.files[one] == locations.files[other]) & (
        locations.starts[other] <= locations.ends[one] + 1
    )
    one, other = one[adjacent], other[adjacent]
    best = np.zeros(len(scores))
    best[one] = scores[other]
    best[other] = np.maximum(best[other], scores[one])
    lifted = scores + share * best
    # The best score stays: one good match without a neighbour must not lose.
    scale: float = scores.max() / (lifted.max() or 1.0)
    return lifted * scale


def ids_of(ranked: Sequence[Ranked]) -> list[int]:
    """Return the ids of ranked chunks, in order."""
    return [int(item.id) for item in ranked]
