"""Vectors that OpenClaw stored, which memd reuses for chunks with the same text.

Releases before 2026.9 keep an index per agent, with the vectors of its chunks as JSON. Newer releases keep a cache of
vectors (float64 BLOBs) in the agent's database, which also has conversations that exist nowhere else. Both files are
read in short transactions, and stay unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from memd.index.cache import SpaceKey, store_vectors
from memd.index.meta import set_adopted_chunking_scheme
from memd.index.schema import APPLICATION_ID
from memd.settings.schema import Chunking
from memd.system.sqlite import Database, ForeignDatabaseError, columns_of, opened_foreign

StoredVectors: TypeAlias = dict[str, NDArray[np.float32]]
"""Vectors of unit length by the hash of their text."""

READ_ROWS = 1_000
"""Rows read in one transaction, which blocks OpenClaw's checkpoints for milliseconds."""

_CACHE, _CHUNKS = "memory_embedding_cache", "chunks"
_PAGE = """SELECT rowid, hash, embedding FROM {table} WHERE model IN (SELECT value FROM json_each(:models))
           AND rowid > :after {condition} ORDER BY rowid LIMIT :rows"""
_QUERIES = {
    _CACHE: _PAGE.format(table=_CACHE, condition="AND provider = :provider"),
    _CHUNKS: _PAGE.format(table=_CHUNKS, condition=""),
}

_decode_numbers = msgspec.json.Decoder(list[float])


def is_openclaw_index(db: Database) -> bool:
    """Return whether a database is an index of an older OpenClaw release."""
    return {"path", "hash", "mtime"} <= columns_of(db, "files").keys() and {
        "text",
        "hash",
        "embedding",
        "model",
    } <= columns_of(db, _CHUNKS).keys()


def load_stored_vectors(path: Path, provider: str, models: Collection[str]) -> StoredVectors:
    """Return the vectors of some models in a file of OpenClaw; none if there is no such file.

    Raises:
        ForeignDatabaseError: It can't be read.
    """
    vectors: StoredVectors = {}
    values: dict[str, str | int] = {
        "models": json.dumps(list(models)),
        "provider": provider,
        "rows": READ_ROWS,
    }
    rows: list[Any] = []
    while path.is_file():
        with opened_foreign(path) as db:
            if db.pragma("application_id") == APPLICATION_ID:
                break  # memd's own index
            values["after"] = rows[-1][0] if rows else 0
            rows = db.execute(_QUERIES[_table_of(db)], values).fetchall()
        found = {str(digest): unit_vector(embedding) for _, digest, embedding in rows}
        vectors |= {digest: vector for digest, vector in found.items() if vector is not None}
        if len(rows) < READ_ROWS:
            break
    return vectors


def import_vectors(
    space: SpaceKey, vectors: StoredVectors, chunking: Chunking, now_ms: int, db: Database
) -> int:
    """Add vectors to a space without any, and return how many were added.

    The index records OpenClaw's chunking scheme, so that chunks have the texts of these vectors. Vectors whose length
    differs from that of the first are dropped.
    """
    size = len(next(iter(vectors.values())))
    fitting = {digest: vector for digest, vector in vectors.items() if len(vector) == size}
    set_adopted_chunking_scheme(db, chunking.tokens, chunking.overlap)
    store_vectors(db, space, list(fitting), np.stack(list(fitting.values())), now_ms)
    return len(fitting)


def _table_of(db: Database) -> str:
    """Return the table that has the vectors."""
    if {"provider", "model", "hash", "embedding"} <= columns_of(db, _CACHE).keys():
        return _CACHE
    if is_openclaw_index(db):
        return _CHUNKS
    raise ForeignDatabaseError("it has another schema", unknown=True)


def unit_vector(value: object) -> NDArray[np.float32] | None:
    """Return a stored vector with unit length, or None if it is invalid or zero."""
    try:
        if isinstance(value, str):
            exact = np.array(_decode_numbers.decode(value), dtype=np.float64)
        elif isinstance(value, bytes):
            exact = np.frombuffer(value, dtype="<f8")
        else:
            return None
    except (msgspec.MsgspecError, ValueError):
        return None
    length = float(np.linalg.norm(exact)) if exact.size else 0.0
    if not np.isfinite(length) or length == 0.0:
        return None
    return (exact / length).astype(np.float32)
