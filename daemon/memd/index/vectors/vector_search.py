"""Nearest vectors: the interface, its promise, and the arithmetic all paths share.

There are three paths: the matrix in memory, sqlite-vec, and a scan of the BLOBs. Each finds candidates with
its own arithmetic (numbers rounded to a byte, float32 in whatever order of summing), then `rank_exactly`
computes all of them again in float64 from the stored BLOBs, the same way everywhere. A path hands over every
vector that its own rounding leaves in doubt (`rounding`, `compact`), so that ids and order come out the same,
equal vectors included.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memd.index.database import Database, get_int
from memd.index.keyword import Scope, scope_sql
from memd.index.numbers import unpack_ids
from memd_client.errors import DimensionsChangedError

FloatArray = NDArray[np.float32]
IdArray = NDArray[np.int64]

DIGITS = 12
"""Cosines are compared to this many digits: far coarser than float64 rounding over any number of dimensions,
far finer than anything a model means."""

SMALL_SHARE = 4
"""A scope with less than a quarter of the chunks is small: going through all vectors costs more."""

RANK_BLOCK_ROWS = 4_096
"""Rows computed in float64 at once: bounds the memory of a search among very many equal vectors."""


class VectorSearch(Protocol):
    """Finds the vectors nearest to a question.

    Promise: all implementations return the same ids in the same order. They may be called from several
    threads at once, each with a connection of its own.
    """

    @property
    def name(self) -> str:
        """Which path this is: `memory`, `sqlite-vec` or `scan`."""

    def nearest(
        self, db: Database, space_id: str, query: FloatArray, limit: int, scope: Scope | None = None
    ) -> list[tuple[int, float]]:
        """Return the nearest vectors that chunks use.

        Args:
            db: A reader connection.
            space_id: The vector space to look in.
            query: (dims,), any length but zero.
            limit: Most results.
            scope: Only vectors of chunks in scope; acts before the ranking is cut.

        Returns:
            (vector id, cosine), best first, equal ones by id. Empty for a query that is zero or not finite.

        Raises:
            DimensionsChangedError: The space holds vectors of another length than the query.
        """


def unit_query(query: FloatArray) -> NDArray[np.float64] | None:
    """Return a query at unit length in float64, or None where it has no direction."""
    exact = np.asarray(query, dtype=np.float64).reshape(-1)
    length = float(np.linalg.norm(exact))
    if not np.isfinite(length) or length == 0.0:
        return None
    return exact / length


def check_dims(query: NDArray[np.float64], dims: int) -> None:
    """Refuse a query of another length than the vectors."""
    if query.shape[0] != dims:
        raise DimensionsChangedError(
            f"the query has {query.shape[0]} dimensions, the index holds vectors of {dims}"
        )


def rounding(dims: int) -> float:
    """Return how far a float32 cosine of unit vectors can be from the true one, however it was summed."""
    return max(dims, 8) * 2.0**-23


def in_doubt(approximate: NDArray[np.float32], limit: int, dims: int) -> NDArray[np.intp]:
    """Return the positions of all vectors that may be among the best, by float32 cosines."""
    count = approximate.shape[0]
    if count <= limit:
        return np.arange(count)
    threshold = np.partition(approximate, count - limit)[count - limit]
    return np.flatnonzero(approximate >= threshold - 2 * rounding(dims))


def rank_exactly(
    rows: FloatArray, ids: IdArray, query: NDArray[np.float64], limit: int
) -> list[tuple[int, float]]:
    """Return the best of some vectors by float64 cosines, each summed on its own and in the same way."""
    scores = np.empty(len(ids), dtype=np.float64)
    for start in range(0, len(ids), RANK_BLOCK_ROWS):
        block = rows[start : start + RANK_BLOCK_ROWS].astype(np.float64)
        scores[start : start + RANK_BLOCK_ROWS] = np.vecdot(block, query)
    scores = np.round(scores, DIGITS)
    order = np.lexsort((ids, -scores))[:limit]
    return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))


def merged(
    first: list[tuple[int, float]], second: list[tuple[int, float]], limit: int
) -> list[tuple[int, float]]:
    """Return the best of two rankings as `rank_exactly` gives them, in the same order."""
    if not first:
        return second
    return sorted(first + second, key=lambda pair: (-pair[1], pair[0]))[:limit]


def used_ids(db: Database, space_id: str, scope: Scope | None) -> IdArray:
    """Return the ids of all vectors of a space that chunks in scope use, ascending.

    Only indexes are read. A narrow scope starts at its chunks; a wide one goes through the vectors by their
    texts' hashes, in which order the chunks are found side by side.
    """
    condition, values = scope_sql(scope)
    if scope is not None and is_small(db, scope):
        used = f"""(SELECT DISTINCT c.hash FROM chunks AS c WHERE {condition}) AS wanted
                   CROSS JOIN embedding_cache AS e ON e.provider_key = :space AND e.hash = wanted.hash"""
    else:
        used = f"""embedding_cache AS e WHERE e.provider_key = :space
                   AND EXISTS (SELECT 1 FROM chunks AS c WHERE c.hash = e.hash AND {condition})"""
    ids = db.execute(  # one row, as in `keyword.find_keyword`
        f"SELECT json_group_array(id) FROM (SELECT e.id FROM {used})", {**values, "space": space_id}
    ).get
    return np.sort(np.array(unpack_ids(ids), dtype=np.int64))


def is_small(db: Database, scope: Scope) -> bool:
    """Return whether a scope leaves so few of the chunks that starting at them is quicker."""
    condition, values = scope_sql(scope)
    inside = db.execute(f"SELECT count(*) FROM chunks AS c WHERE {condition}", values).get
    return bool(inside * SMALL_SHARE < get_int(db, "SELECT count(*) FROM chunks"))
