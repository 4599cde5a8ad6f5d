"""Writing goes on by itself after a full disk, a read-only file system or a stranger's lock has passed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import structlog
import trio

from memd.index.connection import Database, IndexFile
from memd.index.meta import set_meta
from memd_client.errors import MemdError

log = structlog.get_logger(__name__)

FIRST_TRY_S, LAST_TRY_S = 1.0, 30.0
"""Pauses between tries; they double. A try writes one small row, so a full disk isn't worn by it."""

TRIED = "writing_tried"


def try_writing(db: Database) -> None:
    """Write something small, for real."""
    set_meta(db, TRIED, "1")


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
                await index.write(try_writing)
                await catch_up()
            except MemdError as error:
                log.debug("index.still_failing", index=str(index.path), code=error.code)
                if index.is_lost:
                    return
        log.info("index.writing_works", index=str(index.path))
