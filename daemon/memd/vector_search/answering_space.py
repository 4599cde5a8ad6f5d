"""The vectors that answer an agent's questions, whoever made them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import structlog
import trio
from numpy.typing import NDArray

from memd.embedding.query_vectors import QueryVectors, SharedQueries
from memd.index import chunks_vec
from memd.index.connection import Database, IndexFile
from memd.index.meta import note_space
from memd.index.vectors.cache import SpaceFacts, VectorCache, activate_space, load_facts
from memd.system.clock import Clock
from memd.system.events import EVENTS
from memd.vector_search.active_provider import ActiveProvider
from memd_client.errors import DeadlineExceededError, DimensionsChangedError, MemdError, ShuttingDownError

log = structlog.get_logger(__name__)


class AnsweringSpace:
    """Which side answers, and its questions' vectors.

    Args:
        agent_id: The agent, for the log.
        index: Its open index.
        warm: Its vectors, ready to be searched.
        query_timeout_s: How long a search waits for its question's vector.
        clock: Wall time.
        queries: Queries embedded for other agents, which need not be embedded again.

    Attributes:
        side: Whose vectors answer; None where there is no provider.
        unanswered: Texts that came since this side answers and have no vector in its space.
    """

    def __init__(
        self,
        agent_id: str,
        index: IndexFile,
        warm: VectorCache,
        *,
        query_timeout_s: float,
        clock: Clock,
        queries: SharedQueries | None = None,
    ) -> None:
        self._agent_id = agent_id
        self._index = index
        self._warm = warm
        self._clock = clock
        self._queries = QueryVectors(query_timeout_s, queries)
        self.side: ActiveProvider | None = None
        self.unanswered = 0

    def __repr__(self) -> str:
        return f"<AnsweringSpace of {self._agent_id}: {self.side!r}>"

    async def switch_to(self, side: ActiveProvider, keep: Collection[ActiveProvider | None]) -> None:
        """Let a side's space answer, and bring `chunks_vec` up to it."""
        before, now_ms = self.side, self._clock()

        def switch(db: Database) -> tuple[bool, SpaceFacts]:
            note_space(db, side.space.id, side.provider.recipe, now_ms)
            return activate_space(db, side.space.id), load_facts(db, side.space.id)

        refill, facts = await self._index.write(switch)
        # Nothing is awaited between the commit and this: what is published next finds the warm vectors follow it.
        self._warm.use_space(facts)
        self.side, self.unanswered = side, 0
        if before is not None and before is not side:
            log.info("embedding.space_switched", agent=self._agent_id, to=side.space.model)
            EVENTS.publish("provider", self._agent_id, state="switched", model=side.space.model)
            if before not in keep:
                await before.close()
        while refill:
            refill = await self._index.write(lambda db: chunks_vec.refill(db) > 0)

    async def on_stored(
        self, side: ActiveProvider, ids: list[int], matrix: NDArray[np.float32], gone: list[int]
    ) -> None:
        """Take freshly stored vectors into the warm ones; a space's first ones make it answer."""
        if self.side is not side:
            return
        first = self._warm.count == 0 and bool(ids)
        self._warm.replace(gone, ids, matrix)
        if first:
            await self.switch_to(side, (side,))

    def find_vector(self, side: ActiveProvider, query: str) -> NDArray[np.float32] | None:
        """Return a question's vector (dims,) in a side's space where it is known; never waits."""
        return self._queries.find(query, side.provider)

    def forget_queries(self) -> None:
        """Have every question embedded anew: the model behind the vectors may be another one now."""
        self._queries.forget()

    async def vector_of(
        self, side: ActiveProvider, query: str, timeout_s: float, nursery: trio.Nursery
    ) -> NDArray[np.float32]:
        """Return a question's unit vector (dims,) in a side's space; its health takes note of what comes of it."""
        try:
            vector = await self._queries.vector_of(query, side.provider, timeout_s, nursery)
        except (DeadlineExceededError, ShuttingDownError):
            raise  # neither the caller's haste nor the end of the provider says how it does
        except MemdError as error:
            side.health.failed(error)
            raise
        if side is self.side and self._warm.dims not in (0, vector.shape[0]):
            self._queries.forget(query)
            changed = DimensionsChangedError(
                f"{side.space.provider} gave a vector of {vector.shape[0]} dimensions for {side.space.model}, the index"
                f" holds {self._warm.dims}"
            )
            side.health.failed(changed)
            raise changed
        side.health.worked()
        return vector
