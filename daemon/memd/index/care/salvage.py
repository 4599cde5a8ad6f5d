"""Vectors out of a damaged index, page by page.

A tree that is broken anywhere hides everything below. So the tree isn't asked: each page of the file is looked at by
itself, and what is a whole row of `embedding_cache` with a vector of unit length is taken. See SQLite's file format
documentation for the offsets here. A text whose vector is saved is never embedded again.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from memd.index.cache import FLOAT_BYTES, LENGTH_TOLERANCE
from memd.index.database import PAGE_BYTES, Database
from memd.index.meta import ACTIVE_SPACE, set_active_space, set_meta
from memd.index.spaces import JOBS, SPACES

MAGIC = b"SQLite format 3\0"
FILE_HEADER = 100
TABLE_LEAF, INDEX_LEAF = 13, 10

SMALL_INTS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Bytes of an integer by its serial type."""

VECTOR_COLUMNS = 8
HASH = re.compile(r"[0-9a-f]{64}")

_Value = str | bytes | int | float | None


class SavedVector(NamedTuple):
    """A row of `embedding_cache`, without its id."""

    provider: str
    model: str
    space: str
    hash: str
    dims: int
    updated_at: int
    embedding: bytes


class _BadRecordError(Exception):
    """Bytes that are no row."""


def salvage(damaged: Path, db: Database) -> int:
    """Take over the vectors of a damaged index, and how their providers are made."""
    facts: dict[str, str] = {}
    with damaged.open("rb") as file:
        db.executemany(
            """INSERT INTO embedding_cache (provider, model, provider_key, hash, dims, updated_at, embedding)
               VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (provider_key, hash) DO UPDATE
               SET dims = excluded.dims, updated_at = excluded.updated_at, embedding = excluded.embedding
               WHERE excluded.updated_at > updated_at""",
            _saved_rows(_Pages(file), facts),
        )
    _keep_one_length(db)
    _keep_facts(db, facts)
    return int(db.execute("SELECT count(*) FROM embedding_cache").get)


def _keep_one_length(db: Database) -> None:
    """Delete vectors of a space that are not as long as its newest: they can't be compared with each other."""
    newest: dict[str, tuple[int, int]] = {}
    rows = db.execute(
        "SELECT provider_key, dims, max(updated_at) FROM embedding_cache GROUP BY 1, 2"
    ).fetchall()
    for space, dims, at in rows:
        newest[str(space)] = max(newest.get(str(space), (-1, 0)), (int(str(at)), int(str(dims))))
    for space, (_, dims) in newest.items():
        db.execute("DELETE FROM embedding_cache WHERE provider_key = ? AND dims <> ?", (space, dims))


def _keep_facts(db: Database, facts: dict[str, str]) -> None:
    """Take over how providers are made, jobs that were paid for, and which space answered."""
    for key, value in facts.items():
        if key == SPACES or key.startswith(f"{JOBS}:"):
            set_meta(db, key, value)
    try:
        space, dims = json.loads(facts.get(ACTIVE_SPACE, "null"))
    except (TypeError, ValueError):
        return
    row = db.execute("SELECT dims FROM embedding_cache WHERE provider_key = ? LIMIT 1", (space,)).fetchone()
    if row is not None and row[0] == dims:
        set_active_space(db, space, dims)


def _saved_rows(pages: _Pages, facts: dict[str, str]) -> Iterator[SavedVector]:
    """Yield the vectors of a file; facts of its `meta` are put into `facts` by the way."""
    free = pages.free()
    for number in range(1, pages.count + 1):
        if number in free:
            continue
        for kind, record in pages.records(number):
            try:
                values = _values(record)
            except (_BadRecordError, IndexError, UnicodeDecodeError):
                continue
            if kind == INDEX_LEAF:
                _note_fact(values, facts)
            elif (vector := _as_vector(values)) is not None:
                yield vector


def _note_fact(values: list[_Value], facts: dict[str, str]) -> None:
    """Keep a row of `meta` whose value is still JSON; no other table without row ids has two texts."""
    if len(values) == 2 and isinstance(values[0], str) and isinstance(values[1], str):
        try:
            json.loads(values[1])
        except ValueError:
            return
        facts[values[0]] = values[1]


def _as_vector(values: list[_Value]) -> SavedVector | None:
    """Return a row as a vector, or None where it is none that could be trusted."""
    if len(values) != VECTOR_COLUMNS or values[0] is not None:
        return None
    provider, model, space, digest, dims, updated_at, embedding = values[1:]
    if not (isinstance(provider, str) and isinstance(model, str) and isinstance(space, str)):
        return None
    if not (isinstance(digest, str) and isinstance(dims, int) and isinstance(updated_at, int)):
        return None
    if not isinstance(embedding, bytes) or not embedding or len(embedding) != dims * FLOAT_BYTES:
        return None
    with np.errstate(invalid="ignore", over="ignore"):  # any bytes may stand there
        length = float(np.linalg.norm(np.frombuffer(embedding, dtype="<f4").astype(np.float64)))
    if HASH.fullmatch(digest) is None or not math.isclose(length, 1.0, abs_tol=LENGTH_TOLERANCE):
        return None
    return SavedVector(provider, model, space, digest, dims, updated_at, embedding)


class _Pages:
    """The pages of a file, of which any may be damaged."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        header = file.read(FILE_HEADER)
        size = int.from_bytes(header[16:18], "big") if header.startswith(MAGIC) else 0
        size = 65_536 if size == 1 else size
        self._size = size if size >= 512 and size & (size - 1) == 0 else PAGE_BYTES
        self.count = file.seek(0, 2) // self._size

    def free(self) -> set[int]:
        """Return the pages that hold nothing: what stands there was deleted."""
        free: set[int] = set()
        trunk = int.from_bytes(self._read(1)[32:36], "big")
        while 1 < trunk <= self.count and trunk not in free:
            free.add(trunk)
            page = self._read(trunk)
            many = min(int.from_bytes(page[4:8], "big"), self._size // 4 - 2)
            free.update(int.from_bytes(page[at : at + 4], "big") for at in range(8, 8 + 4 * many, 4))
            trunk = int.from_bytes(page[:4], "big")
        return free

    def records(self, number: int) -> Iterator[tuple[int, bytes]]:
        """Yield the kind of page and the bytes of each row on it; nothing for a page without rows."""
        page = self._read(number)
        start = FILE_HEADER if number == 1 else 0
        if len(page) < self._size or page[start] not in (TABLE_LEAF, INDEX_LEAF):
            return
        kind, cells = page[start], int.from_bytes(page[start + 3 : start + 5], "big")
        for at in range(start + 8, min(start + 8 + 2 * cells, self._size - 1), 2):
            try:
                yield kind, self._payload(page, int.from_bytes(page[at : at + 2], "big"), kind)
            except (_BadRecordError, IndexError, OSError):
                continue

    def _payload(self, page: bytes, at: int, kind: int) -> bytes:
        """Return the bytes of a row, those on further pages included."""
        total, at = _varint(page, at)
        if kind == TABLE_LEAF:
            _, at = _varint(page, at)
        most = self._size - 35 if kind == TABLE_LEAF else (self._size - 12) * 64 // 255 - 23
        if total > self.count * self._size:
            raise _BadRecordError
        if total <= most:
            return page[at : at + total]
        least = (self._size - 12) * 32 // 255 - 23
        here = least + (total - least) % (self._size - 4)
        here = here if here <= most else least
        parts, left = [page[at : at + here]], total - here
        more = int.from_bytes(page[at + here : at + here + 4], "big")
        while left > 0:
            if not 1 < more <= self.count:
                raise _BadRecordError
            rest = self._read(more)
            parts.append(rest[4 : 4 + min(left, self._size - 4)])
            left -= self._size - 4
            more = int.from_bytes(rest[:4], "big")
        return b"".join(parts)

    def _read(self, number: int) -> bytes:
        """Return a page; an empty one where the disk gives none."""
        try:
            self._file.seek((number - 1) * self._size)
            return self._file.read(self._size)
        except OSError:
            return b""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return an integer of SQLite's variable length, and where it ends."""
    value = 0
    for taken in range(8):
        byte = data[at + taken]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + taken + 1
    return value << 8 | data[at + 8], at + 9


def _values(record: bytes) -> list[_Value]:
    """Return the columns of a row."""
    end, at = _varint(record, 0)
    kinds: list[int] = []
    while at < end:
        kind, at = _varint(record, at)
        kinds.append(kind)
    if at != end or len(kinds) not in (2, VECTOR_COLUMNS):
        raise _BadRecordError
    values: list[_Value] = []
    for kind in kinds:
        value, at = _value(record, at, kind)
        values.append(value)
    if at != len(record):
        raise _BadRecordError
    return values


def _value(record: bytes, at: int, kind: int) -> tuple[_Value, int]:
    """Return one column and where it ends."""
    if kind in (0, 8, 9):
        return (None if kind == 0 else kind - 8), at
    if kind in SMALL_INTS:
        end = at + SMALL_INTS[kind]
        return int.from_bytes(record[at:end], "big", signed=True), end
    if kind < 12:
        raise _BadRecordError
    end = at + (kind - 12) // 2
    if end > len(record):
        raise _BadRecordError
    return (record[at:end] if kind % 2 == 0 else record[at:end].decode()), end
