"""Vectors of recent queries: agents repeat queries, and embedding is the slow part.

A query is embedded once for all concurrent searches, and to its end even if they stop waiting: a provider that is
loading its model would otherwise be interrupted by every query, and never be ready.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
import trio
from numpy.typing import NDArray

from memd.embedding.provider import EmbeddingProvider
from memd_client.errors import DeadlineExceededError, MemdError, ProviderFailedError, ProviderUnreachableError

MAX_KEPT_QUERIES = 256
"""Queries remembered per agent: 256 vectors of 768 numbers are under 1 MB."""

Key = tuple[str, str]

KEPT_SHARED = 32
"""Queries remembered for all agents: another agent repeats a query within a moment or not at all."""


@dataclass(eq=False, slots=True)
class _PendingQuery:
    """A query being embedded: since when, and its result."""

    since: float
    done: trio.Event = field(default_factory=trio.Event)
    vector: NDArray[np.float32] | None = None
    error: MemdError | None = None


class SharedQueries:
    """Embeds a query once for all agents that search for it at the same time with one model at one address.

    A query's vector reveals no agent's memory. A failure isn't shared: another agent's key may be valid.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, ...], NDArray[np.float32]] = OrderedDict()
        self._under_way: dict[tuple[str, ...], trio.Event] = {}

    def __repr__(self) -> str:
        return f"<SharedQueries {len(self._kept)} kept, {len(self._under_way)} under way>"

    async def embed(self, query: str, provider: EmbeddingProvider) -> NDArray[np.float32]:
        """Return a query's vector (dims,); raises the provider's error."""
        if provider.retry_in_s() > 0:
            return await _usable_vector(query, provider)
        key = (query, provider.space.id, provider.recipe.get("base_url", ""))
        if (under_way := self._under_way.get(key)) is not None:
            await under_way.wait()
        if (known := self._kept.get(key)) is not None:
            return known
        if key in self._under_way:  # the first agent failed, and another one is trying already
            return await _usable_vector(query, provider)
        done = self._under_way[key] = trio.Event()
        try:
            vector = self._kept[key] = await _usable_vector(query, provider)
        finally:
            del self._under_way[key]
            done.set()
        while len(self._kept) > KEPT_SHARED:
            self._kept.popitem(last=False)
        return vector

    def forget(self, query: str | None = None) -> None:
        """Forget a query's vectors, or all."""
        for key in [key for key in self._kept if query in (None, key[0])]:
            del self._kept[key]


async def _usable_vector(query: str, provider: EmbeddingProvider) -> NDArray[np.float32]:
    """Return the vector of a query, checked."""
    vector = await provider.embed_query(query)
    if not bool(np.isfinite(vector).all()) or not bool(vector.any()):
        raise ProviderFailedError(f"{provider.model} returned a question vector that can't be used")
    return vector


class QueryVectors:
    """The query vectors of one agent; the least recently used is evicted first."""

    def __init__(self, slow_s: float, shared: SharedQueries | None = None) -> None:
        self._slow_s = slow_s
        self._shared = shared or SharedQueries()
        self._kept: OrderedDict[Key, NDArray[np.float32]] = OrderedDict()
        self._asked: dict[Key, _PendingQuery] = {}

    def __repr__(self) -> str:
        return f"<QueryVectors {len(self._kept)} kept, {len(self._asked)} asked>"

    def find(self, query: str, provider: EmbeddingProvider) -> NDArray[np.float32] | None:
        """Return a query's vector if it is known; never waits."""
        key = (provider.space.id, query)
        known = self._kept.get(key)
        if known is not None:
            self._kept.move_to_end(key)
        return known

    def forget(self, query: str | None = None) -> None:
        """Forget a query's vectors, or all: the provider may have another model now."""
        self._shared.forget(query)
        for key in [key for key in self._kept if query in (None, key[1])]:
            del self._kept[key]

    async def vector_of(
        self, query: str, provider: EmbeddingProvider, timeout_s: float, nursery: trio.Nursery
    ) -> NDArray[np.float32]:
        """Return a query's unit vector (dims,)."""
        known = self.find(query, provider)
        if known is not None:
            return known
        key = (provider.space.id, query)
        asked = self._asked.get(key)
        if asked is None:
            self._refuse_if_slow(provider)
            asked = self._asked[key] = _PendingQuery(trio.current_time())
            nursery.start_soon(self._embed, key, provider, asked)
        with trio.move_on_after(min(timeout_s, self._slow_s)):
            await asked.done.wait()
        if not asked.done.is_set():
            if timeout_s < self._slow_s:
                raise DeadlineExceededError(
                    f"the question's vector was not ready within {timeout_s:.2g} s",
                    hint="Keyword search answered; allow more time for search by meaning.",
                )
            raise self._too_slow(provider)
        if asked.error is not None:
            raise MemdError.from_wire(asked.error.to_wire())
        assert asked.vector is not None  # not taken from `_kept`: it may have been forgotten meanwhile
        return asked.vector

    async def _embed(self, key: Key, provider: EmbeddingProvider, asked: _PendingQuery) -> None:
        """Embed a query to its end."""
        try:
            asked.vector = self._kept[key] = await self._shared.embed(key[1], provider)
            while len(self._kept) > MAX_KEPT_QUERIES:
                self._kept.popitem(last=False)
        except MemdError as error:
            asked.error = error
        finally:
            del self._asked[key]
            asked.done.set()

    def _refuse_if_slow(self, provider: EmbeddingProvider) -> None:
        """Raise if a query of the same space is waiting for too long already."""
        oldest = min(
            (asked.since for (space, _), asked in self._asked.items() if space == provider.space.id),
            default=trio.current_time(),
        )
        if trio.current_time() - oldest >= self._slow_s:
            raise self._too_slow(provider)

    def _too_slow(self, provider: EmbeddingProvider) -> ProviderUnreachableError:
        return ProviderUnreachableError(
            f"{provider.id}/{provider.model} did not embed a question within {self._slow_s:g} s",
            hint="Keyword search answered; the model may be loading or busy, and is waited for in the background.",
        )
