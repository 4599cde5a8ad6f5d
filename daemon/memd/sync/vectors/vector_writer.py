"""Writes vectors to the index, adopts those of OpenClaw, and keeps the cache within its limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import structlog
import trio
from numpy.typing import NDArray

from memd.index.adopt import StoredVectors, import_vectors, load_stored_vectors
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
from memd.settings.schema import Chunking
from memd.system.clock import Clock, has_passed
from memd.system.sqlite import ForeignDatabaseError
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
    index: IndexFile,
    files: Collection[Path],
    space: SpaceKey,
    models: Collection[str],
    chunking: Chunking,
    clock: Clock,
) -> list[str]:
    """Adopt the vectors in the first file of OpenClaw that has any, if the space has none; return problems."""
    if await index.read(lambda db: find_dims(db, space.id)) is not None:
        return []
    vectors: StoredVectors = {}
    problems: list[str] = []
    for path in files:
        try:
            vectors = await trio.to_thread.run_sync(load_stored_vectors, path, space.provider, models)
        except ForeignDatabaseError as error:
            problems.append(f"{path} can't be read: {error.reason}; its vectors are not reused")
        if vectors:
            taken = await index.write(partial(import_vectors, space, vectors, chunking, clock()))
            log.info("sync.vectors_inherited", database=str(path), vectors=taken)
            break
    return problems
