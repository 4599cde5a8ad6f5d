"""Open indexes: an `IndexFile` for as long as a test takes, and a statement that outlasts it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import trio

from memd.index.connection import IndexFile
from memd.index.database import Database, get_int
from tests.support.indexes import EXTENSION


async def open_index(path: Path) -> IndexFile:
    """Open an index."""
    return await IndexFile.open(path, extension=EXTENSION, clock=lambda: 1, space_of=lambda a, b: a + b)


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
    """Run a statement that doesn't end in any time a test has."""
    return get_int(
        db,
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 1e12) SELECT sum(x) FROM n",
    )
