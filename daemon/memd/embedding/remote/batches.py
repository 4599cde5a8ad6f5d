"""Splits texts into requests, adapts their size, isolates refused texts."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import Final

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from memd.embedding.provider import BatchLimits, EmbeddingProvider, FloatArray, unit_vector
from memd.system.log import log
from memd.text.tokens import estimate_tokens
from memd_client.errors import ProviderFailedError, ProviderReplyError, TextRefusedError

QUICK_S: Final = 0.25
"""A faster full request doubles the batch size: a query that waits for it then waits 0.5 s at most."""

SLOW_S: Final = 1.0
"""A slower request halves the batch size."""

SIZE_ERRORS: Final = (ProviderFailedError, ProviderReplyError, TextRefusedError)
"""Errors that a request of too many texts can cause. Exact types, no subclasses."""

MIN_SPLIT_CHARACTERS: Final = 200
"""Shorter parts are not split further: their length is not the cause of a refusal."""

MAX_SPLIT_CALLS: Final = 64
"""Calls per text: enough to split 12,000 characters into the shortest parts."""

PROBE_TEXT: Final = "A note."
"""A provider that refuses this text refuses every text."""


def batches(costs: Sequence[int], limits: BatchLimits) -> list[list[int]]:
    """Return the positions of the texts of each request, in order."""
    requests: list[list[int]] = []
    current: list[int] = []
    tokens = 0
    for position, cost in enumerate(costs):
        alone = cost > limits.max_text_tokens
        if current and (alone or len(current) >= limits.max_texts or tokens + cost > limits.max_tokens):
            requests.append(current)
            current, tokens = [], 0
        current.append(position)
        tokens += cost
        if alone:
            requests.append(current)
            current, tokens = [], 0
    if current:
        requests.append(current)
    return requests


def take_batch(waiting: deque[tuple[str, str]], limits: BatchLimits) -> list[tuple[str, str]]:
    """Remove and return the next request's (hash, text) pairs, at least one."""
    costs = [estimate_tokens(text) for _, text in islice(waiting, limits.max_texts)]
    return [waiting.popleft() for _ in batches(costs, limits)[0]]


class AdaptiveBatchSize:
    """Limits of a request, whose number of texts adapts to the server's speed."""

    def __init__(self, limits: BatchLimits) -> None:
        self._usual = limits
        self._most = max(limits.max_texts, limits.quick_texts)
        self.limits = limits

    def __repr__(self) -> str:
        return f"<AdaptiveBatchSize {self.limits.max_texts} texts, {self._most} at most>"

    def record_reply(self, texts: int, took_s: float) -> None:
        """Adapt to the duration of a request."""
        now = self.limits.max_texts
        if took_s > SLOW_S:
            self._set(max(self._usual.max_texts, now // 2))
        elif took_s < QUICK_S and texts == now:
            self._set(min(self._most, 2 * now))

    def shrink_after(self, texts: int, error: ProviderFailedError) -> bool:
        """Stop growing if a failure may be due to the size; return whether it may."""
        if texts <= self._usual.max_texts or type(error) not in SIZE_ERRORS:
            return False
        self._most = self._usual.max_texts
        self._set(self._most)
        return True

    def _set(self, texts: int) -> None:
        if texts != self.limits.max_texts:
            self.limits = replace(self.limits, max_texts=texts)


class EmbeddingResult(Struct, frozen=True):
    """Unit vectors (dims,) of texts; None and a reason for refused ones."""

    vectors: list[FloatArray | None]
    refused: dict[int, str] = field(default_factory=dict)


async def embed_isolating_refusals(provider: EmbeddingProvider, texts: Sequence[str]) -> EmbeddingResult:
    """Return the vectors of texts, except of those the provider refuses.

    A refused batch is halved until each refused text is isolated: at most 2 · log2(n) calls each. A refused text is
    split recursively near the middle; its vector is the mean of the vectors of its parts, weighted by length. It has no
    vector if a part of the shortest length is refused.
    """
    return await _RefusalIsolation(provider, texts).run()


class _RefusalIsolation:
    """One run of `embed_isolating_refusals`."""

    def __init__(self, provider: EmbeddingProvider, texts: Sequence[str]) -> None:
        self._provider = provider
        self._texts = texts
        self._result = EmbeddingResult([None] * len(texts))
        self._is_working = False  # whether the provider accepted any text

    async def run(self) -> EmbeddingResult:
        """Bisect the batch until every text has a vector or a reason."""
        waiting = [range(len(self._texts))]
        while waiting:
            positions = waiting.pop()
            if not positions:
                continue
            try:
                rows = await self._provider.embed_batch([self._texts[position] for position in positions])
            except TextRefusedError as error:
                if len(positions) == 1:
                    await self._embed_parts(positions[0], error)
                else:
                    middle = len(positions) // 2
                    waiting += [positions[middle:], positions[:middle]]
                continue
            self._is_working = True
            for position, row in zip(positions, rows, strict=True):
                self._result.vectors[position] = row
        return self._result

    async def _embed_parts(self, position: int, refusal: TextRefusedError) -> None:
        """Embed a refused text in parts, or record why it has no vector."""
        await self._check_provider(refusal)
        text = self._texts[position]
        waiting = _halves(text)
        rows: list[FloatArray] = []
        weights: list[int] = []
        calls = 0
        while waiting:
            part = waiting.pop(0)
            calls += 1
            try:
                rows.append((await self._provider.embed_batch([part]))[0])
                weights.append(len(part))
            except TextRefusedError as error:
                halves = _halves(part)
                if not halves or calls + len(waiting) + len(halves) > MAX_SPLIT_CALLS:
                    self._refuse(position, error)
                    return
                waiting = halves + waiting
        try:
            if not rows:
                raise refusal
            mean = np.average(np.stack(rows), axis=0, weights=weights).astype(np.float32)
            self._result.vectors[position] = unit_vector(mean, "the mean of its parts")
        except ProviderFailedError as error:
            self._refuse(position, error)

    def _refuse(self, position: int, error: ProviderFailedError) -> None:
        self._result.refused[position] = error.message
        log.info(
            "embedding.text_refused",
            provider=self._provider.id,
            characters=len(self._texts[position]),
            error=error.message,
        )

    async def _check_provider(self, refusal: TextRefusedError) -> None:
        """Raise if the provider refuses even an ordinary text."""
        if self._is_working:
            return
        try:
            await self._provider.embed_batch([PROBE_TEXT])
        except TextRefusedError:
            raise ProviderFailedError(
                f"{self._provider.id} refuses every text: {refusal.message}",
                hint="check search.model and endpoint.baseUrl; keyword search still works",
            ) from None
        self._is_working = True


def _halves(text: str) -> list[str]:
    """Return a text split near the middle, at a space; empty for a short text."""
    if len(text) <= MIN_SPLIT_CHARACTERS:
        return []
    middle = len(text) // 2
    reach = middle // 2
    spaces = (middle + step * side for step in range(reach) for side in (-1, 1))
    cut = next((place for place in spaces if text[place].isspace()), middle)
    halves = [text[:cut], text[cut:]]
    return halves if all(half.strip() for half in halves) else [text[:middle], text[middle:]]
