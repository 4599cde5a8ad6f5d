"""Adopts what OpenClaw indexed, so that the same text is not embedded twice.

There are two sources: index files of older releases (vectors as JSON text), which are rebuilt as indexes of memd with
OpenClaw's chunks, and the embedding cache in the database of newer releases (float64 BLOBs), which is only read, and
whose chunks rarely have the text of memd's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import apsw
import msgspec
import numpy as np
import structlog
from numpy.typing import NDArray

from memd.index.cache import find_dims
from memd.index.keyword import insert_words
from memd.index.meta import set_active_space, set_adopted_chunking_scheme
from memd.system.sqlite import Database, columns_of, connect_read_only, get_int

log = structlog.get_logger(__name__)

SpaceOf: TypeAlias = Callable[[str, str], str]
"""(provider, model) -> the id of its vector space. A parameter, because this package doesn't import `embedding`."""

CachedVector: TypeAlias = tuple[str, str, str, NDArray[np.float32]]
"""(provider, model, hash of the text, vector of unit length)."""

OPENCLAW_META = "memory_index_meta_v1"
DEFAULT_CUT = (400, 80)
"""Tokens of a chunk and of its overlap if OpenClaw recorded none."""

AGENT_SCHEMA = 23
"""Supported `user_version` of OpenClaw's own database (2026.9)."""

READ_ROWS = 1_000
"""Rows read from OpenClaw's own database in one transaction, which blocks its checkpoints for milliseconds."""

_decode_numbers = msgspec.json.Decoder(list[float])


@dataclass(frozen=True, slots=True)
class AdoptedCounts:
    """Numbers of adopted files, chunks and vectors."""

    files: int
    chunks: int
    vectors: int


def is_openclaw_index(db: Database) -> bool:
    """Return whether a database is an index of an older OpenClaw release."""
    return {"path", "hash", "mtime"} <= columns_of(db, "files").keys() and {
        "text",
        "hash",
        "embedding",
        "model",
    } <= columns_of(db, "chunks").keys()


def adopt_index(old: Database, new: Database, now_ms: int, space_of: SpaceOf) -> AdoptedCounts:
    """Copy files, chunks and vectors of an OpenClaw index into an empty index of memd.

    A file keeps its hash, and so its chunks until it changes. The exception is a file with a line so long that
    OpenClaw split it: its chunks aren't slices of the file, so it is chunked again.
    """
    split = _copy_chunks(old, new, now_ms)
    files = 0
    for path, source, digest, size in old.execute("SELECT path, source, hash, size FROM files"):
        new.execute(
            "INSERT OR IGNORE INTO files (path, source, hash, mtime_ns, size, inode, indexed_at)"
            " VALUES (?, ?, ?, 0, ?, 0, ?)",
            (path, source, "" if path in split else digest, size, now_ms),
        )
        files += 1
    meta = _openclaw_meta(old)
    vectors = import_cache(new, _openclaw_vectors(old, meta), space_of, now_ms)
    _set_space(new, meta, space_of)
    _set_chunking_scheme(new, meta)
    chunks = get_int(new, "SELECT count(*) FROM chunks")
    return AdoptedCounts(files, chunks, vectors)


def import_cache(
    db: Database,
    rows: Iterable[CachedVector],
    space_of: SpaceOf,
    now_ms: int,
    *,
    keep: Callable[[str], bool] = lambda _: True,
) -> int:
    """Add vectors to the cache and return how many were added; existing ones stay."""
    dims: dict[str, int] = {}
    spaces: dict[tuple[str, str], str] = {}
    added = 0
    for provider, model, digest, vector in rows:
        if not keep(digest):
            continue
        space_id = spaces.get((provider, model)) or spaces.setdefault(
            (provider, model), space_of(provider, model)
        )
        if space_id not in dims:
            dims[space_id] = find_dims(db, space_id) or len(vector)
        if len(vector) != dims[space_id]:
            continue
        db.execute(
            """INSERT OR IGNORE INTO embedding_cache
               (provider, model, provider_key, hash, dims, updated_at, embedding)
               VALUES (?, ?, ?, ?, ?, ?, ?)""",
            (provider, model, space_id, digest, len(vector), now_ms, vector.astype("<f4").tobytes()),
        )
        added += db.changes()
    return added


def read_openclaw_agent_cache(path: Path, model: str, problems: list[str]) -> Iterator[CachedVector]:
    """Yield the vectors of one model that OpenClaw 2026.9 stores in an agent's own database.

    That database has conversations that exist nowhere else: it is opened read-only, its log mode stays, and it is read
    in short transactions. Errors are appended to `problems`.
    """
    if not path.is_file():
        return
    try:
        db = connect_read_only(path)
    except apsw.Error as error:
        problems.append(f"{path} can't be opened ({type(error).__name__}); its vectors are not reused")
        return
    try:
        version = get_int(db, "PRAGMA user_version")
        if version != AGENT_SCHEMA:
            problems.append(
                f"{path} has schema {version}, this release supports {AGENT_SCHEMA}; only known columns are read"
            )
        yield from _agent_rows(db, model)
    except apsw.Error as error:
        problems.append(
            f"the embedding cache in {path} can't be read ({type(error).__name__}: schema changed?)"
        )
    finally:
        db.close(True)


def _agent_rows(db: Database, model: str) -> Iterator[CachedVector]:
    """Yield vectors in batches, each in its own transaction."""
    after = ("", "", "")
    while True:
        rows = db.execute(
            """SELECT provider, provider_key, hash, embedding FROM memory_embedding_cache
               WHERE model = ? AND (provider, provider_key, hash) > (?, ?, ?)
               ORDER BY provider, provider_key, hash LIMIT ?""",
            (model, *after, READ_ROWS),
        ).fetchall()
        for provider, _, digest, embedding in rows:
            vector = unit_vector(embedding, blob_type="<f8")
            if vector is not None:
                yield str(provider), model, str(digest), vector
        if len(rows) < READ_ROWS:
            return
        after = (str(rows[-1][0]), str(rows[-1][1]), str(rows[-1][2]))


def unit_vector(value: object, *, blob_type: str = "<f4") -> NDArray[np.float32] | None:
    """Return a stored embedding as a vector of unit length, or None if it is invalid or zero."""
    try:
        if isinstance(value, str):
            exact = np.array(_decode_numbers.decode(value), dtype=np.float64)
        elif isinstance(value, bytes):
            exact = np.frombuffer(value, dtype=blob_type).astype(np.float64)
        else:
            return None
    except (msgspec.MsgspecError, ValueError):
        return None
    length = float(np.linalg.norm(exact)) if exact.size else 0.0
    if not np.isfinite(length) or length == 0.0:
        return None
    return (exact / length).astype(np.float32)


def _copy_chunks(old: Database, new: Database, now_ms: int) -> set[str]:
    """Copy chunks with their keyword rows; return the files whose chunks aren't slices of the file."""
    split: set[str] = set()
    seen: set[tuple[str, int, int, str]] = set()
    key = 0
    for path, source, start, end, digest, text in old.execute(
        "SELECT path, source, start_line, end_line, hash, text FROM chunks ORDER BY path, start_line"
    ):
        if (path, start, end, digest) in seen:  # the same chunk under two models
            continue
        seen.add((path, start, end, digest))
        key += 1
        if text.count("\n") != end - start:
            split.add(path)
        new.execute(
            """INSERT INTO chunks (id, path, source, start_line, end_line, start_char, end_char, hash, likeness,
               updated_at, context, text) VALUES (?, ?, ?, ?, ?, 0, 0, ?, 0, ?, '', ?)""",
            (key, path, source, start, end, digest, now_ms, text),
        )
        insert_words(new, key, path, "", text)
    return split


def _openclaw_vectors(old: Database, meta: dict[str, Any]) -> Iterator[CachedVector]:
    """Yield all vectors of an index file: those of its cache, newest first, then those of its chunks."""
    providers: dict[str, str] = {}
    if {"provider", "model", "hash", "embedding"} <= columns_of(old, "embedding_cache").keys():
        for provider, model, digest, embedding in old.execute(
            "SELECT provider, model, hash, embedding FROM embedding_cache ORDER BY updated_at DESC"
        ):
            providers.setdefault(model, provider)
            vector = unit_vector(embedding)
            if vector is not None:
                yield provider, model, digest, vector
    if meta.get("model") and meta.get("provider"):
        providers[str(meta["model"])] = str(meta["provider"])
    for model, digest, embedding in old.execute(
        "SELECT model, hash, embedding FROM chunks ORDER BY updated_at DESC"
    ):
        vector = unit_vector(embedding)
        provider = providers.get(model)
        if vector is not None and provider is not None:
            yield provider, model, digest, vector


def _openclaw_meta(old: Database) -> dict[str, Any]:
    """Return OpenClaw's metadata of its index; empty if it can't be read."""
    if not {"key", "value"} <= columns_of(old, "meta").keys():
        return {}
    row = old.execute("SELECT value FROM meta WHERE key = ?", (OPENCLAW_META,)).fetchone()
    try:
        value = json.loads(row[0]) if row is not None else {}
    except (ValueError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}


def _set_space(new: Database, meta: dict[str, Any], space_of: SpaceOf) -> None:
    """Make the space that OpenClaw searched the active one until another is complete."""
    provider, model = meta.get("provider"), meta.get("model")
    if not isinstance(provider, str) or not isinstance(model, str):
        return
    space_id = space_of(provider, model)
    dims = find_dims(new, space_id)
    if dims is not None:
        set_active_space(new, space_id, dims)


def _set_chunking_scheme(new: Database, meta: dict[str, Any]) -> None:
    """Record OpenClaw's chunking scheme, so that files are chunked as before and keep their vectors."""
    tokens, overlap = meta.get("chunkTokens"), meta.get("chunkOverlap")
    if not (isinstance(tokens, int) and isinstance(overlap, int) and 0 <= overlap < tokens):
        tokens, overlap = DEFAULT_CUT
    set_adopted_chunking_scheme(new, tokens, overlap)
