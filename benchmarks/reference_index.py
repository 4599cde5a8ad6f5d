"""The reference design: OpenClaw's memory as its first releases were described.

Its tables are `files`, `chunks` (the embedding as JSON text), `chunks_fts`, `chunks_vec` (vec0) and `embedding_cache`.
A search is a scan by `vec_distance_cosine` over `chunks_vec` joined to `chunks`, an FTS5 query of all words joined by
AND, and a weighted sum of both. Every statement is a transaction, with SQLite's default journal and synchronous mode.

If the descriptions leave something open, the faster choice is taken: JSON is written by a fast encoder, and vectors
cost nothing.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import apsw
import msgspec
import numpy as np
import sqlite_vec
from numpy.typing import NDArray

MODEL: Final = "minilm"

MAX_RESULTS: Final = 6
CANDIDATES: Final = 4 * MAX_RESULTS
"""`maxResults` times `candidateMultiplier`."""

VECTOR_WEIGHT: Final = 0.7
TEXT_WEIGHT: Final = 0.3
SNIPPET_CHARACTERS: Final = 700

WORD: Final = re.compile(r"\w+")

TABLES: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE files (
  path TEXT PRIMARY KEY, source TEXT NOT NULL DEFAULT 'memory', hash TEXT NOT NULL,
  mtime INTEGER NOT NULL, size INTEGER NOT NULL
);
CREATE TABLE chunks (
  id TEXT PRIMARY KEY, path TEXT NOT NULL, source TEXT NOT NULL DEFAULT 'memory',
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, hash TEXT NOT NULL, model TEXT NOT NULL,
  text TEXT NOT NULL, embedding TEXT NOT NULL, updated_at INTEGER NOT NULL
);
CREATE TABLE embedding_cache (
  provider TEXT NOT NULL, model TEXT NOT NULL, provider_key TEXT NOT NULL, hash TEXT NOT NULL,
  embedding TEXT NOT NULL, dims INTEGER, updated_at INTEGER NOT NULL,
  PRIMARY KEY (provider, model, provider_key, hash)
);
CREATE VIRTUAL TABLE chunks_fts USING fts5(
  text, id UNINDEXED, path UNINDEXED, source UNINDEXED, model UNINDEXED, start_line UNINDEXED, end_line UNINDEXED
);
"""


class ReferenceChunk(NamedTuple):
    """A chunk of a file."""

    path: str
    start_line: int
    end_line: int
    text: str

    @property
    def hash(self) -> str:
        """The SHA-256 of its text."""
        return _sha256(self.text.encode())

    @property
    def id(self) -> str:
        """Derived from its location and text."""
        return _sha256(f"memory:{self.path}:{self.start_line}:{self.end_line}:{self.hash}:{MODEL}".encode())


class ReferenceHit(NamedTuple):
    """A search result."""

    path: str
    start_line: int
    end_line: int
    score: float
    snippet: str


ChunkingScheme = Callable[[str, str], Iterable[ReferenceChunk]]
"""(content, path) -> its chunks."""

VectorOf = Callable[[str], NDArray[np.float32]]
"""A text's unit vector."""


class ReferenceIndex:
    """The index of one agent.

    Resources: one connection, closed by `close` or at the end of a `with`.
    """

    def __init__(self, path: Path, dims: int) -> None:
        fresh = not path.exists()
        self._db = apsw.Connection(str(path))
        self._db.enable_load_extension(True)
        self._db.load_extension(sqlite_vec.loadable_path())
        self._db.execute("PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL")
        if fresh:
            self._db.execute(TABLES)
            self._db.execute(
                f"CREATE VIRTUAL TABLE chunks_vec USING vec0(id TEXT PRIMARY KEY, embedding FLOAT[{dims}])"
            )

    def __enter__(self) -> ReferenceIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def fill(self, chunks: Sequence[ReferenceChunk], vectors: NDArray[np.float32]) -> None:
        """Insert chunks in one transaction."""
        with self._db:
            for chunk, vector in zip(chunks, vectors, strict=True):
                self._insert(chunk, chunk.hash, vector, _as_json(vector))

    def index(self, workspace: Path, cut: ChunkingScheme, vector_of: VectorOf) -> int:
        """Index all files of a new workspace; return the number of chunks."""
        count = 0
        for location in _memory_files(workspace):
            content = location.read_bytes()
            state, path = location.stat(), location.relative_to(workspace).as_posix()
            for chunk in cut(content.decode(), path):
                self._add(chunk, vector_of(chunk.text))
                count += 1
            self._db.execute(
                "INSERT INTO files VALUES (?, 'memory', ?, ?, ?)",
                (path, _sha256(content), state.st_mtime_ns // 1_000_000, state.st_size),
            )
        return count

    def search(self, query: str, vector: NDArray[np.float32]) -> list[ReferenceHit]:
        """Return the best chunks by weighted vector and keyword scores."""
        nearest = self._db.execute(
            "SELECT c.id, c.path, c.start_line, c.end_line, c.text,"
            " vec_distance_cosine(v.embedding, ?) AS dist FROM chunks_vec v JOIN chunks c ON c.id = v.id"
            " WHERE c.model = ? ORDER BY dist ASC LIMIT ?",
            (vector.tobytes(), MODEL, CANDIDATES),
        ).fetchall()
        words = " AND ".join(f'"{word}"' for word in WORD.findall(query))
        worded = self._db.execute(
            "SELECT id, path, start_line, end_line, text, bm25(chunks_fts) AS rank FROM chunks_fts"
            " WHERE chunks_fts MATCH ? AND model = ? ORDER BY rank ASC LIMIT ?",
            (words, MODEL, CANDIDATES),
        ).fetchall()
        return _merged(nearest, worded)

    def _add(self, chunk: ReferenceChunk, vector: NDArray[np.float32]) -> None:
        """Index a chunk whose embedding may be cached."""
        row = self._db.execute(
            "SELECT embedding FROM embedding_cache"
            " WHERE provider = 'openai' AND model = ? AND provider_key = 'key' AND hash = ?",
            (MODEL, chunk.hash),
        ).fetchone()
        packed = _as_json(vector) if row is None else str(row[0])
        if row is None:
            self._db.execute(
                "INSERT INTO embedding_cache VALUES ('openai', ?, 'key', ?, ?, ?, 0)",
                (MODEL, chunk.hash, packed, len(vector)),
            )
        self._insert(chunk, chunk.hash, vector, packed)

    def _insert(self, chunk: ReferenceChunk, digest: str, vector: NDArray[np.float32], packed: str) -> None:
        key, (path, start, end, text) = chunk.id, chunk
        self._db.execute(
            "INSERT INTO chunks VALUES (?, ?, 'memory', ?, ?, ?, ?, ?, ?, 0) ON CONFLICT(id) DO UPDATE SET"
            " text = excluded.text, embedding = excluded.embedding, updated_at = excluded.updated_at",
            (key, path, start, end, digest, MODEL, text, packed),
        )
        self._db.execute("DELETE FROM chunks_vec WHERE id = ?", (key,))
        self._db.execute("INSERT INTO chunks_vec VALUES (?, ?)", (key, vector.tobytes()))
        self._db.execute(
            "INSERT INTO chunks_fts VALUES (?, ?, ?, 'memory', ?, ?, ?)", (text, key, path, MODEL, start, end)
        )


def _merged(
    nearest: list[tuple[apsw.SQLiteValue, ...]], worded: list[tuple[apsw.SQLiteValue, ...]]
) -> list[ReferenceHit]:
    """Return the six best hits by `0.7 * vector score + 0.3 * text score`."""
    places: dict[object, tuple[apsw.SQLiteValue, ...]] = {}
    scores: dict[object, float] = {}
    for row in nearest:
        places[row[0]] = row
        scores[row[0]] = VECTOR_WEIGHT * (1 - float(row[5] or 0))
    for row in worded:
        places.setdefault(row[0], row)
        scores[row[0]] = scores.get(row[0], 0.0) + TEXT_WEIGHT / (1 + max(0.0, float(row[5] or 0)))
    best = sorted(scores, key=lambda key: -scores[key])[:MAX_RESULTS]
    return [_hit(places[key], scores[key]) for key in best]


def _hit(row: tuple[apsw.SQLiteValue, ...], score: float) -> ReferenceHit:
    _, path, start, end, text, _ = row
    return ReferenceHit(str(path), int(start or 0), int(end or 0), score, str(text)[:SNIPPET_CHARACTERS])


def _memory_files(workspace: Path) -> Iterator[Path]:
    top = workspace / "MEMORY.md"
    if top.is_file():
        yield top
    yield from sorted((workspace / "memory").rglob("*.md"))


def _as_json(vector: NDArray[np.float32]) -> str:
    """Return a vector with nine decimals, as providers write it."""
    return msgspec.json.encode(np.round(vector.astype(np.float64), 9).tolist()).decode()


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
