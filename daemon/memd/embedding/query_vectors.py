"""A cache of query vectors: embedding is the slowest part of a search.

A query is embedded once for all concurrent searches, and not cancelled if they time out: otherwise a provider that
loads its model could be interrupted by every query and never become ready.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
import trio
from numpy.typing import NDArray

from memd.embedding.provider import EmbeddingProvider
from memd_client.errors import DeadlineExceededError, MemdError, ProviderFailedError, ProviderUnreachableError

MAX_CACHED_QUERIES = 256
"""Queries cached per agent: 256 vectors of 768 numbers take less than 1 MB."""

Key = tuple[str, str]

MAX_SHARED_QUERIES = 32
"""Queries cached for all agents: if another agent repeats a query, it does so within seconds."""


@dataclass(eq=False, slots=True)
class _PendingQuery:
    """A query that is being embedded, and its result."""

    since: float
    done: trio.Event = field(default_factory=trio.Event)
    vector: NDArray[np.float32] | None = None
    error: MemdError | None = None


class SharedQueryVectors:
    """Embeds a query once for all agents that search for it concurrently.

    The vector of a query reveals no agent's memory. Failures aren't shared: another agent's key may be valid.
    """

    def __init__(self) -> None:
        self._cached: OrderedDict[tuple[str, ...], NDArray[np.float32]] = OrderedDict()
        self._under_way: dict[tuple[str, ...], trio.Event] = {}

    def __repr__(self) -> str:
        return f"<SharedQueryVectors {len(self._cached)} kept, {len(self._under_way)} under way>"

    async def embed(self, query: str, provider: EmbeddingProvider) -> NDArray[np.float32]:
        """Return a query's vector (dims,), or raise the provider's error."""
        if provider.retry_in_s() > 0:
            return await _checked_vector(query, provider)
        key = (query, provider.space.id, provider.recipe.get("base_url", ""))
        if (under_way := self._under_way.get(key)) is not None:
            await under_way.wait()
        if (known := self._cached.get(key)) is not None:
            return known
        if key in self._under_way:  # the first call failed, and another agent retries already
            return await _checked_vector(query, provider)
        done = self._under_way[key] = trio.Event()
        try:
            vector = self._cached[key] = await _checked_vector(query, provider)
        finally:
            del self._under_way[key]
            done.set()
        while len(self._cached) > MAX_SHARED_QUERIES:
            self._cached.popitem(last=False)
        return vector

    def forget(self, query: str | None = None) -> None:
        """Remove the vectors of a query, or of all queries."""
        for key in [key for key in self._cached if query in (None, key[0])]:
            del self._cached[key]


async def _checked_vector(query: str, provider: EmbeddingProvider) -> NDArray[np.float32]:
    """Return a query's vector; raise if it is zero or not finite."""
    vector = await provider.embed_query(query)
    if not bool(np.isfinite(vector).all()) or not bool(vector.any()):
        raise ProviderFailedError(f"{provider.model} returned a query vector that is zero or not finite")
    return vector


class QueryVectorCache:
    """The query vectors of one agent; the least recently used is evicted first."""

    def __init__(self, slow_s: float, shared: SharedQueryVectors | None = None) -> None:
        self._slow_s = slow_s
        self._shared = shared or SharedQueryVectors()
        self._cached: OrderedDict[Key, NDArray[np.float32]] = OrderedDict()
        self._pending: dict[Key, _PendingQuery] = {}

    def __repr__(self) -> str:
        return f"<QueryVectorCache {len(self._cached)} kept, {len(self._pending)} pending>"

    def find(self, query: str, provider: EmbeddingProvider) -> NDArray[np.float32] | None:
        """Return a query's vector if it is cached."""
        key = (provider.space.id, query)
        known = self._cached.get(key)
        if known is not None:
            self._cached.move_to_end(key)
        return known

    def forget(self, query: str | None = None) -> None:
        """Remove the vectors of a query, or of all queries if the model changed."""
        self._shared.forget(query)
        for key in [key for key in self._cached if query in (None, key[1])]:
            del self._cached[key]

    async def vector_of(
        self, query: str, provider: EmbeddingProvider, timeout_s: float, nursery: trio.Nursery
    ) -> NDArray[np.float32]:
        """Return a query's unit vector (dims,), waiting `timeout_s` at most."""
        known = self.find(query, provider)
        if known is not None:
            return known
        key = (provider.space.id, query)
        pending = self._pending.get(key)
        if pending is None:
            self._raise_if_slow(provider)
            pending = self._pending[key] = _PendingQuery(trio.current_time())
            nursery.start_soon(self._embed, key, provider, pending)
        with trio.move_on_after(min(timeout_s, self._slow_s)):
            await pending.done.wait()
        if not pending.done.is_set():
            if timeout_s < self._slow_s:
                raise DeadlineExceededError(
                    f"the query was not embedded within {timeout_s:.2g} s",
                    hint="keyword search answered; allow more time for vector search",
                )
            raise self._slow_error(provider)
        if pending.error is not None:
            raise MemdError.from_wire(pending.error.to_wire())
        assert pending.vector is not None  # not read from `_cached`: `forget` may have removed it
        return pending.vector

    async def _embed(self, key: Key, provider: EmbeddingProvider, pending: _PendingQuery) -> None:
        """Embed a query and publish its result to all that wait."""
        try:
            pending.vector = self._cached[key] = await self._shared.embed(key[1], provider)
            while len(self._cached) > MAX_CACHED_QUERIES:
                self._cached.popitem(last=False)
        except MemdError as error:
            pending.error = error
        finally:
            del self._pending[key]
            pending.done.set()

    def _raise_if_slow(self, provider: EmbeddingProvider) -> None:
        """Raise if a query of the same vector space is already taking too long."""
        oldest = min(
            (pending.since for (space, _), pending in self._pending.items() if space == provider.space.id),
            default=trio.current_time(),
        )
        if trio.current_time() - oldest >= self._slow_s:
            raise self._slow_error(provider)

    def _slow_error(self, provider: EmbeddingProvider) -> ProviderUnreachableError:
        return ProviderUnreachableError(
            f"{provider.id}/{provider.model} did not embed a query within {self._slow_s:g} s",
            hint="keyword search answered; the model may be loading or busy; embedding continues in the background",
        )
