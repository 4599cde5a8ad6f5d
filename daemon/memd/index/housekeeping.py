"""Background tasks of an open index: checkpoints, releasing caches and pages, and write recovery."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import structlog
import trio

from memd.index.care.upkeep import FREE_PAGES_AT_ONCE, checkpoint, file_size, wal_path
from memd.index.connection import Database, IndexFile
from memd.index.database import get_int
from memd.index.meta import set_meta
from memd.index.vectors.cache import VectorCache
from memd_client.errors import MemdError

log = structlog.get_logger(__name__)

REST_S, LOG_KEPT_BYTES = 1.0, 1_048_576
"""After such a pause in writes, a longer log is checkpointed, because no request waits for the disk then."""

FIRST_TRY_S, LAST_TRY_S = 1.0, 30.0
"""First and longest pause between write attempts; they double. An attempt writes one small row."""

TRIED = "writing_tried"

IDLE_S = 20.0
"""Idle time after which an index releases its page caches, which are filled again within a millisecond."""

LOCATIONS_S = 0.5
"""Delay between a search that lacked chunk locations and reading them, so that a burst of searches runs first."""


async def keep_log_short(index: IndexFile) -> None:
    """Run a checkpoint of a long log whenever writes pause; runs until cancelled."""
    while True:
        await index.written.wait_for_pause(REST_S)
        if file_size(wal_path(index.path)) > LOG_KEPT_BYTES:
            with suppress(MemdError):  # the next write raises it too, and the next pause retries
                await index.use_writer(partial(checkpoint, wait=False))


async def release_caches(index: IndexFile) -> None:
    """Release the page caches of an index whenever it is idle; runs until cancelled."""
    while True:
        await index.used.wait_for_pause(IDLE_S)
        with suppress(MemdError):
            await index.release_caches()
            index.used.clear()  # this write doesn't count as use


async def keep_locations(index: IndexFile, vectors: VectorCache) -> None:
    """Read the locations of all chunks shortly after a search that lacked them; runs until cancelled."""
    while True:
        await vectors.wait_locations_wanted()
        await trio.sleep(LOCATIONS_S)
        with suppress(MemdError):  # searches read the rows they need, and report errors of the index
            await index.read(vectors.refresh_locations)


async def release_all_free_pages(index: IndexFile) -> None:
    """Release all free pages and the space of the log; writers wait only milliseconds at a time.

    Not by `VACUUM`, which may renumber the rows of sqlite-vec's tables and blocks writers for long.

    Cancellation: between two steps; released pages stay released.
    """
    while await index.write(_release_some_pages):
        pass
    await index.use_writer(partial(checkpoint, wait=True))


def _release_some_pages(db: Database) -> bool:
    """Release some free pages; return whether there are more."""
    db.execute(f"PRAGMA incremental_vacuum({FREE_PAGES_AT_ONCE})").fetchall()
    return get_int(db, "PRAGMA freelist_count") > 0


async def recover_writing(index: IndexFile, catch_up: Callable[[], Awaitable[object]]) -> None:
    """Retry while writes fail, and catch up once they succeed; runs until cancelled."""
    while True:
        fault = await index.wait_fault()
        log.warning("index.writing_failed", index=str(index.path), code=fault.code, error=fault.message)
        pause_s = FIRST_TRY_S
        while index.fault is not None:
            await trio.sleep(pause_s)
            pause_s = min(2 * pause_s, LAST_TRY_S)
            try:
                await index.write(lambda db: set_meta(db, TRIED, "1"))
                await catch_up()
            except MemdError as error:
                log.debug("index.still_failing", index=str(index.path), code=error.code)
                if index.is_lost:
                    return
        log.info("index.writing_works", index=str(index.path))
