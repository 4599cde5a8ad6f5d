"""The vector space that answers an agent's queries."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import trio
from numpy.typing import NDArray

from memd.embedding.query_vectors import QueryVectorCache, SharedQueryVectors
from memd.index import chunks_vec
from memd.index.connection import Database, IndexFile
from memd.index.meta import note_space
from memd.index.vectors.cache import SpaceFacts, VectorCache, activate_space, load_facts
from memd.system.clock import Clock
from memd.system.events import EVENTS
from memd.system.log import log
from memd.vector_search.active_provider import ActiveProvider
from memd_client.errors import DeadlineExceededError, DimensionsChangedError, MemdError, ShuttingDownError


class AnsweringSpace:
    """The provider whose space answers, and cached query vectors.

    Args:
        agent_id: The agent, for the log.
        index: Its open index.
        cache: The agent's vectors in RAM.
        query_timeout_s: How long a search waits for its query's vector.
        clock: Wall time.
        queries: Query vectors shared with other agents.

    Attributes:
        active: The provider whose vectors answer; None without a provider.
        queries: The calls of its providers that requests wait for, and cached query vectors.
        unanswered: Texts added since this provider answers that lack a vector in its space.
    """

    def __init__(
        self,
        agent_id: str,
        index: IndexFile,
        cache: VectorCache,
        *,
        query_timeout_s: float,
        clock: Clock,
        queries: SharedQueryVectors | None = None,
    ) -> None:
        self._agent_id = agent_id
        self._index = index
        self._cache = cache
        self._clock = clock
        self.queries = QueryVectorCache(query_timeout_s, queries)
        self.active: ActiveProvider | None = None
        self.unanswered = 0

    def __repr__(self) -> str:
        return f"<AnsweringSpace of {self._agent_id}: {self.active!r}>"

    async def switch_to(self, active: ActiveProvider, keep: Collection[ActiveProvider | None]) -> None:
        """Answer from a provider's space and bring `chunks_vec` up to date with it."""
        before, now_ms = self.active, self._clock()

        def switch(db: Database) -> tuple[bool, SpaceFacts]:
            note_space(db, active.space.id, active.provider.recipe, now_ms)
            return activate_space(db, active.space.id), load_facts(db, active.space.id)

        refill, facts = await self._index.write(switch)
        # No await between the commit and this call, so the cache misses no published file.
        self._cache.use_space(facts)
        self.active, self.unanswered = active, 0
        if before is not None and before is not active:
            log.info("embedding.space_switched", agent=self._agent_id, to=active.space.model)
            EVENTS.publish("provider", self._agent_id, state="switched", model=active.space.model)
            if before not in keep:
                await before.close()
        while refill:
            refill = await self._index.write(lambda db: chunks_vec.refill(db) > 0)

    async def on_stored(
        self, active: ActiveProvider, ids: list[int], matrix: NDArray[np.float32], gone: list[int]
    ) -> None:
        """Add new vectors to the cache; the first vectors of a space make it answer."""
        if self.active is not active:
            return
        first = self._cache.count == 0 and bool(ids)
        self._cache.replace(gone, ids, matrix)
        if first:
            await self.switch_to(active, (active,))

    async def vector_of(
        self, active: ActiveProvider, query: str, timeout_s: float, nursery: trio.Nursery
    ) -> NDArray[np.float32]:
        """Return a query's unit vector (dims,) in a provider's space; records the provider's health."""
        try:
            vector = await self.queries.vector_of(query, active.provider, timeout_s, nursery)
        except (DeadlineExceededError, ShuttingDownError):
            raise  # neither says anything about the provider's health
        except MemdError as error:
            active.health.failed(error)
            raise
        if active is self.active and self._cache.dims not in (0, vector.shape[0]):
            self.queries.forget(query)
            changed = DimensionsChangedError(
                f"{active.space.provider} returned {vector.shape[0]} dimensions for {active.space.model}, the index has"
                f" {self._cache.dims}"
            )
            active.health.failed(changed)
            raise changed
        active.health.worked()
        return vector
