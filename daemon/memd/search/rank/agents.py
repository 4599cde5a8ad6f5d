"""Several agents' hits, each agent's best first, to one list."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class HitScores(NamedTuple):
    """What orders a hit among those of other agents; bigger is better, None: not found that way."""

    score: float
    vector_score: float | None
    text_score: float | None


def merge_agents(
    rankings: Sequence[Sequence[HitScores]], most: int, *, comparable: bool
) -> list[tuple[int, int]]:
    """Return which hits to show, as (index of the agent, index among its hits), best first.

    An agent's own hits keep their order. The same text in the memory of two agents is two hits.
    """

    def ordered(agent: int) -> Iterator[tuple[tuple[float, ...], int, int]]:
        for rank, hit in enumerate(rankings[agent]):
            yield (_sort_key(hit) if comparable else ()), rank, agent

    # `heapq.merge` compares the heads alone, so hits that an agent put before better scored ones stay there.
    merged = heapq.merge(*map(ordered, range(len(rankings))))
    return [(agent, rank) for (_, rank, agent), _ in zip(merged, range(most), strict=False)]


def _sort_key(hit: HitScores) -> tuple[float, ...]:
    """Return what sorts a hit: by score, then by cosine, then by BM25, the better first."""
    return tuple(math.inf if each is None else -each for each in hit)
