"""The interface of vector search, its contract, and the arithmetic that all implementations share.

There are three implementations: the matrix in RAM, sqlite-vec, and a scan of the BLOBs. Each finds candidates with its
own arithmetic (quantized numbers, or float32 in any order of summing), then `rank_exactly` computes their cosines in
float64 from the stored BLOBs. An implementation passes on every vector that may be among the best given its rounding
errors (`rounding`, `compact`), so that ids and order are the same, including those of equal vectors.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from memd.index.keyword import Scope, scope_sql
from memd.index.numbers import unpack_ids
from memd.system.sqlite import Database, get_int
from memd_client.errors import DimensionsChangedError

FloatArray = NDArray[np.float32]
IdArray = NDArray[np.int64]

DIGITS = 12
"""Digits to which cosines are compared: far coarser than float64 rounding, far finer than a model's precision."""

SMALL_SHARE = 4
"""A scope with less than 1/4 of the chunks is small: reading all vectors would cost more."""

RANK_BLOCK_ROWS = 4_096
"""Rows computed in float64 at once: bounds the RAM of a search among many equal vectors."""


class VectorSearch(Protocol):
    """Finds the vectors nearest to a query.

    All implementations return the same ids in the same order. Thread-safe, if each thread passes its own connection.
    """

    @property
    def name(self) -> str:
        """Name of the implementation: `memory`, `sqlite-vec` or `scan`."""

    def nearest(
        self, db: Database, space_id: str, query: FloatArray, limit: int, scope: Scope | None = None
    ) -> list[tuple[int, float]]:
        """Return the nearest vectors that chunks use.

        Args:
            db: A reader connection.
            space_id: The vector space to search.
            query: (dims,), any length except zero.
            limit: Maximum number of results.
            scope: Only vectors of chunks in scope; applies before the limit.

        Returns:
            (vector id, cosine), best first, equal ones by id. Empty for a query that is zero or not finite.

        Raises:
            DimensionsChangedError: The vectors of the space have other dimensions than the query.
        """


def unit_query(query: FloatArray) -> NDArray[np.float64] | None:
    """Return a query at unit length in float64, or None if it is zero or not finite."""
    exact = np.asarray(query, dtype=np.float64).reshape(-1)
    length = float(np.linalg.norm(exact))
    if not np.isfinite(length) or length == 0.0:
        return None
    return exact / length


def check_dims(query: NDArray[np.float64], dims: int) -> None:
    """Raise if a query has other dimensions than the vectors."""
    if query.shape[0] != dims:
        raise DimensionsChangedError(
            f"the query has {query.shape[0]} dimensions, the vectors of the index have {dims}"
        )


def rounding(dims: int) -> float:
    """Return the largest error of a float32 cosine of unit vectors, for any order of summing."""
    return max(dims, 8) * 2.0**-23


def possible_best(approximate: NDArray[np.float32], limit: int, dims: int) -> NDArray[np.intp]:
    """Return the positions of all vectors that may be among the best, given float32 cosines."""
    count = approximate.shape[0]
    if count <= limit:
        return np.arange(count)
    threshold = np.partition(approximate, count - limit)[count - limit]
    return np.flatnonzero(approximate >= threshold - 2 * rounding(dims))


def rank_exactly(
    rows: FloatArray, ids: IdArray, query: NDArray[np.float64], limit: int
) -> list[tuple[int, float]]:
    """Return (id, cosine) of the best of some vectors, each computed separately in float64."""
    scores = np.empty(len(ids), dtype=np.float64)
    for start in range(0, len(ids), RANK_BLOCK_ROWS):
        block = rows[start : start + RANK_BLOCK_ROWS].astype(np.float64)
        scores[start : start + RANK_BLOCK_ROWS] = np.vecdot(block, query)
    scores = np.round(scores, DIGITS)
    order = np.lexsort((ids, -scores))[:limit]
    return list(zip(ids[order].tolist(), scores[order].tolist(), strict=True))


def merge_rankings(
    first: list[tuple[int, float]], second: list[tuple[int, float]], limit: int
) -> list[tuple[int, float]]:
    """Return the best of two rankings of `rank_exactly`, in the same order."""
    if not first:
        return second
    return sorted(first + second, key=lambda pair: (-pair[1], pair[0]))[:limit]


def used_ids(db: Database, space_id: str, scope: Scope | None) -> IdArray:
    """Return the ids of all vectors of a space that chunks in scope use, ascending.

    Only SQL indexes are read. A small scope starts from its chunks; a wide one reads the vectors in the order of their
    text hashes, in which the chunks are adjacent.
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
    """Return whether a scope has so few chunks that starting from them is faster."""
    condition, values = scope_sql(scope)
    inside = db.execute(f"SELECT count(*) FROM chunks AS c WHERE {condition}", values).get
    return bool(inside * SMALL_SHARE < get_int(db, "SELECT count(*) FROM chunks"))
