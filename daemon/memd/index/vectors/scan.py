"""The path that is always possible: read the BLOBs, block by block."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

import numpy as np

from memd.index.database import Database
from memd.index.keyword import Scope, narrow
from memd.index.vectors.vector_search import (
    FloatArray,
    IdArray,
    check_dims,
    in_doubt,
    rank_exactly,
    unit_query,
    unpack,
    used_vectors_sql,
)

BLOCK_ROWS = 1_024
"""Vectors in memory at once: 1.5 MB at 384 dimensions."""


class ScanSearch:
    """Nearest vectors by reading all of them; holds nothing between searches."""

    name = "scan"

    def __repr__(self) -> str:
        return "<ScanSearch>"

    def nearest(
        self, db: Database, space_id: str, query: FloatArray, limit: int, scope: Scope | None = None
    ) -> list[tuple[int, float]]:
        """Return the nearest vectors, as `VectorSearch.nearest` promises."""
        exact = unit_query(query)
        if exact is None or limit <= 0:
            return []
        single = exact.astype(np.float32)
        parts: list[tuple[IdArray, FloatArray]] = []
        for ids, rows in read_blocks(db, space_id, narrow(db, scope)):
            check_dims(exact, rows.shape[1])
            parts.append((ids, rows @ single))
        if not parts:
            return []
        all_ids = np.concatenate([ids for ids, _ in parts])
        chosen = all_ids[in_doubt(np.concatenate([near for _, near in parts]), limit, exact.shape[0])]
        rows = read_rows(db, chosen, exact.shape[0])
        return rank_exactly(rows, np.sort(chosen), exact, limit)


def read_blocks(
    db: Database, space_id: str, scope: Scope | None, block_rows: int = BLOCK_ROWS
) -> Iterator[tuple[IdArray, FloatArray]]:
    """Yield (ids, vectors) of a space that chunks in scope use, in blocks.

    Args:
        db: A connection.
        space_id: The vector space.
        scope: Only vectors of chunks in scope.
        block_rows: Most vectors in a block.
    """
    source, values = used_vectors_sql(db, space_id, scope)
    cursor = db.execute(f"SELECT e.id, e.dims, e.embedding FROM {source}", values)
    while block := list(islice(cursor, block_rows)):
        ids = np.fromiter((row[0] for row in block), dtype=np.int64, count=len(block))
        yield ids, unpack([row[2] for row in block], int(block[0][1]))


def read_rows(db: Database, ids: IdArray, dims: int) -> FloatArray:
    """Return vectors by id, in ascending order of the ids; all of them are there."""
    rows = db.execute(
        "SELECT embedding FROM embedding_cache WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id",
        (json.dumps(ids.tolist()),),
    )
    return unpack([row[0] for row in rows], dims)
