"""Vectors of recent questions: agents ask the same thing more than once, and embedding is the slow part."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import trio
from numpy.typing import NDArray

from memd.embedding.provider import EmbeddingProvider
from memd_client.errors import ProviderFailedError

KEPT_QUESTIONS = 256
"""Questions remembered per agent: 256 vectors of 768 numbers are under 1 MB."""


class QueryVectors:
    """The question vectors of one agent, least recently used out first."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()

    def __repr__(self) -> str:
        return f"<QueryVectors {len(self._kept)} kept>"

    def find(self, query: str, provider: EmbeddingProvider) -> NDArray[np.float32] | None:
        """Return a question's vector where it is known; never waits."""
        key = (provider.space.id, query)
        known = self._kept.get(key)
        if known is not None:
            self._kept.move_to_end(key)
        return known

    async def vector_of(
        self, query: str, provider: EmbeddingProvider, timeout_s: float
    ) -> NDArray[np.float32]:
        """Return a question's unit vector, shape (dims,).

        Args:
            query: The question.
            provider: Who embeds.
            timeout_s: Longest wait.

        Raises:
            ProviderFailedError: No vector in time, or one that can't be used.
            MemdError: Whatever the provider raises.
        """
        known = self.find(query, provider)
        if known is not None:
            return known
        key = (provider.space.id, query)
        with trio.move_on_after(timeout_s):
            vector = await provider.embed_query(query)
            if not bool(np.isfinite(vector).all()) or not bool(vector.any()):
                raise ProviderFailedError(f"{provider.model} returned a question vector that can't be used")
            self._kept[key] = vector
            while len(self._kept) > KEPT_QUESTIONS:
                self._kept.popitem(last=False)
            return vector
        raise ProviderFailedError(
            f"{provider.model} did not embed the question within {timeout_s:.1f} s",
            hint="Keyword search answered; the model may be loading or busy.",
        )
