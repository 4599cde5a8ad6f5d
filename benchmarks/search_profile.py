"""CPU time of one search by stage, with lower bounds of the same run.

The stages run in one thread of this process, as in the daemon, over a cached corpus. The total is that of a real
daemon; the difference is the socket, the protocol, and switching to a thread and back.
"""

from __future__ import annotations

import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from benchmarks.built_corpus import BuiltCorpus, build, home_of, started
from benchmarks.corpus import make_queries, random_vectors
from benchmarks.part import Figure, Options, Part, measured
from benchmarks.scale_process import processor_s
from benchmarks.stage_timer import StageTimer
from benchmarks.sync_checks import check_one_indexed
from memd.index.cache import active_space
from memd.index.chunk_locations import TrackedLocations
from memd.index.database import READER, connect
from memd.index.snapshot import Snapshot, take_snapshot
from memd.index.vectors.cache import MatrixBudget, VectorCache, load_facts
from memd.index.vectors.matrix import MatrixSearch
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.search import find, query, retrieve, snippets
from memd.search.hit_check import check_against
from memd.search.rank import order
from memd.settings.schema import QuerySettings
from memd.sources.agent_sources import AgentSources
from memd.sources.capacity import SourceLimits
from memd.sources.notes import WorkspaceNotes
from memd.sources.read import read_file
from memd.sources.source import MEMORY, FileText, SourceFile
from memd.sources.watch.watcher import Watcher
from memd.system.sqlite import Database
from memd.text.query.keywords import plan_match
from tests.support.state_homes import StateHome

FILES: Final = 300
LARGEST_FILE: Final = 10**8
ROUNDS: Final = 5

STAGES: Final[tuple[tuple[object, str, str], ...]] = (
    (query, "plan_match", "parsing the query"),
    (Snapshot, "correct", "misspelled terms"),
    (retrieve._KeywordSearch, "run", "keyword search"),
    (retrieve._KeywordSearch, "read", "keyword candidates"),
    (MatrixSearch, "nearest", "nearest vectors"),
    (TrackedLocations, "chunks_of", "chunks of vectors"),
    (order, "load_texts", "texts"),
    (order, "locate", "locations of candidates"),
    (order, "chunks_by_id", "rows of hits"),
    (order, "_fuse_normalized", "fusion and neighbours"),
    (order, "exact_match_counts", "exact terms"),
    (find, "rank", "other ranking"),
    (find, "judge_relevance", "relevance"),
    (snippets, "load_regions", "surroundings of hits"),
    (snippets, "grow_window", "windows"),
    (find, "build_hits", "other snippet work"),
)


LABELS: Final = {"stage": "stage", "floor": "lower bound"}


def measure(options: Options) -> Part:
    """Measure the stages, the lower bounds, and the total."""
    chunks, count = (3_000, 40) if options.quick else (15_000, 200)
    built = build(options, chunks, FILES)
    queries = make_queries(count, random.Random(11))
    stages: defaultdict[str, list[float]] = defaultdict(list)
    floors: defaultdict[str, list[float]] = defaultdict(list)
    with home_of(built) as home:
        whole = daemon_round(options, home, built, queries)
        index = home.state / "memory" / "main.memd.sqlite"
        db = connect(index, READER)
        try:
            engine = InProcessSearch(db, home.workspace())
            for _ in range(2 if options.quick else ROUNDS):
                options.show_progress("stages and floors of a search")
                for name, spent in engine.stage_round(queries):
                    stages[name].append(spent)
                for name, spent in engine.floor_round(queries):
                    floors[name].append(spent)
        finally:
            db.close()
    known = sum(median(rounds) for rounds in stages.values())
    return Part(
        name="search-profile",
        title="One search, by stage",
        figures=[
            measured("search-profile.whole", "one search, all threads of the daemon", whole, "ms"),
            measured("search-profile.wire", "socket, protocol and the rest", [median(whole) - known], "ms"),
            *_rows("stage", stages),
            *_rows("floor", floors),
        ],
        notes=[
            f"{built.chunks:,} chunks in {built.files} files, {count} different queries whose vectors are known; "
            "milliseconds of CPU time per search.",
            "Stages include the cost of timing. Lower bounds do one thing only: the bare statement, the bare "
            "product, a stat of every file.",
        ],
    )


def daemon_round(
    options: Options, home: StateHome, built: BuiltCorpus, queries: Sequence[str]
) -> list[float]:
    """Return the CPU milliseconds of a search in a daemon, one number per round."""
    rounds = []
    with started(home) as daemon, daemon.client(timeout_s=600) as client:
        check_one_indexed(client.index(), built.files)
        for text in queries:
            client.search(text, deadline_ms=60_000)
        for _ in range(2 if options.quick else ROUNDS):
            began_s = processor_s([daemon.pid])
            for text in queries:
                client.search(text)
            rounds.append((processor_s([daemon.pid]) - began_s) / len(queries) * 1000)
    return rounds


class InProcessSearch:
    """A search with the daemon's own parts in this process."""

    def __init__(self, db: Database, workspace: Path) -> None:
        self._db = db
        self._workspace = workspace
        self._cache = VectorCache(VectorExtension(), MatrixBudget(1 << 30))
        queue = Watcher(lambda *_: None, clock=lambda: 1).queue("bench", MEMORY)
        notes = WorkspaceNotes(workspace, (), LARGEST_FILE, queue)
        self._sources = AgentSources([notes], SourceLimits(LARGEST_FILE, 10**6, 10**12))
        space = active_space(db)
        assert space is not None
        self._space_id, self._dims = space.id, space.dims
        with db:
            self._cache.use_space(load_facts(db, space.id))
            self._cache.warm_up(db)
            self._cache.refresh_locations(db)

    def search(self, text: str, seed: int) -> float:
        """Check the files and search; return the CPU milliseconds of the check."""
        began_s = time.thread_time()
        disk = self._sources.find()
        look_ms = (time.thread_time() - began_s) * 1000
        vector = random_vectors(1, np.random.default_rng(seed))[0]
        with self._db:
            snapshot = take_snapshot(self._db, self._cache, self._cache.searcher())
            parsed = query.parse_query(
                text,
                snapshot.languages(),
                settings=QuerySettings(),
                limits=query.SearchLimits(6),
                now_ms=int(time.time() * 1000),
                vector=query.QueryVector(vector, self._space_id, "minilm"),
            )
            find.find(snapshot, parsed, is_current=check_against(disk, None, read_file_of))
        return look_ms

    def stage_round(self, queries: Sequence[str]) -> list[tuple[str, float]]:
        """Return (stage, milliseconds per search), each stage's own time."""
        for seed, text in enumerate(queries[:20]):
            self.search(text, seed)
        stages = StageTimer(STAGES)
        looks = []
        with stages.timing():
            for seed, text in enumerate(queries):
                looks.append(self.search(text, seed))
        spent = [(name, seconds / len(queries) * 1000) for name, seconds in stages.spent_s.items()]
        return [("check of the files", sum(looks) / len(looks)), *spent]

    def floor_round(self, queries: Sequence[str]) -> list[tuple[str, float]]:
        """Return (lower bound, milliseconds per search)."""
        plans = [plan_match(text, ("en",)) for text in queries]
        ranked = "SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? ORDER BY rank LIMIT 100"
        rows = np.random.default_rng(1).integers(-127, 127, (self._count(), self._dims), dtype=np.int8)
        vector = random_vectors(1, np.random.default_rng(2))[0]
        block = np.empty((1024, self._dims), dtype=np.float32)

        def compare() -> None:
            for at in range(0, len(rows), 1024):
                part = rows[at : at + 1024]
                np.copyto(block[: len(part)], part, casting="unsafe")
                np.dot(block[: len(part)], vector)

        def ask(matches: Sequence[str | None]) -> Callable[[], object]:
            return lambda: [self._db.execute(ranked, (each,)).fetchall() for each in matches if each]

        with self._db:
            keyword_ms = [_cpu_ms(ask([getattr(plan, kind) for plan in plans])) for kind in ("any", "strict")]
        return [
            ("FTS5, any term", keyword_ms[0] / len(plans)),
            ("FTS5, all terms", keyword_ms[1] / len(plans)),
            ("comparing all vectors on one core", min(_cpu_ms(compare) for _ in range(9))),
            ("stat of every file", min(_cpu_ms(self._stat) for _ in range(9))),
        ]

    def _count(self) -> int:
        """Return the number of vectors."""
        return int(self._db.execute("SELECT count(*) FROM embedding_cache").get)

    def _stat(self) -> None:
        """Call stat for every note."""
        for folder, _, names in os.walk(self._workspace):
            for name in names:
                os.stat(f"{folder}/{name}")


def read_file_of(found: SourceFile) -> FileText:
    """Return a file's text; never called here, because no file changes."""
    return read_file(found, LARGEST_FILE)


def _cpu_ms(run: Callable[[], object]) -> float:
    """Return the CPU milliseconds of a call in this thread."""
    began_s = time.thread_time()
    run()
    return (time.thread_time() - began_s) * 1000


def _rows(kind: str, spent: dict[str, list[float]]) -> list[Figure]:
    """Return a figure for each stage or lower bound, the most expensive first."""
    named = sorted(spent.items(), key=lambda item: -median(item[1]))
    return [
        measured(
            f"search-profile.{kind}.{name.lower().replace(' ', '_')}", f"{LABELS[kind]}: {name}", rounds, "ms"
        )
        for name, rounds in named
    ]
