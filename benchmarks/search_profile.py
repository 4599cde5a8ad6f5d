"""Where the processor time of one warm search goes, beside floors measured in the same run.

The stages of a search run in this process, one after the other in one thread as they do in the daemon, over the built
corpus. What a whole search costs the daemon is taken from its own process; what the stages don't explain of it is the
way over the socket, through the protocol and to a thread and back.
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

from benchmarks.built import Built, build, home_of, started
from benchmarks.corpus import make_questions, random_vectors
from benchmarks.indexed import only_indexed
from benchmarks.part import Figure, Options, Part, measured
from benchmarks.scale_process import processor_s
from benchmarks.stages import Stages
from memd.index.cache import active_space
from memd.index.chunk_locations import TrackedLocations
from memd.index.database import READER, Database, connect
from memd.index.snapshot import Snapshot, take_snapshot
from memd.index.vectors.cache import MatrixBudget, VectorCache, load_facts
from memd.index.vectors.matrix import MatrixSearch
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.search import find, query, retrieve, snippets
from memd.search.rank import order
from memd.settings.schema import QuerySettings
from memd.sync.disk.discover import Found
from memd.sync.disk.read import FileText, read_file
from memd.sync.disk.verify import check_against
from memd.sync.sources import SourceLimits, Sources
from memd.sync.watch.watcher import Watcher
from memd.text.query.keywords import plan_match
from tests.support.state_homes import StateHome

FILES: Final = 300
LARGEST_FILE: Final = 10**8
ROUNDS: Final = 5

STAGES: Final[tuple[tuple[object, str, str], ...]] = (
    (query, "plan_match", "reading the query"),
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


def measure(options: Options) -> Part:
    """Measure the stages, the floors, and the whole."""
    passages, count = (3_000, 40) if options.quick else (15_000, 200)
    built = build(options, passages, FILES)
    questions = make_questions(count, random.Random(11))
    stages: defaultdict[str, list[float]] = defaultdict(list)
    floors: defaultdict[str, list[float]] = defaultdict(list)
    with home_of(built) as home:
        whole = daemon_round(options, home, built, questions)
        index = home.state / "memory" / "main.memd.sqlite"
        db = connect(index, READER)
        try:
            engine = Engine(db, home.workspace())
            for _ in range(2 if options.quick else ROUNDS):
                options.tell("stages and floors of a search")
                for name, spent in engine.stage_round(questions):
                    stages[name].append(spent)
                for name, spent in engine.floor_round(questions):
                    floors[name].append(spent)
        finally:
            db.close()
    known = sum(median(rounds) for rounds in stages.values())
    return Part(
        name="search-profile",
        title="Where a search spends its time",
        figures=[
            measured("search-profile.whole", "a search, all threads of the daemon", whole, "ms"),
            measured(
                "search-profile.wire", "what the stages below don't explain", [median(whole) - known], "ms"
            ),
            *_rows("stage", stages),
            *_rows("floor", floors),
        ],
        notes=[
            f"{built.passages:,} passages in {built.files} files, {count} different questions whose vectors are known; "
            "milliseconds of processor time a search.",
            "Stages are timed with the timing's own cost on top. Floors do nothing but their one thing: the bare "
            "statement, the bare product, a stat of every file.",
        ],
    )


def daemon_round(options: Options, home: StateHome, built: Built, questions: Sequence[str]) -> list[float]:
    """Return the processor milliseconds that a search costs a daemon, a number a round."""
    rounds = []
    with started(home) as daemon, daemon.client(timeout_s=600) as client:
        only_indexed(client.index(), built.files)
        for question in questions:
            client.search(question, deadline_ms=60_000)
        for _ in range(2 if options.quick else ROUNDS):
            began_s = processor_s([daemon.pid])
            for question in questions:
                client.search(question)
            rounds.append((processor_s([daemon.pid]) - began_s) / len(questions) * 1000)
    return rounds


class Engine:
    """A search of the daemon's own parts, in this process."""

    def __init__(self, db: Database, workspace: Path) -> None:
        self._db = db
        self._workspace = workspace
        self._cache = VectorCache(VectorExtension(), MatrixBudget(1 << 30))
        queue = Watcher(lambda *_: None, clock=lambda: 1).queue("bench")
        self._sources = Sources(workspace, (), SourceLimits(LARGEST_FILE, 10**6, 10**12), None, queue)
        space = active_space(db)
        assert space is not None
        self._space_id, self._dims = space.id, space.dims
        with db:
            self._cache.use_space(load_facts(db, space.id))
            self._cache.warm_up(db)
            self._cache.refresh_locations(db)

    def search(self, question: str, seed: int) -> float:
        """Search, look at the files and all; return the processor milliseconds of the look."""
        began_s = time.thread_time()
        disk = self._sources.find()
        look_ms = (time.thread_time() - began_s) * 1000
        vector = random_vectors(1, np.random.default_rng(seed))[0]
        with self._db:
            snapshot = take_snapshot(self._db, self._cache, self._cache.searcher())
            parsed = query.parse_query(
                question,
                snapshot.languages(),
                settings=QuerySettings(),
                limits=query.SearchLimits(6),
                now_ms=int(time.time() * 1000),
                vector=query.QueryVector(vector, self._space_id, "minilm"),
            )
            find.find(snapshot, parsed, is_current=check_against(disk, None, read_file_of))
        return look_ms

    def stage_round(self, questions: Sequence[str]) -> list[tuple[str, float]]:
        """Return (stage, milliseconds a search), each stage's own time."""
        for seed, question in enumerate(questions[:20]):
            self.search(question, seed)
        stages = Stages(STAGES)
        looks = []
        with stages.timing():
            for seed, question in enumerate(questions):
                looks.append(self.search(question, seed))
        spent = [(name, seconds / len(questions) * 1000) for name, seconds in stages.spent_s.items()]
        return [("look at the files", sum(looks) / len(looks)), *spent]

    def floor_round(self, questions: Sequence[str]) -> list[tuple[str, float]]:
        """Return (floor, milliseconds a search)."""
        plans = [plan_match(question, ("en",)) for question in questions]
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
            by_words = [_cpu_ms(ask([getattr(plan, kind) for plan in plans])) for kind in ("any", "strict")]
        return [
            ("FTS5, any word", by_words[0] / len(plans)),
            ("FTS5, all words", by_words[1] / len(plans)),
            ("bytes of all vectors through one core", min(_cpu_ms(compare) for _ in range(9))),
            ("stat of every file", min(_cpu_ms(self._stat) for _ in range(9))),
        ]

    def _count(self) -> int:
        """Return how many vectors there are."""
        return int(self._db.execute("SELECT count(*) FROM embedding_cache").get)

    def _stat(self) -> None:
        """Ask the system about every note."""
        for folder, _, names in os.walk(self._workspace):
            for name in names:
                os.stat(f"{folder}/{name}")


def read_file_of(found: Found) -> FileText:
    """Return a file's text; never needed here, where nothing has changed."""
    return read_file(found, LARGEST_FILE)


def _cpu_ms(run: Callable[[], object]) -> float:
    """Return the processor milliseconds of this thread that something takes."""
    began_s = time.thread_time()
    run()
    return (time.thread_time() - began_s) * 1000


def _rows(kind: str, spent: dict[str, list[float]]) -> list[Figure]:
    """Return a figure for each stage or floor, the dearest first."""
    named = sorted(spent.items(), key=lambda item: -median(item[1]))
    return [
        measured(f"search-profile.{kind}.{name.lower().replace(' ', '_')}", f"{kind}: {name}", rounds, "ms")
        for name, rounds in named
    ]
