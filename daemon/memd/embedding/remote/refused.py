"""Embedding around the texts a provider refuses: the culprit is found, split, and in the end left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import structlog

from memd.embedding.provider import EmbeddingProvider, FloatArray, unit_vector
from memd_client.errors import ProviderFailedError, TextRefusedError

log = structlog.get_logger(__name__)

LEAST_CHARACTERS: Final = 200
"""A piece this short isn't split any more: what is wrong with it isn't its length."""

MOST_PIECE_CALLS: Final = 64
"""Calls spent on one text: enough to bring 12,000 characters down to the shortest pieces."""

HARMLESS: Final = "A note."
"""A provider that refuses this refuses everything, and no text is to blame."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """What became of some texts: a unit vector (dims,) each, or None and a reason in `refused` by position."""

    vectors: list[FloatArray | None]
    refused: dict[int, str] = field(default_factory=dict)


async def embed_around(provider: EmbeddingProvider, texts: Sequence[str]) -> Embedded:
    """Return the vectors of some texts, without those the provider refuses.

    A list that is refused is halved until the culprits stand alone: at most 2 · log2(n) calls each. A culprit is
    cut in two near its middle, and its halves again where they are refused; its vector is the mean of the
    pieces', by their length. A text one piece of which is refused however short has no vector at all.
    """
    return await _Round(provider, texts).run()


class _Round:
    """One list of texts on its way."""

    def __init__(self, provider: EmbeddingProvider, texts: Sequence[str]) -> None:
        self._provider = provider
        self._texts = texts
        self._found = Embedded([None] * len(texts))
        self._is_sane = False  # whether the provider took anything at all

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
            self._is_sane = True
            for position, row in zip(positions, rows, strict=True):
                self._found.vectors[position] = row
        return self._found

    async def _embed_pieces(self, position: int, refusal: TextRefusedError) -> None:
        """Embed one refused text by its pieces, or note why it has no vector."""
        await self._be_sane(refusal)
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
            self._found.vectors[position] = unit_vector(mean, "the mean of its pieces")
        except ProviderFailedError as error:
            self._refuse(position, error)

    def _refuse(self, position: int, error: ProviderFailedError) -> None:
        self._found.refused[position] = error.message
        log.info(
            "embedding.text_refused",
            provider=self._provider.id,
            characters=len(self._texts[position]),
            error=error.message,
        )

    async def _be_sane(self, refusal: TextRefusedError) -> None:
        """Make sure that the provider takes texts at all, before one is blamed."""
        if self._is_sane:
            return
        try:
            await self._provider.embed_batch([HARMLESS])
        except TextRefusedError:
            raise ProviderFailedError(
                f"{self._provider.id} refuses every text: {refusal.message}",
                hint="Check search.model and remote.baseUrl; keyword search goes on.",
            ) from None
        self._is_sane = True


def _halves(text: str) -> list[str]:
    """Return a text cut in two near its middle, between words where there are some; nothing for a short one."""
    if len(text) <= LEAST_CHARACTERS:
        return []
    middle = len(text) // 2
    reach = middle // 2
    spaces = (middle + step * side for step in range(reach) for side in (-1, 1))
    cut = next((place for place in spaces if text[place].isspace()), middle)
    halves = [text[:cut], text[cut:]]
    return halves if all(half.strip() for half in halves) else [text[:middle], text[middle:]]
