"""Two ranked lists, by words and by meaning, to one.

Every order made here depends on the candidates alone, never on the order they came in: equal scores go by
the scores behind them, then by place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

TieBreakKey: TypeAlias = tuple[float, float, str, int, int, str]
"""What orders candidates of equal scores."""

RRF_K = 60
"""Ranks are softened by this much in reciprocal rank fusion: the value of its inventors."""

NOT_RANKED = 999
"""The rank of a match whose BM25 is no number, as in the reference."""


class Candidate(msgspec.Struct, gc=False):
    """A chunk that words, meaning or both found; a score is None where that side didn't find it.

    Some hundred are made in every search, several times: a struct takes a third of what a dataclass takes.
    """

    id: str | int
    path: str
    start_line: int
    end_line: int
    snippet: str
    vector_score: float | None
    text_score: float | None


class Ranked(Candidate, gc=False):
    """A candidate with the score that orders it, bigger is better."""

    score: float


class Side(NamedTuple):
    """What words or meaning found: which of all candidates, each once, and their scores."""

    at: NDArray[np.intp]
    scores: FloatArray


def bm25_score(rank: float) -> float:
    """Return FTS5's rank as the reference scores it."""
    if not math.isfinite(rank):
        return 1 / (1 + NOT_RANKED)
    if rank < 0:
        return -rank / (1 - rank)
    return 1 / (1 + rank)


def fuse_weighted(candidates: Iterable[Candidate], vector_weight: float, text_weight: float) -> list[Ranked]:
    """Add both scores as they are, each with its weight: the reference's formula."""
    return best_first(
        with_score(each, vector_weight * (each.vector_score or 0.0) + text_weight * (each.text_score or 0.0))
        for each in candidates
    )


def normalized_scores(
    count: int, meaning: Side, words: Side, vector_weight: float, text_weight: float
) -> FloatArray:
    """Bring each side's scores to 0..1, then add them with their weights.

    BM25 has no upper end: it is divided by the best. Cosines crowd into a narrow band: they are stretched from the
    least candidate's to the best's.
    """
    total = vector_weight + text_weight
    vector_share = vector_weight / total if total > 0 else 0.0
    text_share = 1 - vector_share if total > 0 else 0.0
    scores = np.zeros(count)
    scores[meaning.at] = vector_share * _stretched(meaning.scores)
    scores[words.at] += text_share * _parts_of_best(words.scores)
    return scores


def fuse_rrf(candidates: Sequence[Candidate], k: int = RRF_K) -> list[Ranked]:
    """Add up the reciprocal ranks of both sides."""
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
    """Return candidates in the one order their scores allow."""
    listed = list(items)
    scores = np.array([item.score for item in listed], dtype=np.float64)

    def behind(at: int) -> TieBreakKey:
        item = listed[at]
        return tie_break_key(item.vector_score, item.text_score, item.path, item.start_line, item.id)

    return [listed[at] for at in places_best_first(scores, behind)]


def places_best_first(scores: FloatArray, behind: Callable[[int], TieBreakKey]) -> list[int]:
    """Return the places of candidates in the order of `best_first`."""
    order = np.argsort(-scores, kind="stable")
    best = scores[order]
    equal = (best[1:] == best[:-1]).nonzero()[0]  # each to the one after it
    places: list[int] = order.tolist()
    end = 0
    for first in equal.tolist():
        if first >= end:
            end = first + 2
            while end < len(places) and best[end] == best[first]:
                end += 1
            places[first:end] = sorted(places[first:end], key=behind)
    return places


def tie_break_key(
    vector_score: float | None, text_score: float | None, path: str, line: int, key: int | str
) -> TieBreakKey:
    """Return a candidate's place among those of its score, as something to sort by."""
    by_meaning = math.inf if vector_score is None else -vector_score
    by_words = math.inf if text_score is None else -text_score
    number, name = (key, "") if isinstance(key, int) else (0, key)
    return (by_meaning, by_words, path, line, number, name)


def with_score(candidate: Candidate, score: float) -> Ranked:
    """Return a candidate with a score, instead of the one it has. `dataclasses.replace` takes ten times as long."""
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


def _stretched(scores: FloatArray) -> FloatArray:
    """Return scores placed between the least (0) and the best (1) of all."""
    if not scores.size:
        return scores
    least, best = scores.min(), scores.max()
    return (scores - least) / (best - least) if best > least else np.ones(len(scores))


def _parts_of_best(scores: FloatArray) -> FloatArray:
    """Return scores divided by the best of all; every one is 1 where the best isn't positive."""
    best = scores.max(initial=0.0)
    return np.maximum(scores, 0.0) / best if best > 0 else np.ones(len(scores))


def _ranks(scores: Iterable[float | None]) -> dict[float, int]:
    """Return the rank of every score, the best 1; equal scores share the better rank."""
    ranks: dict[float, int] = {}
    for rank, score in enumerate(
        sorted((each for each in scores if each is not None), reverse=True), start=1
    ):
        ranks.setdefault(score, rank)
    return ranks


def _reciprocal(ranks: dict[float, int], score: float | None, k: int) -> float:
    """Return the reciprocal rank of a score, 0 where there is none."""
    return 0.0 if score is None else 1 / (k + ranks[score])
