"""A process that changes an index without pause, to be killed at any moment."""

from __future__ import annotations

import random
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import trio

from memd.index.cache import SpaceKey, store_vectors, trim
from memd.index.connection import IndexFile
from memd.index.database import Database
from memd.index.files import forget_file, publish_file
from tests.support.indexes import EXTENSION, SPACE, chunk, file_row, hash_of, unit

DIMS = 16


def write_for_ever(path: Path, seed: int, committed: Connection) -> None:
    """Change the index, sending a number after each commit, until killed."""
    trio.run(_write, path, seed, committed)


async def _write(path: Path, seed: int, committed: Connection) -> None:
    index = await IndexFile.open(path, extension=EXTENSION, clock=lambda: 1, space_of=lambda a, b: a + b)
    pick = random.Random(seed)
    count = 0
    while True:
        await index.write(lambda db: _change(db, pick))
        count += 1
        committed.send(count)


def _change(db: Database, pick: random.Random) -> None:
    """Make one change: a file with new chunks and some vectors, a file gone, or a trim."""
    path = f"memory/{pick.randrange(12)}.md"
    kind = pick.random()
    if kind < 0.15:
        forget_file(db, path)
        return
    if kind < 0.2:
        trim(db, 10)
        return
    texts = [f"text {pick.randrange(400)} " + "word " * 150 for _ in range(pick.randrange(1, 25))]
    publish_file(db, file_row(path), [chunk(text, line) for line, text in enumerate(texts, 1)], 1)
    if kind < 0.8:
        different = sorted(set(texts))
        rows = unit(np.random.default_rng(pick.randrange(9_999)).standard_normal((len(different), DIMS)))
        store_vectors(
            db, SpaceKey(SPACE.provider, SPACE.model, SPACE.id), [hash_of(t) for t in different], rows, 1
        )
