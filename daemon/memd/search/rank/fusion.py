"""Keyword and vector scores to one ranking.

Every order depends on the candidates alone, never on the order they came in: equal scores are ordered by cosine, BM25
and location.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias, overload

import msgspec
import numpy as np
from numpy.typing import NDArray

from memd.index.chunk_locations import ChunkLocations

FloatArray = NDArray[np.float64]

TieBreakKey: TypeAlias = tuple[float, float, str, int, int, str]
"""What orders candidates of equal scores."""

RRF_K = 60
"""Ranks are softened by this much in reciprocal rank fusion: the value of its inventors."""

NEIGHBOUR_WEIGHT = 0.35
"""Weight of the better neighbour's score. Chosen on the evaluation set: between 0.15 and 0.35 it hardly matters,
without it a point of evidence is lost; see docs/ranking.md."""

NOT_RANKED = 999
"""The rank of a match whose BM25 is no number, as in the reference."""


class Candidate(msgspec.Struct, gc=False):
    """A chunk that keywords, vectors or both found; a score is None if that side didn't find it.

    A search makes hundreds of them: a struct takes a third of the time of a dataclass.
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


class SideScores(NamedTuple):
    """What keywords or vectors found: the rows of candidates in the columns, each once, and their scores."""

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
    count: int, vectors: SideScores, keywords: SideScores, vector_weight: float, text_weight: float
) -> FloatArray:
    """Bring each side's scores to 0..1, then add them with their weights.

    BM25 has no upper end: it is divided by the best. Cosines crowd into a narrow band: they are stretched from the
    least candidate's to the best's.
    """
    total = vector_weight + text_weight
    vector_share = vector_weight / total if total > 0 else 0.0
    text_share = 1 - vector_share if total > 0 else 0.0
    scores = np.zeros(count)
    scores[vectors.at] = vector_share * _stretched(vectors.scores)
    scores[keywords.at] += text_share * _parts_of_best(keywords.scores)
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

    def tie_break(at: int) -> TieBreakKey:
        item = listed[at]
        return tie_break_key(item.vector_score, item.text_score, item.path, item.start_line, item.id)

    return [listed[at] for at in rows_best_first(scores, tie_break)]


def rows_best_first(scores: FloatArray, tie_break: Callable[[int], TieBreakKey]) -> list[int]:
    """Return the rows of candidates in the order of `best_first`."""
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
            places[first:end] = sorted(places[first:end], key=tie_break)
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


def lifted_scores(scores: FloatArray, locations: ChunkLocations, share: float | None = None) -> FloatArray:
    """Add to each score a share of the better score of its direct neighbours in the file.

    A chunk whose neighbour was found as well is likelier to be meant.
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
    # The best keeps its score: one good match without a neighbour is worth 1.
    scale: float = scores.max() / (lifted.max() or 1.0)
    return lifted * scale


class LazyRanking(Sequence[Ranked]):
    """Candidates in order, each made when it is read: of hundreds a search shows a few."""

    def __init__(self, places: Sequence[int], ids: Sequence[int], item: Callable[[int], Ranked]) -> None:
        self.ids = ids
        self._places = places
        self._item = item

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Ranked]:
        return map(self._item, self._places)

    @overload
    def __getitem__(self, at: int) -> Ranked: ...
    @overload
    def __getitem__(self, at: slice) -> list[Ranked]: ...
    def __getitem__(self, at: int | slice) -> Ranked | list[Ranked]:
        if isinstance(at, slice):
            return [self._item(place) for place in self._places[at]]
        return self._item(self._places[at])


def ids_of(ranked: Sequence[Ranked]) -> Sequence[int]:
    """Return the ids of ranked chunks, in their order."""
    return ranked.ids if isinstance(ranked, LazyRanking) else [int(item.id) for item in ranked]
