"""Indexes filled by tests: chunks, vectors, whole notes, and indexes of OpenClaw; and searches in them."""

from __future__ import annotations

import datetime
import hashlib
import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import trio
from numpy.typing import NDArray

from memd.index import chunks_vec
from memd.index.cache import SpaceKey, find_dims, set_active_space, store_vectors, trim
from memd.index.connection import IndexFile
from memd.index.database import WRITER, connect, transaction
from memd.index.files import FileRow, IndexChange, forget_file, publish_file
from memd.index.keyword import Scope
from memd.index.numbers import pack_ids
from memd.index.schema import migrate
from memd.index.snapshot import Snapshot, take_snapshot
from memd.index.vectors.cache import MatrixBudget, VectorCache
from memd.index.vectors.matrix import MatrixSearch
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.index.vectors.vector_search import VectorSearch
from memd.search.find import SearchResult, find
from memd.search.query import Query as SearchQuery
from memd.search.query import QueryVector, SearchLimits, parse_query
from memd.settings.schema import QuerySettings
from memd.system.sqlite import Database
from memd.text.cut.chunking import Chunk, cut_chunks
from memd_client.messages import Hit

DIMS = 16

SPACE = SpaceKey("local", "tiny", "space-a")
EXTENSION = VectorExtension()
EXTENSION.load()

TODAY = datetime.date(2026, 11, 20)
"""Today's date in searches."""

TODAY_MS = 1_795_176_000_000
"""Noon of that day."""


def write_until_killed(path: Path, seed: int, committed: Connection) -> None:
    """Change the index until killed, sending a number after each commit."""
    trio.run(_write, path, seed, committed)


async def _write(path: Path, seed: int, committed: Connection) -> None:
    index = await IndexFile.open(path, extension=EXTENSION, clock=lambda: 1)
    pick = random.Random(seed)
    count = 0
    while True:
        await index.write(lambda db: _change(db, pick))
        count += 1
        committed.send(count)


def _change(db: Database, pick: random.Random) -> None:
    """Make one change: a file with new chunks and some vectors, a removed file, or a trim."""
    path = f"memory/{pick.randrange(12)}.md"
    kind = pick.random()
    if kind < 0.15:
        forget_file(db, path)
        return
    if kind < 0.2:
        trim(db, 10)
        return
    texts = [f"text {pick.randrange(400)} " + "word " * 150 for _ in range(pick.randrange(1, 25))]
    publish_file(db, file_row(path), [chunk(text, line) for line, text in enumerate(texts, 1)], 1)
    if kind < 0.8:
        different = sorted(set(texts))
        rows = unit(np.random.default_rng(pick.randrange(9_999)).standard_normal((len(different), DIMS)))
        store_vectors(
            db, SpaceKey(SPACE.provider, SPACE.model, SPACE.id), [hash_of(t) for t in different], rows, 1
        )


def hash_of(text: str) -> str:
    """Return the hash of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def chunk(text: str, line: int = 1) -> Chunk:
    """Return a chunk that starts at a line."""
    return Chunk(line, line + text.count("\n"), text, hash_of(text))


def file_row(path: str, source: str = "memory", mtime_ns: int = 1) -> FileRow:
    """Return a file's row."""
    return FileRow(path, source, hash_of(path), mtime_ns, 10, 1, mtime_ns, 1)


def new_index(path: Path | str = ":memory:", *, extension: bool = True) -> Database:
    """Return a writer on an empty index."""
    db = connect(path, WRITER)
    if extension:
        EXTENSION.load_into(db)
    with transaction(db):
        migrate(db)
    return db


def publish(
    db: Database, path: str, texts: Sequence[str], source: str = "memory", mtime_ns: int = 1
) -> IndexChange:
    """Publish a file of one-line chunks."""
    chunks = [chunk(text, line) for line, text in enumerate(texts, 1)]
    with transaction(db):
        return publish_file(db, file_row(path, source, mtime_ns), chunks, 1)


def publish_note(
    db: Database,
    path: str,
    text: str,
    source: str = "memory",
    cut: Callable[[str, str], list[Chunk]] = cut_chunks,
) -> list[Chunk]:
    """Publish a whole note, chunked as the daemon does, and return its chunks."""
    chunks = cut(text, path)
    with transaction(db):
        publish_file(db, file_row(path, source), chunks, 1)
    return chunks


def publish_folder(db: Database, folder: Path) -> tuple[dict[str, str], list[Chunk]]:
    """Publish all notes of a folder; return their texts by path, and all chunks."""
    notes = sorted(folder.rglob("*.md"))
    texts = {note.relative_to(folder).as_posix(): note.read_text(encoding="utf-8") for note in notes}
    chunks = [each for path, text in texts.items() for each in publish_note(db, path, text)]
    return texts, chunks


def chunk_ids(db: Database) -> dict[str, int]:
    """Return the newest chunk id of each text."""
    return {str(text): int(key) for key, text in db.execute("SELECT id, text FROM chunks ORDER BY id")}


def unit(rows: Sequence[Sequence[float]] | NDArray[np.floating[Any]]) -> NDArray[np.float32]:
    """Return rows scaled to unit length."""
    exact = np.asarray(rows, dtype=np.float64)
    return np.asarray(exact / np.linalg.norm(exact, axis=1, keepdims=True), dtype=np.float32)


def store(
    db: Database, texts: Sequence[str], rows: NDArray[np.float32], space: SpaceKey = SPACE
) -> list[int]:
    """Store vectors of texts."""
    with transaction(db):
        return store_vectors(db, space, [hash_of(text) for text in texts], rows, 1)


def publish_lines(db: Database, lines: Sequence[str], rows: NDArray[np.float32]) -> None:
    """Publish each line as a separate note, `memory/0.md` the first, and store their vectors."""
    for number, line in enumerate(lines):
        publish(db, f"memory/{number}.md", [line])
    store(db, lines, rows)


def store_chunks(
    db: Database, chunks: Sequence[Chunk], rows: NDArray[np.float32], space: SpaceKey = SPACE
) -> None:
    """Store a vector for each chunk; for equal texts the first vector counts."""
    firsts = {each.hash: at for at, each in reversed(list(enumerate(chunks)))}
    with transaction(db):
        store_vectors(db, space, list(firsts), rows[list(firsts.values())], 1)


@dataclass(frozen=True)
class SearchSpec:
    """The parameters of a search, independent of an index."""

    text: str
    settings: QuerySettings
    limits: SearchLimits
    vector: QueryVector | None

    def query(self, snapshot: Snapshot) -> SearchQuery:
        """Return the query for a snapshot, parsed as the daemon does, on `TODAY`."""
        return parse_query(
            self.text,
            snapshot.languages(),
            settings=self.settings,
            limits=self.limits,
            now_ms=TODAY_MS,
            vector=self.vector,
        )


def search_spec(
    text: str,
    settings: QuerySettings | None = None,
    *,
    vector: Sequence[float] | NDArray[np.float32] | None = None,
    max_results: int = 6,
    min_score: float | None = None,
    model: str = "minilm",
    scope: Scope | None = None,
    notes_scope: Scope | None = None,
    explain: bool = False,
    active_projects: tuple[str, ...] = (),
    max_chars: int | None = None,
    include_weak: bool = False,
) -> SearchSpec:
    """Return the parameters of a search."""
    values = None if vector is None else np.asarray(vector, dtype=np.float32)
    return SearchSpec(
        text,
        settings or QuerySettings(),
        SearchLimits(
            max_results, min_score, scope, notes_scope, active_projects, explain, max_chars, include_weak
        ),
        None if values is None else QueryVector(values, SPACE.id, model),
    )


def new_cache() -> VectorCache:
    """Return the vector cache of an empty index."""
    return VectorCache(EXTENSION, MatrixBudget(1 << 30))


def snapshot_of(
    db: Database,
    vectors: VectorSearch | None = None,
    *,
    cache: VectorCache | None = None,
    second_reader: IndexFile | None = None,
) -> Snapshot:
    """Return a snapshot of the current index."""
    return take_snapshot(db, cache or new_cache(), vectors, second_reader)


def search(
    db: Database,
    wanted: SearchSpec,
    vectors: VectorSearch | None = None,
    *,
    cache: VectorCache | None = None,
    is_current: Callable[[Hit], bool] = lambda _: True,
) -> SearchResult:
    """Return the result of a search in the current index."""
    snapshot = snapshot_of(db, vectors, cache=cache)
    return find(snapshot, wanted.query(snapshot), is_current=is_current)


class LoadingMatrix(MatrixSearch):
    """Vectors in RAM, loaded before the first search."""

    def nearest(
        self, db: Database, space_id: str, query: NDArray[np.float32], limit: int, scope: Scope | None = None
    ) -> list[tuple[int, float]]:
        """Load the vectors if necessary, then search them."""
        self.load(db, space_id)
        return super().nearest(db, space_id, query, limit, scope)


def is_exact(hit: Hit, texts: Mapping[str, str]) -> bool:
    """Return whether a hit's snippet is exactly the text of its lines."""
    lines = texts[hit.path].split("\n")[hit.start_line - 1 : hit.end_line]
    breaks = hit.snippet.count("\n")
    return hit.snippet in "\n".join(lines) and breaks == len(lines) - 1 == hit.end_line - hit.start_line


def activate(db: Database, dims: int, space: SpaceKey = SPACE) -> None:
    """Activate a space and fill `chunks_vec` with it."""
    with transaction(db):
        set_active_space(db, space.id, dims)
    refill(db)


def refill(db: Database) -> None:
    """Fill `chunks_vec` with the active space."""
    remaining = 1
    while remaining:
        with transaction(db):
            remaining = chunks_vec.refill(db)


def find_inconsistencies(db: Database) -> list[str]:
    """Return inconsistencies between the tables of an index."""
    wrong = []
    if db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
        wrong.append("integrity")
    chunks = set(db.execute("SELECT id FROM chunks"))
    if chunks != set(db.execute("SELECT id FROM chunks_fts_docsize")):
        wrong.append("keyword rows are not the chunks")
    if db.execute("SELECT count(*) FROM chunks WHERE path NOT IN (SELECT path FROM files)").get:
        wrong.append("chunks without a file")
    used = set(
        db.execute(
            "SELECT id FROM embedding_cache AS e WHERE EXISTS (SELECT 1 FROM chunks WHERE hash = e.hash)"
        )
    )
    state = chunks_vec.find_state(db)
    if state is not None and state.whole and used != set(db.execute("SELECT rowid FROM chunks_vec_rowids")):
        wrong.append("chunks_vec is not the vectors in use")
    return wrong


OPENCLAW_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE files (path TEXT PRIMARY KEY, source TEXT NOT NULL DEFAULT 'memory', hash TEXT NOT NULL,
  mtime INTEGER NOT NULL, size INTEGER NOT NULL);
CREATE TABLE chunks (id TEXT PRIMARY KEY, path TEXT NOT NULL, source TEXT NOT NULL DEFAULT 'memory',
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, hash TEXT NOT NULL, model TEXT NOT NULL,
  text TEXT NOT NULL, embedding TEXT NOT NULL, updated_at INTEGER NOT NULL);
CREATE TABLE embedding_cache (provider TEXT NOT NULL, model TEXT NOT NULL, provider_key TEXT NOT NULL,
  hash TEXT NOT NULL, embedding TEXT NOT NULL, dims INTEGER, updated_at INTEGER NOT NULL,
  PRIMARY KEY (provider, model, provider_key, hash));
CREATE VIRTUAL TABLE chunks_fts USING fts5(text, id UNINDEXED, path UNINDEXED, source UNINDEXED,
  model UNINDEXED, start_line UNINDEXED, end_line UNINDEXED);
"""


def openclaw_index(
    path: Path, texts: Sequence[str], rows: NDArray[np.float32], *, with_vec: bool = True
) -> Database:
    """Return an open index as earlier OpenClaw releases wrote it: one file, one line per chunk."""
    db = connect(path, ())
    db.execute(OPENCLAW_SCHEMA)
    dims = rows.shape[1]
    meta = {
        "model": "embed-1",
        "provider": "openai",
        "providerKey": "k",
        "chunkTokens": 400,
        "vectorDims": dims,
    }
    db.execute("INSERT INTO meta VALUES ('memory_index_meta_v1', ?)", (json.dumps(meta),))
    db.execute("INSERT INTO files VALUES ('MEMORY.md', 'memory', 'filehash', 1700000000123, 99)")
    if with_vec:
        EXTENSION.load_into(db)
        db.execute(
            f"CREATE VIRTUAL TABLE chunks_vec USING vec0(id TEXT PRIMARY KEY, embedding FLOAT[{dims}])"
        )
    for line, (text, row) in enumerate(zip(texts, rows, strict=True), 1):
        numbers = json.dumps([float(number) for number in row])
        db.execute(
            "INSERT INTO chunks VALUES (?, 'MEMORY.md', 'memory', ?, ?, ?, 'embed-1', ?, ?, 1)",
            (f"id{line}", line, line, hash_of(text), text, numbers),
        )
        db.execute("INSERT INTO chunks_fts (text, id) VALUES (?, ?)", (text, f"id{line}"))
        if with_vec:
            db.execute("INSERT INTO chunks_vec VALUES (?, ?)", (f"id{line}", row.astype("<f4").tobytes()))
    return db


def vectors_for(db: Database, space_id: str, ids: Sequence[int]) -> tuple[list[int], NDArray[np.float32]]:
    """Return the ids, ascending, and vectors of a space for some ids; unknown ids are left out."""
    rows: list[tuple[int, bytes]] = list(
        db.execute(
            """SELECT id, embedding FROM embedding_cache
           WHERE id IN (SELECT value FROM json_each(?)) AND provider_key = ? ORDER BY id""",
            (pack_ids(ids), space_id),
        )
    )
    if not rows:
        return [], np.empty((0, find_dims(db, space_id) or 0), dtype=np.float32)
    matrix = np.frombuffer(b"".join(blob for _, blob in rows), dtype="<f4").reshape(len(rows), -1)
    return [key for key, _ in rows], matrix.astype(np.float32)
