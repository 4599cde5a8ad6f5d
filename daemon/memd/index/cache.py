"""Vectors by text: `embedding_cache`, found by (vector space, hash of the text).

A vector space crosses into this room as an opaque id. Vectors are packed little-endian float32 of unit
length, stored bit by bit as they were given.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memd.index import chunks_vec
from memd.index.database import Database, get_int
from memd.index.meta import ActiveSpace as ActiveSpace
from memd.index.meta import active_space as active_space
from memd.index.meta import set_active_space as set_active_space
from memd_client.errors import DimensionsChangedError, ProviderFailedError

LENGTH_TOLERANCE = 1e-3
"""How far from 1 the length of a stored vector may be; float32 rounding stays below 1e-6."""

UNUSED_SHARE = 4
UNUSED_AT_LEAST = 256
"""Without a limit of the user's, vectors whose text is gone are kept up to a quarter of those in use (and a
few in any case): enough for a branch switched to and fro, and the file stays bounded."""


@dataclass(frozen=True, slots=True)
class SpaceKey:
    """A vector space as it is written down: who made the vectors, with which model, and the space's id."""

    provider: str
    model: str
    id: str


def missing_hashes(db: Database, space_id: str, limit: int) -> list[tuple[str, str]]:
    """Return texts that have no vector yet, those of the newest files first.

    Args:
        db: A connection.
        space_id: The vector space.
        limit: Most texts.

    Returns:
        (hash, text), each hash once.
    """
    first: dict[str, int] = {}
    for key, digest in db.execute(
        """SELECT c.id, c.hash FROM files AS f CROSS JOIN chunks AS c ON c.path = f.path
           WHERE NOT EXISTS (SELECT 1 FROM embedding_cache AS e WHERE e.provider_key = ? AND e.hash = c.hash)
           ORDER BY f.mtime_ns DESC, f.path, c.id""",
        (space_id,),
    ):
        first.setdefault(digest, key)
        if len(first) >= limit:
            break
    rows = db.execute(
        """SELECT c.hash, c.text FROM json_each(?) AS wanted CROSS JOIN chunks AS c ON c.id = wanted.value
           ORDER BY wanted.key""",
        (json.dumps(list(first.values())),),
    )
    return [(str(row[0]), str(row[1])) for row in rows]


def count_missing(db: Database, space_id: str) -> int:
    """Return how many different texts have no vector in a space."""
    return get_int(
        db,
        """SELECT count(DISTINCT hash) FROM chunks AS c
           WHERE NOT EXISTS
             (SELECT 1 FROM embedding_cache AS e WHERE e.provider_key = ? AND e.hash = c.hash)""",
        (space_id,),
    )


def oldest_missing_ms(db: Database, space_id: str) -> int | None:
    """Return when the oldest chunk without a vector in a space was written, or None where every one has its."""
    row = db.execute(
        """SELECT min(c.updated_at) FROM chunks AS c WHERE NOT EXISTS
             (SELECT 1 FROM embedding_cache AS e WHERE e.provider_key = ? AND e.hash = c.hash)""",
        (space_id,),
    ).fetchall()[0]
    return None if row[0] is None else int(row[0])


def count_vectors(db: Database, space_id: str) -> int:
    """Return how many vectors of a space are in use: those that search compares with."""
    return get_int(
        db,
        """SELECT count(*) FROM embedding_cache AS e WHERE provider_key = ?
           AND EXISTS (SELECT 1 FROM chunks WHERE hash = e.hash)""",
        (space_id,),
    )


def find_dims(db: Database, space_id: str) -> int | None:
    """Return the length of a space's vectors, or None while it has none."""
    row = db.execute(
        "SELECT dims FROM embedding_cache WHERE provider_key = ? LIMIT 1", (space_id,)
    ).fetchone()
    return None if row is None else int(row[0])


def store_vectors(
    db: Database, space: SpaceKey, hashes: Sequence[str], matrix: NDArray[np.float32], now_ms: int
) -> list[int]:
    """Store vectors of texts. A text that has one in the space keeps it: `forget_space` makes room for others.

    The first space ever stored is the active one from then on; see `set_active_space` for the next.

    Args:
        db: The writer, inside a transaction.
        space: Whose vectors they are.
        hashes: Hashes of the texts, each once.
        matrix: (len(hashes), dims), unit length.
        now_ms: Wall time in milliseconds.

    Returns:
        The vectors' ids, aligned with `hashes`; 0 where no chunk has that text any more, so that its vector
        is cached but not searched.

    Raises:
        DimensionsChangedError: The space holds vectors of another length.
        ProviderFailedError: A vector is not of unit length, or their number is wrong.
    """
    rows = _checked(db, space, hashes, matrix)
    db.executemany(
        "INSERT OR IGNORE INTO embedding_cache (provider, model, provider_key, hash, dims, updated_at, embedding)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (space.provider, space.model, space.id, digest, rows.shape[1], now_ms, rows[at].tobytes())
            for at, digest in enumerate(hashes)
        ),
    )
    new = _used_ids_by_hash(db, space.id, hashes)
    ids = [new.get(digest, 0) for digest in hashes]
    used = [at for at, key in enumerate(ids) if key]
    if ids and active_space(db) is None:
        set_active_space(db, space.id, rows.shape[1])
        chunks_vec.refill(db)
    chunks_vec.follow(db, space.id, (), [ids[at] for at in used], rows[used])
    return ids


def vectors_for(db: Database, space_id: str, ids: Sequence[int]) -> tuple[list[int], NDArray[np.float32]]:
    """Return vectors of a space by id.

    Returns:
        (ids that are there, in ascending order; their vectors (n, dims)).
    """
    rows: list[tuple[int, bytes]] = list(
        db.execute(
            """SELECT id, embedding FROM embedding_cache
           WHERE id IN (SELECT value FROM json_each(?)) AND provider_key = ? ORDER BY id""",
            (json.dumps(list(ids)), space_id),
        )
    )
    if not rows:
        return [], np.empty((0, find_dims(db, space_id) or 0), dtype=np.float32)
    matrix = np.frombuffer(b"".join(blob for _, blob in rows), dtype="<f4").reshape(len(rows), -1)
    return [key for key, _ in rows], matrix.astype(np.float32)


def forget_space(db: Database, space_id: str) -> int:
    """Delete all vectors of a space, so that every text is embedded again.

    Returns:
        How many there were.
    """
    db.execute("DELETE FROM embedding_cache WHERE provider_key = ?", (space_id,))
    gone = db.changes()
    chunks_vec.clear(db, space_id)
    return gone


def trim(db: Database, max_entries: int | None) -> int:
    """Delete vectors whose text no chunk has, the oldest first. One that a chunk uses is never deleted.

    Args:
        db: The writer, inside a transaction.
        max_entries: Most vectors of all spaces together; None for a bound relative to those in use.

    Returns:
        How many were deleted.
    """
    total = get_int(db, "SELECT count(*) FROM embedding_cache")
    used = get_int(
        db,
        """SELECT count(*) FROM embedding_cache AS e
           WHERE EXISTS (SELECT 1 FROM chunks WHERE hash = e.hash)""",
    )
    if max_entries is None:
        max_entries = used + max(UNUSED_AT_LEAST, used // UNUSED_SHARE)
    surplus = min(total - used, total - max_entries)
    if surplus <= 0:
        return 0
    db.execute(
        """DELETE FROM embedding_cache WHERE id IN (
             SELECT id FROM embedding_cache AS e WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE hash = e.hash)
             ORDER BY updated_at, id LIMIT ?)""",
        (surplus,),
    )
    return db.changes()


def _checked(
    db: Database, space: SpaceKey, hashes: Sequence[str], matrix: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return vectors as they are stored, having made sure that they can be compared with the others."""
    if matrix.ndim != 2 or matrix.shape[0] != len(hashes):
        raise ProviderFailedError(
            f"{space.model} gave vectors of shape {matrix.shape} for {len(hashes)} texts"
        )
    dims = find_dims(db, space.id)
    if dims is not None and len(hashes) and dims != matrix.shape[1]:
        raise DimensionsChangedError(
            f"{space.model} gave vectors of {matrix.shape[1]} dimensions, the index holds {dims}"
        )
    rows = np.ascontiguousarray(matrix, dtype="<f4")
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    if not bool((np.abs(lengths - 1.0) <= LENGTH_TOLERANCE).all()):
        raise ProviderFailedError(f"{space.model} gave a vector that is not of unit length")
    return rows


def _used_ids_by_hash(db: Database, space_id: str, hashes: Sequence[str]) -> dict[str, int]:
    """Return the ids a space has for those of the hashes that a chunk has."""
    rows = db.execute(
        """SELECT hash, id FROM embedding_cache AS e
           WHERE provider_key = ? AND hash IN (SELECT value FROM json_each(?))
           AND EXISTS (SELECT 1 FROM chunks WHERE hash = e.hash)""",
        (space_id, json.dumps(list(hashes))),
    )
    return {str(row[0]): int(row[1]) for row in rows}
