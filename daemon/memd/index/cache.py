"""The embedding cache: vectors by (vector space, hash of the text), and the texts without a vector.

The id of a vector space is opaque here. Vectors are packed little-endian float32 of unit length, stored bit for bit
as the provider returned them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memd.index import chunks_vec
from memd.index.meta import (
    ActiveSpace as ActiveSpace,
)
from memd.index.meta import (
    active_space as active_space,
)
from memd.index.meta import (
    set_active_space as set_active_space,
)
from memd.index.meta import (
    used_times,
)
from memd.index.numbers import pack_ids
from memd.system.sqlite import Database, get_int
from memd.text.cut.chunking import embedded_text
from memd_client.errors import DimensionsChangedError, ProviderFailedError

FLOAT_BYTES = 4

LENGTH_TOLERANCE = 1e-3
"""Tolerance for the unit length of a stored vector; float32 rounding stays below 1e-6."""


class SpaceKey(Struct, frozen=True):
    """The stored identity of a vector space: its provider, model and id."""

    provider: str
    model: str
    id: str


def count_vectors(db: Database, space_id: str) -> int:
    """Return how many vectors of a space belong to a chunk."""
    return get_int(
        db,
        """SELECT count(*) FROM embedding_cache AS e WHERE provider_key = ?
           AND EXISTS (SELECT 1 FROM chunks WHERE hash = e.hash)""",
        (space_id,),
    )


def find_dims(db: Database, space_id: str) -> int | None:
    """Return the dimensions of a space, or None if it has no vectors."""
    row = db.execute(
        "SELECT dims FROM embedding_cache WHERE provider_key = ? LIMIT 1", (space_id,)
    ).fetchone()
    return None if row is None else int(row[0])


def store_vectors(
    db: Database, space: SpaceKey, hashes: Sequence[str], matrix: NDArray[np.float32], now_ms: int
) -> list[int]:
    """Store vectors of texts and return their ids, 0 for a text that no chunk has.

    A text that has a vector in the space keeps it. The first space ever stored becomes the active one.
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


def vectors_of_texts(db: Database, space_id: str, hashes: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """Return the vectors of a space by text hash, including texts that no chunk has."""
    rows = db.execute(
        """SELECT hash, embedding FROM embedding_cache
           WHERE provider_key = ? AND hash IN (SELECT value FROM json_each(?))""",
        (space_id, json.dumps(list(hashes))),
    )
    return {str(digest): np.frombuffer(packed, dtype="<f4") for digest, packed in rows}


def forget_space(db: Database, space_id: str) -> int:
    """Delete all vectors of a space, so that every text is embedded again."""
    db.execute("DELETE FROM embedding_cache WHERE provider_key = ?", (space_id,))
    gone = db.changes()
    chunks_vec.clear(db, space_id)
    return gone


def replace_vectors(
    db: Database, space: SpaceKey, hashes: Sequence[str], matrix: NDArray[np.float32], now_ms: int
) -> tuple[list[int], list[int]]:
    """Replace the vectors of texts; return the new ids and the replaced ones."""
    _checked(db, space, hashes, matrix)
    old = list(_used_ids_by_hash(db, space.id, hashes).values())
    db.execute(
        "DELETE FROM embedding_cache WHERE provider_key = ? AND hash IN (SELECT value FROM json_each(?))",
        (space.id, json.dumps(list(hashes))),
    )
    chunks_vec.follow(db, space.id, old, (), None)
    return store_vectors(db, space, hashes, matrix, now_ms), old


def trim(
    db: Database,
    max_entries: int | None,
    *,
    max_unused_bytes: int | None = None,
    spaces: Collection[str] | None = None,
) -> int:
    """Delete unused vectors, the least recently used first; return how many.

    Vectors of `spaces` (by default the active space) that belong to a chunk are in use and never deleted.
    """
    if spaces is None:
        active = active_space(db)
        spaces = [active.id] if active is not None else []
    live = json.dumps(list(spaces))
    used = get_int(
        db,
        """SELECT count(*) FROM embedding_cache AS e
           WHERE e.provider_key IN (SELECT value FROM json_each(?))
           AND EXISTS (SELECT 1 FROM chunks WHERE hash = e.hash)""",
        (live,),
    )
    unused = get_int(db, "SELECT count(*) FROM embedding_cache") - used
    surplus = 0 if max_entries is None else min(unused, unused + used - max_entries)
    if unused == 0 or (surplus <= 0 and max_unused_bytes is None):
        return 0
    leaving = _least_used(db, live, surplus, max_unused_bytes)
    db.execute(
        "DELETE FROM embedding_cache WHERE id IN (SELECT value FROM json_each(?))", (pack_ids(leaving),)
    )
    return len(leaving)


def _least_used(db: Database, live: str, surplus: int, max_bytes: int | None) -> list[int]:
    """Return the ids of unused vectors beyond the limits.

    A vector that belongs to a chunk was last used when its space was; any other when it was stored.
    """
    found = db.execute(
        """SELECT e.id, e.dims FROM embedding_cache AS e LEFT JOIN json_each(?) AS t ON t.key = e.provider_key
           WHERE NOT (e.provider_key IN (SELECT value FROM json_each(?))
                      AND EXISTS (SELECT 1 FROM chunks WHERE hash = e.hash))
           ORDER BY CASE WHEN EXISTS (SELECT 1 FROM chunks WHERE hash = e.hash)
                    THEN max(e.updated_at, coalesce(t.value, 0)) ELSE e.updated_at END, e.id""",
        (json.dumps(used_times(db)), live),
    )
    rows: list[tuple[int, int]] = list(found)
    excess = 0 if max_bytes is None else sum(row[1] * FLOAT_BYTES for row in rows) - max_bytes
    leaving: list[int] = []
    for key, dims in rows:
        if len(leaving) >= surplus and excess <= 0:
            break
        leaving.append(key)
        excess -= dims * FLOAT_BYTES
    return leaving


def _checked(
    db: Database, space: SpaceKey, hashes: Sequence[str], matrix: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return vectors as they are stored, after checking their shape, dimensions and unit length."""
    if matrix.ndim != 2 or matrix.shape[0] != len(hashes):
        raise ProviderFailedError(
            f"{space.model} returned vectors of shape {matrix.shape} for {len(hashes)} texts"
        )
    dims = find_dims(db, space.id)
    if dims is not None and len(hashes) and dims != matrix.shape[1]:
        raise DimensionsChangedError(
            f"{space.model} returned vectors of {matrix.shape[1]} dimensions, the index has {dims}"
        )
    rows = np.ascontiguousarray(matrix, dtype="<f4")
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
    if not bool((np.abs(lengths - 1.0) <= LENGTH_TOLERANCE).all()):
        raise ProviderFailedError(f"{space.model} returned a vector that is not of unit length")
    return rows


def _used_ids_by_hash(db: Database, space_id: str, hashes: Sequence[str]) -> dict[str, int]:
    """Return the vector ids of a space for those hashes that belong to a chunk."""
    rows = db.execute(
        """SELECT hash, id FROM embedding_cache AS e
           WHERE provider_key = ? AND hash IN (SELECT value FROM json_each(?))
           AND EXISTS (SELECT 1 FROM chunks WHERE hash = e.hash)""",
        (space_id, json.dumps(list(hashes))),
    )
    return {str(row[0]): int(row[1]) for row in rows}


class RefusedChunk(Struct, frozen=True):
    """A chunk whose text a provider refused, and the reason. Lines count from 1, both ends included."""

    path: str
    start_line: int
    end_line: int
    reason: str


def missing_hashes(
    db: Database,
    space_id: str,
    limit: int,
    *,
    without: Collection[str] = (),
    renew_to_id: int | None = None,
) -> list[tuple[str, str]]:
    """Return (hash, text to embed) of texts without a vector, those of the newest files first."""
    first: dict[str, int] = {}
    condition, values = _missing(space_id, renew_to_id)
    for key, digest in db.execute(
        f"""SELECT c.id, c.hash FROM files AS f CROSS JOIN chunks AS c ON c.path = f.path
            WHERE {condition} ORDER BY f.mtime_ns DESC, f.path, c.id""",
        values,
    ):
        if digest not in without:
            first.setdefault(digest, key)
        if len(first) >= limit:
            break
    rows = db.execute(
        """SELECT c.hash, c.text, c.context FROM json_each(?) AS wanted
           CROSS JOIN chunks AS c ON c.id = wanted.value ORDER BY wanted.key""",
        (pack_ids(first.values()),),
    )
    return [(str(digest), embedded_text(str(text), str(context))) for digest, text, context in rows]


def count_missing(db: Database, space_id: str, *, renew_to_id: int | None = None) -> int:
    """Return how many distinct texts have no vector in a space; refused ones don't count."""
    condition, values = _missing(space_id, renew_to_id)
    return get_int(db, f"SELECT count(DISTINCT c.hash) FROM chunks AS c WHERE {condition}", values)


def count_missing_characters(db: Database, space_id: str) -> int:
    """Return the total length of the texts without a vector, in characters."""
    condition, values = _missing(space_id, None)
    statement = f"""SELECT coalesce(sum(n), 0) FROM
                    (SELECT min(length(c.text)) AS n FROM chunks AS c WHERE {condition} GROUP BY c.hash)"""
    return get_int(db, statement, values)


def count_texts(db: Database) -> int:
    """Return how many distinct texts the chunks have."""
    return get_int(db, "SELECT count(DISTINCT hash) FROM chunks")


def oldest_missing_ms(db: Database, space_id: str) -> int | None:
    """Return when the oldest chunk without a vector was written (epoch ms), or None if all have one."""
    condition, values = _missing(space_id, None)
    row = db.execute(f"SELECT min(c.updated_at) FROM chunks AS c WHERE {condition}", values).fetchall()[0]
    return None if row[0] is None else int(row[0])


def refuse_texts(db: Database, space_id: str, reasons: dict[str, str], now_ms: int) -> None:
    """Record texts that the provider refused, so that they are not sent again."""
    db.executemany(
        "INSERT OR REPLACE INTO refused_texts (provider_key, hash, reason, updated_at) VALUES (?, ?, ?, ?)",
        ((space_id, digest, reason, now_ms) for digest, reason in reasons.items()),
    )


def last_vector_id(db: Database) -> int:
    """Return the highest vector id of all spaces; 0 if there are no vectors."""
    return get_int(db, "SELECT coalesce(max(id), 0) FROM embedding_cache")


def forget_refused(db: Database, space_id: str) -> None:
    """Delete the refusals of a space, so that its texts are retried, and those of deleted texts in all spaces."""
    db.execute(
        """DELETE FROM refused_texts
           WHERE provider_key = ? OR NOT EXISTS (SELECT 1 FROM chunks AS c WHERE c.hash = refused_texts.hash)""",
        (space_id,),
    )


def load_refused(db: Database, space_id: str, limit: int) -> list[RefusedChunk]:
    """Return the chunks without a vector because the provider refused their text, by path and line."""
    rows = db.execute(
        """SELECT c.path, c.start_line, c.end_line, r.reason FROM refused_texts AS r JOIN chunks AS c ON c.hash = r.hash
           WHERE r.provider_key = ? ORDER BY c.path, c.start_line LIMIT ?""",
        (space_id, limit),
    )
    return [RefusedChunk(*row) for row in rows]


def _missing(space_id: str, renew_to_id: int | None) -> tuple[str, Sequence[str | int]]:
    """Return the SQL condition that a chunk `c` has no vector, and its values.

    Vectors up to `renew_to_id` count as missing. Ids tell the age because they are never reused, whereas the wall
    clock may be set back.
    """
    fresh = "" if renew_to_id is None else "AND e.id > ?"
    condition = f"""NOT EXISTS (SELECT 1 FROM embedding_cache AS e WHERE e.provider_key = ? AND e.hash = c.hash {fresh})
        AND NOT EXISTS (SELECT 1 FROM refused_texts AS r WHERE r.provider_key = ? AND r.hash = c.hash)"""
    return condition, (space_id, *(() if renew_to_id is None else (renew_to_id,)), space_id)
