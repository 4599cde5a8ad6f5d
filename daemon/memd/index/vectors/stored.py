"""Vectors as the index stores them: float32 BLOBs, read by id."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from memd.index.keyword import Bindings, Scope, scope_sql
from memd.index.numbers import pack_ids, unpack_ids
from memd.index.vectors.vector_search import FloatArray, IdArray, merge_rankings, rank_exactly, used_ids
from memd.system.sqlite import Database

READ_ROWS = 512
"""Vectors read at once: 0.8 MB at 384 dimensions, which fits the cache of a core."""


def read_rows(db: Database, ids: IdArray, scope: Scope | None = None) -> tuple[IdArray, FloatArray]:
    """Return (ids, vectors) of those of some ids that are present and in scope."""
    only, values = "", Bindings()
    if scope is not None:
        condition, values = scope_sql(scope)
        only = f"WHERE EXISTS (SELECT 1 FROM chunks AS c WHERE c.hash = e.hash AND {condition})"
    # One row, as in `keyword.find_keyword`. SQLite concatenates the bytes unchanged, including zeros; the cast back to
    # a BLOB changes only the type.
    row = db.execute(
        f"""SELECT json_group_array(id), CAST(group_concat(embedding, '') AS BLOB) FROM (
            SELECT e.id, e.embedding FROM json_each(:ids) AS wanted
            CROSS JOIN embedding_cache AS e ON e.id = wanted.value {only})""",
        {**values, "ids": pack_ids(ids.tolist())},
    ).fetchall()[0]
    there = np.array(unpack_ids(row[0]), dtype=np.int64)
    packed = row[1]
    if not isinstance(packed, bytes):  # none is present
        return there, np.empty((0, 0), dtype=np.float32)
    matrix = np.frombuffer(packed, dtype="<f4").reshape(there.size, -1)
    return there, matrix.astype(np.float32, copy=False)


def read_blocks(db: Database, ids: IdArray) -> Iterator[tuple[IdArray, FloatArray]]:
    """Yield (ids, vectors) in blocks of `READ_ROWS`."""
    for start in range(0, ids.size, READ_ROWS):
        yield read_rows(db, ids[start : start + READ_ROWS])


def read_used(db: Database, space_id: str, scope: Scope | None) -> Iterator[tuple[IdArray, FloatArray]]:
    """Yield (ids, vectors) of a space that chunks in scope use, in blocks, by id."""
    return read_blocks(db, used_ids(db, space_id, scope))


def rank_stored(
    db: Database, ids: IdArray, query: NDArray[np.float64], limit: int
) -> list[tuple[int, float]]:
    """Return the best of some stored vectors, as `rank_exactly` does, in blocks to bound the RAM."""
    found: list[tuple[int, float]] = []
    for there, rows in read_blocks(db, ids):
        found = merge_rankings(found, rank_exactly(rows, there, query, limit), limit)
    return found
