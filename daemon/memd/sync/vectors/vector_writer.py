"""Vectors into the index, and the cache kept within its limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

import numpy as np
import structlog
from numpy.typing import NDArray

from memd.index.cache import SpaceKey, forget_space, renew_vectors, store_vectors, trim
from memd.index.connection import Database, IndexFile
from memd.index.missing import refuse_texts
from memd.system.clock import Clock, has_passed
from memd_client.errors import DimensionsChangedError

log = structlog.get_logger(__name__)

TRIM_EVERY_MS = 60_000
"""How often the cache is brought within its limits: the look walks all vectors."""


@dataclass(frozen=True, slots=True)
class CacheLimits:
    """How many vectors are kept, and how many bytes of those that are not in use; None without a limit."""

    entries: int | None
    unused_bytes: int | None


@dataclass(frozen=True, slots=True)
class FillEvents:
    """What a fill tells its owner.

    `stored` is called with (ids, matrix, ids of vectors that these replaced) after each commit, without anything
    awaited in between; `forgotten` after the space's vectors were all deleted; `whole` is awaited whenever nothing is
    missing.
    """

    stored: Callable[[list[int], NDArray[np.float32], list[int]], Awaitable[None]]
    forgotten: Callable[[], None]
    whole: Callable[[], Awaitable[None]]


class VectorWriter:
    """Writes the vectors of one space of one agent."""

    def __init__(
        self,
        index: IndexFile,
        space: SpaceKey,
        limits: CacheLimits,
        live_spaces: Callable[[], Collection[str]],
        clock: Clock,
        events: FillEvents,
    ) -> None:
        self._index = index
        self._space = space
        self._limits = limits
        self._live_spaces = live_spaces
        self._clock = clock
        self._events = events
        self._trimmed_ms = 0

    def __repr__(self) -> str:
        return f"<VectorWriter of {self._space.provider}/{self._space.model}>"

    async def store(
        self, hashes: list[str], matrix: NDArray[np.float32], refused: dict[str, str], *, renewing: bool
    ) -> None:
        """Store vectors and refusals in one transaction, and tell whoever follows."""
        space, now_ms = self._space, self._clock()

        def write(db: Database) -> tuple[list[int], list[int]]:
            if refused:
                refuse_texts(db, space.id, refused, now_ms)
            if not hashes:
                return [], []
            if renewing:
                return renew_vectors(db, space, hashes, matrix, now_ms)
            return store_vectors(db, space, hashes, matrix, now_ms), []

        try:
            ids, gone = await self._index.write(write)
        except DimensionsChangedError:
            if not renewing:
                raise
            # The user asked for all vectors anew and the model has another size now: the old ones can't stay.
            await self._index.write(lambda db: forget_space(db, space.id))
            self._events.forgotten()
            ids, gone = await self._index.write(write)
        await self._events.stored(ids, matrix, gone)
        if refused:
            log.warning("embedding.texts_refused", provider=space.provider, texts=len(refused))

    async def trim(self) -> None:
        """Keep the cache within its limits, once in a while."""
        now_ms = self._clock()
        if not has_passed(TRIM_EVERY_MS, self._trimmed_ms, now_ms):
            return
        self._trimmed_ms = now_ms
        limits, spaces = self._limits, {self._space.id, *self._live_spaces()}
        await self._index.write(
            lambda db: trim(db, limits.entries, max_unused_bytes=limits.unused_bytes, spaces=spaces)
        )
