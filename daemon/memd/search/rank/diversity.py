"""Maximal marginal relevance: among the relevant, prefer what says something new."""

from __future__ import annotations

from collections.abc import Sequence

from memd.search.rank.fusion import Ranked, best_first
from memd.system.cancellation import check_cancelled
from memd.text.tokens import folded_words


def rerank_mmr(items: Sequence[Ranked], lambda_: float, limit: int | None = None) -> list[Ranked]:
    """Reorder candidates so that near repetitions come later.

    Each next one is the best of `lambda_` times its relevance (scores stretched over 0..1) minus
    `1 - lambda_` times its likeness to the most similar one already chosen (Jaccard on words).
    """
    left = best_first(items)
    lambda_ = max(0.0, min(1.0, lambda_))
    if len(left) <= 1 or lambda_ == 1:
        return left
    low, high = left[-1].score, left[0].score
    relevance = [(item.score - low) / (high - low) if high > low else 1.0 for item in left]
    words = _as_bits(left)
    sizes = [each.bit_count() for each in words]
    likeness = [0.0] * len(left)
    waiting = list(range(len(left)))
    order: list[int] = []
    while waiting and (limit is None or len(order) < limit):
        check_cancelled()
        # `waiting` is in order of relevance, and the first of equals wins.
        chosen = max(waiting, key=lambda at: lambda_ * relevance[at] - (1 - lambda_) * likeness[at])
        waiting.remove(chosen)
        order.append(chosen)
        for at in waiting:
            alike = _jaccard(words[at], words[chosen], sizes[at] + sizes[chosen])
            likeness[at] = max(likeness[at], alike)
    return [left[at] for at in order + waiting]


def _as_bits(items: Sequence[Ranked]) -> list[int]:
    """Return each candidate's set of words as a number with one bit a word: intersections are then cheap."""
    numbers: dict[str, int] = {}
    sets = []
    for item in items:
        bits = 0
        for word in set(folded_words(item.snippet)):
            bits |= 1 << numbers.setdefault(word, len(numbers))
        sets.append(bits)
    return sets


def _jaccard(one: int, other: int, both_sizes: int) -> float:
    """Return how alike two sets of words are, 0 to 1; two empty ones are the same."""
    if both_sizes == 0:
        return 1.0
    shared = (one & other).bit_count()
    return shared / (both_sizes - shared)
