"""Writes vectors to the index, adopts those of OpenClaw, and keeps the cache within its limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import structlog
import trio
from numpy.typing import NDArray

from memd.index.adopt import CachedVector, import_cache, read_openclaw_agent_cache
from memd.index.cache import (
    SpaceKey,
    find_dims,
    forget_space,
    refuse_texts,
    replace_vectors,
    store_vectors,
    trim,
)
from memd.index.connection import Database, IndexFile
from memd.index.meta import set_adopted_chunking_scheme
from memd.settings.schema import Chunking
from memd.system.clock import Clock, has_passed
from memd_client.errors import DimensionsChangedError

log = structlog.get_logger(__name__)


TRIM_EVERY_MS = 60_000
"""Interval at which the cache is trimmed, because that scans all vectors."""


@dataclass(frozen=True, slots=True)
class CacheLimits:
    """Most vectors in the cache, and most bytes of unused ones; None for no limit."""

    entries: int | None
    unused_bytes: int | None


@dataclass(frozen=True, slots=True)
class FillEvents:
    """Callbacks of a fill.

    `stored` is called with (ids, matrix, ids of replaced vectors) directly after each commit; `forgotten` after all
    vectors of the space were deleted; `whole` whenever nothing is missing.
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

    async def store(
        self, hashes: list[str], matrix: NDArray[np.float32], refused: dict[str, str], *, renewing: bool
    ) -> None:
        """Store vectors and refusals in one transaction, and call `events.stored`."""
        space, now_ms = self._space, self._clock()

        def write(db: Database) -> tuple[list[int], list[int]]:
            if refused:
                refuse_texts(db, space.id, refused, now_ms)
            if not hashes:
                return [], []
            if renewing:
                return replace_vectors(db, space, hashes, matrix, now_ms)
            return store_vectors(db, space, hashes, matrix, now_ms), []

        try:
            ids, gone = await self._index.write(write)
        except DimensionsChangedError:
            if not renewing:
                raise
            # During a renewal the model may have new dimensions: then the old vectors can't be kept.
            await self._index.write(lambda db: forget_space(db, space.id))
            self._events.forgotten()
            ids, gone = await self._index.write(write)
        await self._events.stored(ids, matrix, gone)
        if refused:
            log.warning("embedding.texts_refused", provider=space.provider, texts=len(refused))

    async def trim(self) -> None:
        """Trim the cache to its limits, at most once per `TRIM_EVERY_MS`."""
        now_ms = self._clock()
        if not has_passed(TRIM_EVERY_MS, self._trimmed_ms, now_ms):
            return
        self._trimmed_ms = now_ms
        limits, spaces = self._limits, {self._space.id, *self._live_spaces()}
        await self._index.write(
            lambda db: trim(db, limits.entries, max_unused_bytes=limits.unused_bytes, spaces=spaces)
        )


async def inherit_vectors(
    index: IndexFile, database: Path, space: SpaceKey, models: Iterable[str], chunking: Chunking, clock: Clock
) -> list[str]:
    """Adopt the embedding cache in OpenClaw's own database if the space has no vectors; return problems."""
    if await index.read(lambda db: find_dims(db, space.id)) is not None:
        return []
    problems: list[str] = []

    def load() -> list[CachedVector]:
        return [
            row
            for model in dict.fromkeys(models)
            for row in read_openclaw_agent_cache(database, model, problems)
            if row[0] == space.provider
        ]

    rows = await trio.to_thread.run_sync(load, limiter=trio.CapacityLimiter(1))
    if rows:

        def take(db: Database) -> int:
            set_adopted_chunking_scheme(db, chunking.tokens, chunking.overlap)
            return import_cache(db, rows, lambda provider, model: space.id, clock())

        taken = await index.write(take)
        log.info("sync.vectors_inherited", database=str(database), vectors=taken)
    return list(dict.fromkeys(problems))
