"""Open indexes for tests, and an endless statement."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import trio

from memd.index.connection import IndexFile
from memd.index.files import count_all
from memd.system.sqlite import Database, get_int
from tests.support.indexes import EXTENSION


async def open_index(path: Path, now_ms: int = 1, **options: Any) -> IndexFile:
    """Open an index at a given time; the options are those of `IndexFile.open`."""
    return await IndexFile.open(path, extension=EXTENSION, clock=lambda: now_ms, **options)


def open_and_close(
    path: Path,
    now_ms: int = 1,
    *,
    write: Callable[[Database], object] | None = None,
    **options: Any,
) -> tuple[IndexFile, int]:
    """Open an index, optionally write to it, and close it; return it and its number of chunks."""

    async def body() -> tuple[IndexFile, int]:
        index = await open_index(path, now_ms, **options)
        try:
            if write is not None:
                await index.write(write)
            return index, (await index.read(count_all)).chunks
        finally:
            await index.close()

    return trio.run(body)


def run_with_index(path: Path, test: Callable[[IndexFile], Awaitable[None]]) -> None:
    """Run a test with an open index in a directory, closed afterwards."""

    async def body() -> None:
        index = await open_index(path / "agent.sqlite")
        try:
            await test(index)
        finally:
            await index.close()

    trio.run(body)


def endless(db: Database) -> int:
    """Run a statement that never finishes."""
    return get_int(
        db,
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1e12) SELECT sum(x) FROM n",
    )
