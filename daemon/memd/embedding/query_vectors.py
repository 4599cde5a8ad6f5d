"""A cache of query vectors: embedding is the slowest part of a search.

A query is embedded once for all concurrent searches, and not cancelled if they time out: otherwise a provider that
loads its model could be interrupted by every query and never become ready.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import numpy as np
import trio
from numpy.typing import NDArray

from memd.embedding.provider import EmbeddingProvider
from memd.system.lru import LruCache
from memd_client.errors import DeadlineExceededError, MemdError, ProviderFailedError, ProviderUnreachableError

MAX_CACHED_QUERIES = 256
"""Queries cached per agent: 256 vectors of 768 numbers take less than 1 MB."""

Key = tuple[str, ...]
Call = Callable[[], Awaitable[NDArray[np.float32]]]

MAX_SHARED_QUERIES = 32
"""Queries cached for all agents: if another agent repeats a query, it does so within seconds."""


@dataclass(eq=False, slots=True)
class _PendingCall:
    """A call of a provider, and its result."""

    since: float
    done: trio.Event = field(default_factory=trio.Event)
    result: NDArray[np.float32] | None = None
    error: MemdError | None = None


class SharedQueryVectors:
    """Embeds a query once for all agents that search for it concurrently.

    The vector of a query reveals no agent's memory. Failures aren't shared: another agent's key may be valid. But a
    provider that left a request waiting is `silent` for all agents until it answers.
    """

    def __init__(self) -> None:
        self.silent: set[Key] = set()
        self._cached: LruCache[tuple[str, ...], NDArray[np.float32]] = LruCache(MAX_SHARED_QUERIES)
        self._under_way: dict[tuple[str, ...], trio.Event] = {}

    def __repr__(self) -> str:
        return f"<SharedQueryVectors {len(self._cached)} kept, {len(self._under_way)} under way>"

    async def embed(self, query: str, provider: EmbeddingProvider) -> NDArray[np.float32]:
        """Return a query's vector (dims,), or raise the provider's error."""
        if provider.retry_in_s() > 0:
            return await _checked_vector(query, provider)
        key = (query, *_address(provider))
        if (under_way := self._under_way.get(key)) is not None:
            await under_way.wait()
        if (known := self._cached.get(key)) is not None:
            return known
        if key in self._under_way:  # the first call failed, and another agent retries already
            return await _checked_vector(query, provider)
        done = self._under_way[key] = trio.Event()
        try:
            vector = await _checked_vector(query, provider)
            self._cached.put(key, vector)
        finally:
            del self._under_way[key]
            done.set()
        return vector

    def forget(self, query: str | None = None) -> None:
        """Remove the vectors of a query, or of all queries."""
        for key, _ in self._cached.items():
            if query in (None, key[0]):
                self._cached.take(key)


def _address(provider: EmbeddingProvider) -> Key:
    return provider.space.id, provider.recipe.get("base_url", "")


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
        self._cached: LruCache[Key, NDArray[np.float32]] = LruCache(MAX_CACHED_QUERIES)
        self._pending: dict[Key, _PendingCall] = {}

    def __repr__(self) -> str:
        return f"<QueryVectorCache {len(self._cached)} kept, {len(self._pending)} pending>"

    def find(self, query: str, provider: EmbeddingProvider) -> NDArray[np.float32] | None:
        """Return a query's vector if it is cached."""
        return self._cached.get((provider.space.id, query))

    def forget(self, query: str | None = None) -> None:
        """Remove the vectors of a query, or of all queries if the model changed."""
        self._shared.forget(query)
        for key, _ in self._cached.items():
            if query in (None, key[1]):
                self._cached.take(key)

    async def vector_of(
        self, query: str, provider: EmbeddingProvider, timeout_s: float, nursery: trio.Nursery
    ) -> NDArray[np.float32]:
        """Return a query's unit vector (dims,), waiting `timeout_s` at most."""
        known = self.find(query, provider)
        if known is not None:
            return known
        key = (provider.space.id, query)

        async def embed() -> NDArray[np.float32]:
            vector = await self._shared.embed(query, provider)
            self._cached.put(key, vector)
            return vector

        return await self.wait_for((key[0], "query", query), provider, embed, timeout_s, nursery)

    async def wait_for(
        self, key: Key, provider: EmbeddingProvider, call: Call, timeout_s: float, nursery: trio.Nursery
    ) -> NDArray[np.float32]:
        """Return the result of a call for the texts `key[2:]`, waiting `timeout_s` at most; it continues meanwhile.

        No request waits for a silent provider, but one call shows when it answers again. Without a timeout nothing else
        is limited, and cancellation ends the call.
        """
        address, slow_error = _address(provider), self._slow_error(provider)
        is_silent = address in self._shared.silent and provider.retry_in_s() <= 0
        if timeout_s == math.inf and not is_silent:
            return await call()
        pending = self._pending.get(key)
        if pending is None:
            if is_silent and any(other[0] == key[0] for other in self._pending):
                raise slow_error
            pending = self._pending[key] = _PendingCall(trio.current_time())
            nursery.start_soon(self._run, key, provider, call, pending)
        left_s = 0.0 if is_silent else max(0.0, pending.since + self._slow_s - trio.current_time())
        with trio.move_on_after(min(timeout_s, left_s)):
            await pending.done.wait()
        if not pending.done.is_set():
            if timeout_s < left_s:
                raise DeadlineExceededError(
                    f"the query was not embedded within {timeout_s:.2g} s",
                    hint="keyword search answered; allow more time for vector search",
                )
            if len(key) == 3:  # many texts may take long
                self._shared.silent.add(address)
            raise slow_error
        if pending.error is not None:
            raise MemdError.from_wire(pending.error.to_wire())
        assert pending.result is not None  # not read from `_cached`: `forget` may have removed it
        return pending.result

    async def _run(self, key: Key, provider: EmbeddingProvider, call: Call, pending: _PendingCall) -> None:
        """Make a call, publish its result to all that wait, and note if the provider answers."""
        is_admitted = provider.retry_in_s() <= 0
        try:
            pending.result = await call()
        except MemdError as error:
            pending.error = error
        finally:
            del self._pending[key]
            pending.done.set()
        is_quick = trio.current_time() - pending.since < self._slow_s
        if is_admitted and (is_quick or pending.error is None):
            self._shared.silent.discard(_address(provider))

    def _slow_error(self, provider: EmbeddingProvider) -> ProviderUnreachableError:
        return ProviderUnreachableError(
            f"{provider.id}/{provider.model} did not embed a query within {self._slow_s:g} s",
            hint="keyword search answered; the model may be loading or busy; embedding continues in the background",
        )
