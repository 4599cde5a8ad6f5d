"""Two ranked lists, by words and by meaning, to one.

Every order made here depends on the candidates alone, never on the order they came in: equal scores go by
the scores behind them, then by place.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from operator import attrgetter

import msgspec

_SCORE = attrgetter("score")

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


def bm25_score(rank: float) -> float:
    """Return FTS5's rank as the reference scores it.

    Args:
        rank: What `bm25()` returned: negative, and the more so the better. A position, 0 or more, counts too.

    Returns:
        A score from 0 to 1.
    """
    if not math.isfinite(rank):
        return 1 / (1 + NOT_RANKED)
    if rank < 0:
        return -rank / (1 - rank)
    return 1 / (1 + rank)


def fuse_weighted(candidates: Iterable[Candidate], vector_weight: float, text_weight: float) -> list[Ranked]:
    """Add both scores as they are, each with its weight: the reference's formula.

    Args:
        candidates: Each chunk once.
        vector_weight: Weight of the vector score.
        text_weight: Weight of the text score, which `bm25_score` brought to 0..1.

    Returns:
        All candidates, best first.
    """
    return best_first(
        with_score(each, vector_weight * (each.vector_score or 0.0) + text_weight * (each.text_score or 0.0))
        for each in candidates
    )


def normalized_scores(
    vector_scores: Sequence[float | None],
    text_scores: Sequence[float | None],
    vector_weight: float,
    text_weight: float,
) -> list[float]:
    """Bring each side's scores to 0..1, then add them with their weights.

    BM25 has no upper end: it is divided by the best. Cosines crowd into a narrow band: they are stretched from the
    least candidate's to the best's.

    Args:
        vector_scores: Cosines of the candidates, None where meaning didn't find one.
        text_scores: Negated BM25 (bigger is better) of the same candidates, likewise.
        vector_weight: Weight of meaning, not negative.
        text_weight: Weight of words, not negative; only the ratio of both matters.

    Returns:
        Scores from 0 to 1. A side that didn't find a candidate adds nothing.
    """
    total = vector_weight + text_weight
    vector_share = vector_weight / total if total > 0 else 0.0
    text_share = 1 - vector_share if total > 0 else 0.0
    near, told = _stretched(vector_scores), _parts_of_best(text_scores)
    return [
        vector_share * by_meaning + text_share * by_words
        for by_meaning, by_words in zip(near, told, strict=True)
    ]


def fuse_rrf(candidates: Sequence[Candidate], k: int = RRF_K) -> list[Ranked]:
    """Add up the reciprocal ranks of both sides.

    Args:
        candidates: Each chunk once.
        k: Softening of the ranks, not negative.

    Returns:
        All candidates, best first, with scores from 0 to 1; 1 is first on both sides.
    """
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
    """Return candidates in the one order their scores allow.

    Args:
        items: Scored candidates, in any order.

    Returns:
        Best score first; equal ones by meaning, then by words, then by path, line and id.
    """
    ordered = sorted(items, key=_SCORE, reverse=True)
    if len({item.score for item in ordered}) == len(ordered):
        return ordered
    # Few scores are equal: places are told apart only there.
    first = 0
    for at in range(1, len(ordered) + 1):
        if at == len(ordered) or ordered[at].score != ordered[first].score:
            if at - first > 1:
                ordered[first:at] = sorted(ordered[first:at], key=_place)
            first = at
    return ordered


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


def _place(item: Ranked) -> tuple[float, float, str, int, int, str]:
    """Return a candidate's place among those of its score, as something to sort by."""
    by_meaning = math.inf if item.vector_score is None else -item.vector_score
    by_words = math.inf if item.text_score is None else -item.text_score
    number, name = (item.id, "") if isinstance(item.id, int) else (0, item.id)
    return (by_meaning, by_words, item.path, item.start_line, number, name)


def _stretched(scores: Sequence[float | None]) -> list[float]:
    """Return scores placed between the least (0) and the best (1) of all; None is 0."""
    known = [score for score in scores if score is not None]
    least = min(known, default=0.0)
    span = max(known, default=0.0) - least
    if span <= 0:
        return [0.0 if score is None else 1.0 for score in scores]
    return [0.0 if score is None else (score - least) / span for score in scores]


def _parts_of_best(scores: Sequence[float | None]) -> list[float]:
    """Return scores divided by the best of all; None is 0, and every other 1 where the best isn't positive."""
    best = max([score for score in scores if score is not None], default=0.0)
    if best <= 0:
        return [0.0 if score is None else 1.0 for score in scores]
    return [0.0 if score is None or score < 0 else score / best for score in scores]


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
