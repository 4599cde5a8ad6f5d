"""Background tasks of an open index: checkpoints, releasing caches and pages, and write recovery."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

import trio

from memd.index.connection import IndexFile
from memd.index.integrity.upkeep import checkpoint, file_size, wal_path
from memd.index.keyword import merge_segments
from memd.index.meta import set_meta
from memd.system.back_off import back_off_s
from memd.system.log import log
from memd_client.errors import MemdError

REST_S, LOG_KEPT_BYTES = 1.0, 1_048_576
"""After such a pause in writes, a longer log is checkpointed, because no request waits for the disk then."""

FIRST_TRY_S, LAST_TRY_S = 1.0, 30.0
"""First and longest pause between write attempts; they double. An attempt writes one small row."""

TRIED = "writing_tried"

IDLE_S = 20.0
"""Idle time after which an index releases its page caches, which are filled again within a millisecond, and empties its
log, which has text that was deleted since."""


async def keep_log_short(index: IndexFile) -> None:
    """Run a checkpoint of a long log whenever writes pause; runs until cancelled."""
    while True:
        await index.written.wait_for_pause(REST_S)
        if file_size(wal_path(index.path)) > LOG_KEPT_BYTES:
            with suppress(MemdError):  # the next write raises it too, and the next pause retries
                await index.use_writer(partial(checkpoint, wait=False))


async def release_caches(index: IndexFile) -> None:
    """Release the page caches and the log of an index whenever it is idle; runs until cancelled."""
    while True:
        await index.used.wait_for_pause(IDLE_S)
        with suppress(MemdError):
            await index.release_caches()
            await index.use_writer(partial(checkpoint, wait=False))
            index.used.clear()  # this write doesn't count as use


async def compact(index: IndexFile) -> None:
    """Rewrite an index, without free pages and without a trace of deleted text.

    Overwriting deleted rows isn't enough: pages that SQLite split or merged may have copies of them, and FTS5's
    segments have their words. Other writes wait meanwhile, 5 s for 100,000 chunks; searches don't.

    Cancellation: a step that has started completes.
    """
    await index.write(merge_segments)
    await index.use_writer(lambda db: db.execute("VACUUM").fetchall())
    await index.use_writer(partial(checkpoint, wait=True))


async def recover_writing(index: IndexFile, catch_up: Callable[[], Awaitable[object]]) -> None:
    """Retry while writes fail, and catch up once they succeed; runs until cancelled."""
    while True:
        fault = await index.wait_fault()
        log.warning("index.writing_failed", index=str(index.path), code=fault.code, error=fault.message)
        tries = 0
        while index.fault is not None:
            tries += 1
            await trio.sleep(back_off_s(tries, FIRST_TRY_S, LAST_TRY_S))
            try:
                await index.write(lambda db: set_meta(db, TRIED, "1"))
                await catch_up()
            except MemdError as error:
                log.debug("index.still_failing", index=str(index.path), code=error.code)
                if index.is_lost:
                    return
        log.info("index.writing_works", index=str(index.path))
