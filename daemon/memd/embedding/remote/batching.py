"""Texts -> batches a provider takes. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice

from memd.embedding.provider import BatchLimits
from memd.text.tokens import estimate_tokens


def batches(costs: Sequence[int], limits: BatchLimits) -> list[list[int]]:
    """Return which texts go into which request, in their order."""
    found: list[list[int]] = []
    current: list[int] = []
    tokens = 0
    for position, cost in enumerate(costs):
        alone = cost > limits.max_text_tokens
        if current and (alone or len(current) >= limits.max_texts or tokens + cost > limits.max_tokens):
            found.append(current)
            current, tokens = [], 0
        current.append(position)
        tokens += cost
        if alone:
            found.append(current)
            current, tokens = [], 0
    if current:
        found.append(current)
    return found


def take_batch(waiting: deque[tuple[str, str]], limits: BatchLimits) -> list[tuple[str, str]]:
    """Take what goes into the next request out of a line of (hash, text), at least one of them."""
    costs = [estimate_tokens(text) for _, text in islice(waiting, limits.max_texts)]
    return [waiting.popleft() for _ in batches(costs, limits)[0]]
