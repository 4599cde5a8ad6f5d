"""How texts are put into requests: as many as fit, more while a server is quick, and around those it refuses."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

import numpy as np
import structlog

from memd.embedding.provider import BatchLimits, EmbeddingProvider, FloatArray, unit_vector
from memd.text.tokens import estimate_tokens
from memd_client.errors import ProviderFailedError, ProviderReplyError, TextRefusedError

log = structlog.get_logger(__name__)

QUICK_S: Final = 0.25
"""A full request that is answered sooner doubles the size: a query in between waits half a second at most."""

SLOW_S: Final = 1.0
"""A slower request halves the size."""

SIZE_ERRORS: Final = (ProviderFailedError, ProviderReplyError, TextRefusedError)
"""The errors of a request of too many texts: an unspecific one, too few vectors, a refusal. Subclasses don't count."""

LEAST_CHARACTERS: Final = 200
"""A piece this short is not split further: its length is not the problem."""

MOST_PIECE_CALLS: Final = 64
"""Calls for one text: enough to split 12,000 characters into the shortest pieces."""

HARMLESS: Final = "A note."
"""A provider that refuses this text refuses every text."""


def batches(costs: Sequence[int], limits: BatchLimits) -> list[list[int]]:
    """Return the positions of texts for each request, in their order."""
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
    """Take the next request's (hash, text) pairs out of a queue, at least one."""
    costs = [estimate_tokens(text) for _, text in islice(waiting, limits.max_texts)]
    return [waiting.popleft() for _ in batches(costs, limits)[0]]


class AdaptiveBatchSize:
    """The limits of one request to a server, adapted to how fast it answers."""

    def __init__(self, limits: BatchLimits) -> None:
        self._usual = limits
        self._most = max(limits.max_texts, limits.quick_texts)
        self.limits = limits

    def __repr__(self) -> str:
        return f"<AdaptiveBatchSize {self.limits.max_texts} texts, {self._most} at most>"

    def answered(self, texts: int, took_s: float) -> None:
        """Adapt to the time a request took."""
        now = self.limits.max_texts
        if took_s > SLOW_S:
            self._set(max(self._usual.max_texts, now // 2))
        elif took_s < QUICK_S and texts == now:
            self._set(min(self._most, 2 * now))

    def shrink_after(self, texts: int, error: ProviderFailedError) -> bool:
        """Return whether a request may have failed for its size; if so, fall back to the usual size for good."""
        if texts <= self._usual.max_texts or type(error) not in SIZE_ERRORS:
            return False
        self._most = self._usual.max_texts
        self._set(self._most)
        return True

    def _set(self, texts: int) -> None:
        if texts != self.limits.max_texts:
            self.limits = replace(self.limits, max_texts=texts)


@dataclass(frozen=True, slots=True)
class Embedded:
    """The unit vectors (dims,) of some texts; None for a refused one, with the reason in `refused` by position."""

    vectors: list[FloatArray | None]
    refused: dict[int, str] = field(default_factory=dict)


async def embed_around(provider: EmbeddingProvider, texts: Sequence[str]) -> Embedded:
    """Return the vectors of some texts, except those the provider refuses.

    A refused list is halved until each refused text is alone: at most 2 · log2(n) calls each. A refused text is split
    near its middle, and refused halves again; its vector is the mean of its pieces' vectors, weighted by length. A
    text with a piece that is refused at the shortest length has no vector.
    """
    return await _FailureIsolation(provider, texts).run()


class _FailureIsolation:
    """The search for refused texts in one list."""

    def __init__(self, provider: EmbeddingProvider, texts: Sequence[str]) -> None:
        self._provider = provider
        self._texts = texts
        self._embedded = Embedded([None] * len(texts))
        self._is_working = False  # whether the provider accepted any text

    async def run(self) -> Embedded:
        """Halve until nothing is left to try."""
        waiting = [range(len(self._texts))]
        while waiting:
            positions = waiting.pop()
            if not positions:
                continue
            try:
                rows = await self._provider.embed_batch([self._texts[position] for position in positions])
            except TextRefusedError as error:
                if len(positions) == 1:
                    await self._embed_pieces(positions[0], error)
                else:
                    middle = len(positions) // 2
                    waiting += [positions[middle:], positions[:middle]]
                continue
            self._is_working = True
            for position, row in zip(positions, rows, strict=True):
                self._embedded.vectors[position] = row
        return self._embedded

    async def _embed_pieces(self, position: int, refusal: TextRefusedError) -> None:
        """Embed one refused text by its pieces, or note why it has no vector."""
        await self._check_provider(refusal)
        text = self._texts[position]
        waiting = _halves(text)
        rows: list[FloatArray] = []
        weights: list[int] = []
        calls = 0
        while waiting:
            piece = waiting.pop(0)
            calls += 1
            try:
                rows.append((await self._provider.embed_batch([piece]))[0])
                weights.append(len(piece))
            except TextRefusedError as error:
                halves = _halves(piece)
                if not halves or calls + len(waiting) + len(halves) > MOST_PIECE_CALLS:
                    self._refuse(position, error)
                    return
                waiting = halves + waiting
        try:
            if not rows:
                raise refusal
            mean = np.average(np.stack(rows), axis=0, weights=weights).astype(np.float32)
            self._embedded.vectors[position] = unit_vector(mean, "the mean of its pieces")
        except ProviderFailedError as error:
            self._refuse(position, error)

    def _refuse(self, position: int, error: ProviderFailedError) -> None:
        self._embedded.refused[position] = error.message
        log.info(
            "embedding.text_refused",
            provider=self._provider.id,
            characters=len(self._texts[position]),
            error=error.message,
        )

    async def _check_provider(self, refusal: TextRefusedError) -> None:
        """Raise if the provider refuses every text."""
        if self._is_working:
            return
        try:
            await self._provider.embed_batch([HARMLESS])
        except TextRefusedError:
            raise ProviderFailedError(
                f"{self._provider.id} refuses every text: {refusal.message}",
                hint="Check search.model and remote.baseUrl; keyword search goes on.",
            ) from None
        self._is_working = True


def _halves(text: str) -> list[str]:
    """Return a text cut in two near its middle, between words if possible; nothing for a short one."""
    if len(text) <= LEAST_CHARACTERS:
        return []
    middle = len(text) // 2
    reach = middle // 2
    spaces = (middle + step * side for step in range(reach) for side in (-1, 1))
    cut = next((place for place in spaces if text[place].isspace()), middle)
    halves = [text[:cut], text[cut:]]
    return halves if all(half.strip() for half in halves) else [text[:middle], text[middle:]]
