"""CPU time of one indexed chunk by stage, with lower bounds measured in the same run.

An agent's own text sync and vector writer work in this process on a real index. The time of a stage is that of its
thread's CPU clock, without waiting and without work in other threads. Stages are timed in rounds of their own, because
timing costs time; totals come from the other rounds.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import apsw
import numpy as np
import trio
from numpy.typing import NDArray

from benchmarks.corpus import DIMS, make_corpus, random_vectors
from benchmarks.part import Figure, Options, Part, at_most, measured
from benchmarks.reply_reading import reading_figures
from benchmarks.stage_timer import StageTimer
from memd.index import chunks_vec, connection, database, files, keyword
from memd.index.cache import SpaceKey
from memd.index.connection import IndexFile
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.settings.schema import Chunking
from memd.sources import notes
from memd.sources.agent_sources import AgentSources
from memd.sources.capacity import SourceLimits
from memd.sync.search_scheduler import SearchScheduler
from memd.sync.text import file_rows as cut
from memd.sync.text import file_rows as rows
from memd.sync.text import text_sync as reconcile
from memd.sync.text.file_rows import FileRows
from memd.sync.text.text_sync import TextSync
from memd.sync.vectors import vector_writer
from memd.sync.vectors.vector_writer import CacheLimits, FillEvents, VectorWriter
from memd.system.clock import wall_clock_ms
from memd.system.sqlite import Database
from tests.support.state_homes import StateHome

BAR_MS: Final = 0.3
BATCH: Final = 128
"""Vectors stored at once: the daemon's largest request to a provider."""

LIMITS: Final = SourceLimits(10_000_000, 100_000, 10**10)
SPACE: Final = SpaceKey("local", "near-free", "a" * 64)

STAGES: Final[tuple[tuple[object, str, str], ...]] = (
    (notes, "read_file", "reading and hashing the file"),
    (cut, "cut_chunks", "cutting chunks"),
    (files, "simhashes", "simhash"),
    (keyword, "extra_words", "stems and name variants"),
    (files, "insert_words_of_file", "FTS5 insert"),
    (files, "_insert_chunks", "rows insert"),
    (rows, "publish_file", "comparing with earlier rows"),
    (reconcile, "merge_segments", "merge of the keyword index"),
    (vector_writer, "store_vectors", "vectors into the cache"),
    (chunks_vec, "follow", "vectors into sqlite-vec"),
    (connection, "transaction", "commit"),
)
"""(module, function, its stage). A function's time excludes calls of functions with a stage of their own. FTS5
writes its segments in the commit, SQLite its log and at times the file."""

REST: Final = "other"

LABELS: Final = {"stage": "stage", "floor": "lower bound"}


class IndexingCost(NamedTuple):
    """Microseconds of CPU time per chunk in one round."""

    chunks: int
    text: float
    vectors: float


def measure(options: Options) -> Part:
    """Measure all stages and lower bounds."""
    chunks, notes, rounds = (700, 40, 2) if options.quick else (4_400, 300, 5)
    totals: list[IndexingCost] = []
    stages: defaultdict[str, list[float]] = defaultdict(list)
    floors: defaultdict[str, list[float]] = defaultdict(list)
    extension = VectorExtension()
    extension.load()
    with StateHome() as home:
        make_corpus(home, chunks, notes, random.Random(7))
        for number in range(rounds):
            options.show_progress(f"indexing: round {number + 1} of {rounds}")
            index = options.work / f"index-{number}.sqlite"
            totals.append(trio.run(index_all, home.workspace(), index, extension))
            for name, spent in stage_round(
                home.workspace(), options.work / f"staged-{number}.sqlite", extension
            ):
                stages[name].append(spent)
            for name, spent in floor_round(home.workspace(), index, options.work / f"floor-{number}.sqlite"):
                floors[name].append(spent)
    return Part(
        name="indexing",
        title="Indexing one chunk, by stage",
        figures=[
            *_totals(totals),
            *reading_figures(rounds),
            *_rows("stage", stages),
            *_rows("floor", floors),
        ],
        notes=[
            f"{totals[0].chunks} chunks in {notes} files, {DIMS} dimensions; CPU time of this process, all its"
            " threads, per chunk.",
            "Stages are timed in rounds of their own and include the cost of timing.",
            "Lower bounds do one thing only, in one transaction, without any index.",
        ],
    )


def stage_round(workspace: Path, index: Path, extension: VectorExtension) -> list[tuple[str, float]]:
    """Return (stage, microseconds per chunk) of one round, in the order of `STAGES`."""
    stages = StageTimer(STAGES, REST)
    with stages.timing():
        indexed = trio.run(index_all, workspace, index, extension)
    names = list(dict.fromkeys(stage for _, _, stage in STAGES))
    per_chunk = [(name, stages.spent_s[name] / indexed.chunks * 1e6) for name in names]
    rest = indexed.text + indexed.vectors - sum(spent for _, spent in per_chunk)
    return [*per_chunk, (REST, max(0.0, rest))]


async def index_all(workspace: Path, path: Path, extension: VectorExtension) -> IndexingCost:
    """Index a workspace's text, then store a vector for each chunk; return the cost of both."""
    index = await IndexFile.open(path, extension=extension, clock=wall_clock_ms, space_of=lambda *_: "")
    try:
        async with syncing(index, workspace) as text:
            began_s = time.process_time()
            await text.sync()
            text_s = time.process_time() - began_s
        hashes = await index.read(_hashes)
        count = len(await index.read(_texts))
        matrix = random_vectors(len(hashes), np.random.default_rng(3))
        writer = VectorWriter(
            index, SPACE, CacheLimits(None, None), tuple, wall_clock_ms, _events_without_listeners()
        )
        began_s = time.process_time()
        for at in range(0, len(hashes), BATCH):
            await writer.store(hashes[at : at + BATCH], matrix[at : at + BATCH], {}, renewing=False)
        vectors_s = time.process_time() - began_s
    finally:
        await index.close()
    return IndexingCost(count, text_s / count * 1e6, vectors_s / count * 1e6)


@asynccontextmanager
async def syncing(index: IndexFile, workspace: Path) -> AsyncIterator[TextSync]:
    """Keep an index's text in sync inside the block, as the daemon does."""
    disk = trio.CapacityLimiter(2)
    found = AgentSources([notes.WorkspaceNotes(workspace, (), LIMITS.file_bytes)], LIMITS)
    held = FileRows(
        "main",
        index,
        found,
        chunking=Chunking(),
        clock=wall_clock_ms,
        disk=disk,
        on_published=lambda published: None,
    )
    text = TextSync(index, found, held, clock=wall_clock_ms, disk=disk, scheduler=SearchScheduler())
    await text.load()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(text.run)
        yield text
        nursery.cancel_scope.cancel()


def floor_round(workspace: Path, index: Path, path: Path) -> list[tuple[str, float]]:
    """Return (lower bound, microseconds per chunk) of one round over the texts of an index."""
    whole = [file.read_bytes() for file in sorted(workspace.rglob("*.md"))]
    source = apsw.Connection(str(index), flags=apsw.SQLITE_OPEN_READONLY)
    held = source.execute("SELECT * FROM chunks ORDER BY id").fetchall()
    texts = _texts(source)
    source.close()
    vectors = [row.tobytes() for row in random_vectors(len(held), np.random.default_rng(3))]
    db = database.connect(path, database.WRITER)
    marks = ", ".join("?" * len(held[0]))
    db.execute(
        f"""CREATE VIRTUAL TABLE words USING fts5
            (text, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2');
            CREATE TABLE plain ({", ".join(f"c{number}" for number in range(len(held[0])))});
            CREATE TABLE vectors (id INTEGER PRIMARY KEY, vector BLOB)"""
    )
    floors: list[tuple[str, Callable[[], object]]] = [
        ("SHA-256 of the files", lambda: [hashlib.sha256(each).digest() for each in whole]),
        (
            "FTS5 insert of the same texts",
            lambda: _in_one(db, "INSERT INTO words (rowid, text) VALUES (?, ?)", list(enumerate(texts, 1))),
        ),
        ("row insert", lambda: _in_one(db, f"INSERT INTO plain VALUES ({marks})", held)),
        (
            "BLOB insert of the vectors",
            lambda: _in_one(db, "INSERT INTO vectors VALUES (?, ?)", list(enumerate(vectors, 1))),
        ),
    ]
    try:
        return [(name, _cpu_s(run) / len(held) * 1e6) for name, run in floors]
    finally:
        db.close()


def _in_one(db: Database, statement: str, rows: Sequence[Any]) -> None:
    """Run a statement for all rows in one transaction."""
    with database.transaction(db):
        db.executemany(statement, rows)


def _cpu_s(run: Callable[[], object]) -> float:
    """Return the CPU seconds of a call in this thread."""
    began_s = time.thread_time()
    run()
    return time.thread_time() - began_s


def _hashes(db: Database) -> list[str]:
    """Return the hashes of all chunks, each once, in order."""
    return [str(row[0]) for row in db.execute("SELECT hash FROM chunks GROUP BY hash ORDER BY min(id)")]


def _texts(db: Database) -> list[str]:
    """Return the texts of all chunks, in order."""
    return [str(row[0]) for row in db.execute("SELECT text FROM chunks ORDER BY id")]


def _events_without_listeners() -> FillEvents:
    """Return events without listeners."""

    async def stored(ids: list[int], matrix: NDArray[np.float32], gone: list[int]) -> None:
        pass

    async def whole() -> None:
        pass

    return FillEvents(stored, lambda: None, whole)


def _totals(rounds: Sequence[IndexingCost]) -> list[Figure]:
    """Return the milliseconds of one chunk, of its text and of its vector."""
    text, vectors = ([each.text / 1000 for each in rounds], [each.vectors / 1000 for each in rounds])
    both = [one + other for one, other in zip(text, vectors, strict=True)]
    return [
        at_most("indexing.chunk", "one chunk, text and vector", both, "ms", BAR_MS),
        measured("indexing.text", "… its text, for keyword search", text, "ms"),
        measured("indexing.vector", "… its vector, stored twice", vectors, "ms"),
    ]


def _rows(kind: str, spent: dict[str, list[float]]) -> list[Figure]:
    """Return a figure for each stage or lower bound, the most expensive first."""
    named = sorted(spent.items(), key=lambda item: -median(item[1]))
    return [
        measured(f"indexing.{kind}.{name.lower().replace(' ', '_')}", f"{LABELS[kind]}: {name}", rounds, "µs")
        for name, rounds in named
    ]
