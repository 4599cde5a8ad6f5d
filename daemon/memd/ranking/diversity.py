"""Maximal marginal relevance (Carbonell and Goldstein 1998): what is new counts beside what is relevant."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memd.ranking.fusion import Ranked

_TOKEN = re.compile(r"[a-z0-9_]+")


def rerank_mmr(ranked: Sequence[Ranked], lambda_: float) -> list[Ranked]:
    """Return candidates so that each next one is relevant and unlike those before it.

    Args:
        ranked: Candidates, best first.
        lambda_: 1 is relevance alone, 0 is novelty alone; clamped to 0..1.

    Returns:
        All of them with their scores unchanged.
    """
    weight = min(1.0, max(0.0, lambda_))
    if len(ranked) <= 1:
        return list(ranked)
    if weight == 1.0:
        return sorted(ranked, key=lambda item: -item.score)
    low = min(item.score for item in ranked)
    span = max(item.score for item in ranked) - low
    tokens = [frozenset(_TOKEN.findall(item.snippet.lower())) for item in ranked]
    relevance = [1.0 if span == 0 else (item.score - low) / span for item in ranked]
    nearest = [0.0] * len(ranked)
    left = list(range(len(ranked)))
    chosen: list[int] = []
    while left:
        best = max(
            left,
            key=lambda at: (
                weight * relevance[at] - (1 - weight) * nearest[at],
                ranked[at].score,
                -at,
            ),
        )
        left.remove(best)
        chosen.append(best)
        for at in left:
            nearest[at] = max(nearest[at], jaccard(tokens[at], tokens[best]))
    return [ranked[at] for at in chosen]


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return how much two sets share, 0 to 1; two empty ones are equal."""
    if not one and not other:
        return 1.0
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)
