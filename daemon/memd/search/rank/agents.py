"""Merge the hits of several agents into one list."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple


class HitScores(NamedTuple):
    """Sort key of a hit among other agents' hits: higher is better; None: not found by that search."""

    score: float
    vector_score: float | None
    text_score: float | None


def merge_agents(
    rankings: Sequence[Sequence[HitScores]], most: int, *, comparable: bool
) -> list[tuple[int, int]]:
    """Return the hits to show as (index of the agent, index among its hits), best first.

    Each agent's hits keep their order. The same text in two agents' memories is two hits.
    """

    def ordered(agent: int) -> Iterator[tuple[tuple[float, ...], int, int]]:
        for rank, hit in enumerate(rankings[agent]):
            yield (_sort_key(hit) if comparable else ()), rank, agent

    # `heapq.merge` compares only the heads, so an agent's own order is kept even if its scores do not fall.
    merged = heapq.merge(*map(ordered, range(len(rankings))))
    return [(agent, rank) for (_, rank, agent), _ in zip(merged, range(most), strict=False)]


def count_fitting(lengths: Iterable[int], max_chars: int) -> int:
    """Return how many snippets of these lengths fit a budget; the first that doesn't fit ends the list."""
    return sum(total <= max_chars for total in accumulate(lengths))


def _sort_key(hit: HitScores) -> tuple[float, ...]:
    """Return a sort key: score, then cosine, then BM25, highest first."""
    return tuple(math.inf if each is None else -each for each in hit)
