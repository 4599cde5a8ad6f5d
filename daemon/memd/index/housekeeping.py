"""Tasks that run while an index is open: they keep it small, and resume writing after a fault."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import structlog
import trio

from memd.index.care.upkeep import FREE_PAGES_AT_ONCE, fold_log, log_of, size_of
from memd.index.connection import Database, IndexFile
from memd.index.database import get_int
from memd.index.meta import set_meta
from memd.index.vectors.cache import VectorCache
from memd_client.errors import MemdError

log = structlog.get_logger(__name__)

REST_S, LOG_KEPT_BYTES = 1.0, 1_048_576
"""After so long without a write, a longer log is brought into the file: no request waits for the disk then."""

FIRST_TRY_S, LAST_TRY_S = 1.0, 30.0
"""Pauses between tries; they double. A try writes one small row, so a full disk isn't worn by it."""

TRIED = "writing_tried"

IDLE_S = 20.0
"""After so long unused, an index gives its page caches back: 0.7 MB an agent, read again in a millisecond."""

LOCATIONS_S = 0.5
"""How long after a search that lacked them the locations of all chunks are read: a burst of searches comes first."""


async def keep_log_short(index: IndexFile) -> None:
    """Bring a long log into the file whenever no write came for a while; runs until cancelled."""
    while True:
        await index.written.wait_for_pause(REST_S)
        if size_of(log_of(index.path)) > LOG_KEPT_BYTES:
            with suppress(MemdError):  # the next write meets it as well; the next rest is another chance
                await index.use_writer(partial(fold_log, wait=False))


async def give_caches_back(index: IndexFile) -> None:
    """Give the page caches of an index back after a while without use; runs until cancelled."""
    while True:
        await index.used.wait_for_pause(IDLE_S)
        with suppress(MemdError):
            await index.give_caches_back()
            index.used.clear()  # that was no use of it


async def keep_locations(index: IndexFile, vectors: VectorCache) -> None:
    """Read the locations of all chunks a moment after a search that lacked them; runs until cancelled."""
    while True:
        await vectors.wait_locations_wanted()
        await trio.sleep(LOCATIONS_S)
        with suppress(MemdError):  # searches read what they need, and say what is wrong with the index
            await index.read(vectors.refresh_locations)


async def squeeze(index: IndexFile) -> None:
    """Give all free pages back to the system, and the log's space; writers wait milliseconds at a time.

    A whole `VACUUM` isn't made: it may renumber the rows of sqlite-vec's tables, and holds up writers for long.

    Cancellation: between two steps; what was given back stays so.
    """
    while await index.write(_give_back_some):
        pass
    await index.use_writer(partial(fold_log, wait=True))


def _give_back_some(db: Database) -> bool:
    """Give a few free pages back, however few there are; return whether there are more."""
    db.execute(f"PRAGMA incremental_vacuum({FREE_PAGES_AT_ONCE})").fetchall()
    return get_int(db, "PRAGMA freelist_count") > 0


async def heal_writing(index: IndexFile, catch_up: Callable[[], Awaitable[object]]) -> None:
    """Try again and again while writes fail, and catch up once they work; runs until cancelled."""
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
