"""Two ranked lists -> one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Candidate:
    """A chunk that words or meaning, or both, brought up. Bigger scores are better."""

    id: int | str
    path: str
    start_line: int
    end_line: int
    snippet: str
    vector_score: float | None
    text_score: float | None


@dataclass(frozen=True, slots=True)
class Ranked(Candidate):
    """A candidate with its score, 0 to 1."""

    score: float = 0.0


def bm25_score(rank: float) -> float:
    """Return FTS5's rank (smaller is better, usually negative) as a score from 0 to 1, as OpenClaw does.

    A negative rank r gives |r| / (1 + |r|), any other 1 / (1 + r).
    """
    if rank < 0:
        return -rank / (1 - rank)
    return 1 / (1 + rank)


def fuse_weighted(candidates: Sequence[Candidate], vector_weight: float, text_weight: float) -> list[Ranked]:
    """Return candidates by OpenClaw's formula: weighted sum, a missing score counts 0.

    The sort is stable: equal scores keep the order given.
    """
    ranked = [
        _with_score(item, vector_weight * (item.vector_score or 0.0) + text_weight * (item.text_score or 0.0))
        for item in candidates
    ]
    return sorted(ranked, key=lambda item: -item.score)


def fuse_normalized(
    candidates: Sequence[Candidate], vector_weight: float, text_weight: float
) -> list[Ranked]:
    """Return candidates by a weighted sum of both scores, each brought to 0..1 over the candidates.

    The lowest score of a list becomes 0 and the highest 1; a candidate that a list lacks counts 0 there.
    """
    meaning = _scaled([item.vector_score for item in candidates])
    words = _scaled([item.text_score for item in candidates])
    ranked = [
        _with_score(item, vector_weight * near + text_weight * said)
        for item, near, said in zip(candidates, meaning, words, strict=True)
    ]
    return sorted(ranked, key=order)


def fuse_rrf(candidates: Sequence[Candidate], k: int = 60) -> list[Ranked]:
    """Return candidates by reciprocal rank fusion (Cormack, Clarke and Buettcher 2009), scaled to 0..1.

    Args:
        candidates: In any order.
        k: How little the first places differ; 60 in the paper.
    """
    places: dict[int | str, float] = {}
    for listed in (_listed(candidates, "vector_score"), _listed(candidates, "text_score")):
        for place, item in enumerate(listed, start=1):
            places[item.id] = places.get(item.id, 0.0) + 1 / (k + place)
    best = 2 / (k + 1)
    return sorted((_with_score(item, places.get(item.id, 0.0) / best) for item in candidates), key=order)


def _listed(candidates: Sequence[Candidate], score: str) -> list[Candidate]:
    """Return the candidates that have a score, best first."""
    known = [(getattr(item, score), item) for item in candidates if getattr(item, score) is not None]
    known.sort(key=lambda pair: (-pair[0], pair[1].path, pair[1].start_line, str(pair[1].id)))
    return [item for _, item in known]


def order(item: Ranked) -> tuple[float, str, int, str]:
    """Return the sort key of final lists: best first, equal scores by place, so that lists never flicker."""
    return (-item.score, item.path, item.start_line, str(item.id))


def _scaled(scores: Sequence[float | None]) -> list[float]:
    """Return scores on 0..1; equal ones become 1, missing ones 0."""
    known = [score for score in scores if score is not None]
    if not known:
        return [0.0] * len(scores)
    low, high = min(known), max(known)
    span = high - low
    return [0.0 if score is None else 1.0 if span <= 0 else (score - low) / span for score in scores]


def _with_score(item: Candidate, score: float) -> Ranked:
    """Return a candidate with a score."""
    return Ranked(
        item.id,
        item.path,
        item.start_line,
        item.end_line,
        item.snippet,
        item.vector_score,
        item.text_score,
        score,
    )
