"""Vectors of recent questions: agents ask the same thing more than once, and embedding is the slow part.

A question is embedded once however many ask it, and to its end even where the one who asked stops waiting: a
provider that is loading its model would otherwise be interrupted by every question, and never ready.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

import numpy as np
import trio
from numpy.typing import NDArray

from memd.embedding.provider import EmbeddingProvider
from memd_client.errors import DeadlineExceededError, MemdError, ProviderFailedError, ProviderUnreachableError

KEPT_QUESTIONS = 256
"""Questions remembered per agent: 256 vectors of 768 numbers are under 1 MB."""

Key = tuple[str, str]


KEPT_SHARED = 32
"""Queries of all agents whose vectors another agent may take over: it asks the same within a moment or not at all."""


@dataclass(eq=False, slots=True)
class _Asked:
    """A question being embedded: since when, and what came of it."""

    since: float
    done: trio.Event = field(default_factory=trio.Event)
    vector: NDArray[np.float32] | None = None
    error: MemdError | None = None


class SharedQueries:
    """Embeds a query once for all agents that search for it at the same time with one model at one address.

    A vector says nothing of what an agent remembers. A failure isn't shared: another agent's key may be valid.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, ...], NDArray[np.float32]] = OrderedDict()
        self._under_way: dict[tuple[str, ...], trio.Event] = {}

    def __repr__(self) -> str:
        return f"<SharedQueries {len(self._kept)} kept, {len(self._under_way)} under way>"

    async def embed(self, query: str, provider: EmbeddingProvider) -> NDArray[np.float32]:
        """Return a query's vector, (dims,); from a provider that refuses calls, its error."""
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
    """Return what a provider makes of a query."""
    vector = await provider.embed_query(query)
    if not bool(np.isfinite(vector).all()) or not bool(vector.any()):
        raise ProviderFailedError(f"{provider.model} returned a question vector that can't be used")
    return vector


class QueryVectors:
    """The question vectors of one agent, least recently used out first."""

    def __init__(self, slow_s: float, shared: SharedQueries | None = None) -> None:
        self._slow_s = slow_s
        self._shared = shared or SharedQueries()
        self._kept: OrderedDict[Key, NDArray[np.float32]] = OrderedDict()
        self._asked: dict[Key, _Asked] = {}

    def __repr__(self) -> str:
        return f"<QueryVectors {len(self._kept)} kept, {len(self._asked)} asked>"

    def find(self, query: str, provider: EmbeddingProvider) -> NDArray[np.float32] | None:
        """Return a question's vector where it is known; never waits."""
        key = (provider.space.id, query)
        known = self._kept.get(key)
        if known is not None:
            self._kept.move_to_end(key)
        return known

    def forget(self, query: str | None = None) -> None:
        """Forget a question's vectors, or all: the model behind them may be another one now."""
        self._shared.forget(query)
        for key in [key for key in self._kept if query in (None, key[1])]:
            del self._kept[key]

    async def vector_of(
        self, query: str, provider: EmbeddingProvider, timeout_s: float, nursery: trio.Nursery
    ) -> NDArray[np.float32]:
        """Return a question's unit vector, shape (dims,)."""
        known = self.find(query, provider)
        if known is not None:
            return known
        key = (provider.space.id, query)
        asked = self._asked.get(key)
        if asked is None:
            self._refuse_where_slow(provider)
            asked = self._asked[key] = _Asked(trio.current_time())
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
        assert (
            asked.vector is not None
        )  # not looked for among those kept: another asker may have had it forgotten
        return asked.vector

    async def _embed(self, key: Key, provider: EmbeddingProvider, asked: _Asked) -> None:
        """Embed a question to its end."""
        try:
            asked.vector = self._kept[key] = await self._shared.embed(key[1], provider)
            while len(self._kept) > KEPT_QUESTIONS:
                self._kept.popitem(last=False)
        except MemdError as error:
            asked.error = error
        finally:
            del self._asked[key]
            asked.done.set()

    def _refuse_where_slow(self, provider: EmbeddingProvider) -> None:
        """Raise where a question of the same space is waiting for too long already."""
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
