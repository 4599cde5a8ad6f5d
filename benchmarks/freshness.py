"""Cost of freshness: searches after writes and during a full index.

    python -m benchmarks.freshness [write reconcile full agents] [--mode keyword|meaning|both] [--json]

    write      a random edit among 1,300 files, then the search for it: stale answers and latency
    reconcile  a sync and a search without changes among 1,300 files, and the time of the file checks
    full       searches during a full index of 15,000 blocks, compared with the same searches before it
    agents     searches of 19 agents while another indexes 10,000 new files, compared with the same before it

`--mode meaning` uses the local MiniLM model. The vectors of the initial corpus are random, because embedding it would
take minutes; texts written during the run are embedded. Every query is new, so its vector is computed, and each edit
waits until no vector is missing. The watcher is off: only the search can notice a change.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from benchmarks.corpus import make_corpus, store_random_vectors
from benchmarks.edit_trials import EditTrials, RandomQueries
from benchmarks.sync_checks import check_all_indexed
from memd_client import Client
from memd_client.errors import ConnectionLostError
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome, agents_config

BAR_WRITE_MS = 60.0
BAR_RECONCILE_MS = 100.0
BAR_RATIO = 3.0
BAR_BUSY_MS = 100.0
WARM_UP = 5
"""Calls before the first that counts, for the caches of CPU and SQLite."""

MOST_HYBRID = 300
"""Hybrid answers that a run waits for while vectors are computed: enough for a p95."""

BUSY_LINES = 20
"""Lines of each of the 10,000 new files: most notes are short."""


@dataclass(frozen=True)
class FreshnessSizes:
    """Extent of the measurements; a block is 1,600 characters."""

    files: int = 1300
    trials: int = 1000
    blocks: int = 15_000
    busy_s: float = 20.0
    new_files: int = 10_000


@dataclass
class LatencyRow:
    """One row of the table: milliseconds, the bar, and other observations."""

    name: str
    p50: float
    p95: float
    p99: float
    count: int
    bar_p95: float | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        bar = "" if self.bar_p95 is None else f"  bar {self.bar_p95:.0f}"
        notes = "  ".join(f"{name} {value}" for name, value in self.notes.items())
        times = f"p50 {self.p50:7.2f}  p95 {self.p95:7.2f}  p99 {self.p99:7.2f} ms"
        return f"{self.name:<42} {times}  n {self.count:<5}{bar}  {notes}".rstrip()


def row(name: str, took_s: list[float], bar_p95: float | None = None, **notes: Any) -> LatencyRow:
    """Return the row of a list of times in seconds."""
    cuts = statistics.quantiles([each * 1000 for each in took_s], n=100, method="inclusive")
    p50, p95, p99 = (round(cuts[place], 3) for place in (49, 94, 98))
    return LatencyRow(name, p50, p95, p99, len(took_s), bar_p95, notes)


def corpus(blocks: int, files: int) -> Callable[[StateHome], None]:
    """Return a function that writes a corpus into a home."""
    return lambda home: make_corpus(home, blocks, files, random.Random(7))


def memory_search(mode: str) -> dict[str, Any]:
    """Return the agents' settings of a mode."""
    provider: dict[str, Any] = {"provider": "none"}
    if mode == "meaning":
        provider = {"provider": "local", "local": {"modelPath": "minilm"}}
    return {**provider, "sync": {"watch": False}}


@contextmanager
def prepared(mode: str, fill: Callable[[StateHome], None], *others: str) -> Iterator[DaemonProcess]:
    """Run a daemon over an indexed home, in `meaning` mode with a vector for every chunk."""
    with StateHome() as home:
        home.configure(agents_config(home.state, *others, memory_search=memory_search("keyword")))
        fill(home)
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=600) as client:
            check_all_indexed(client.index())
        if mode == "meaning":
            for index in (home.state / "memory").glob("*.sqlite"):
                store_random_vectors(index, np.random.default_rng(7))
            home.configure(agents_config(home.state, *others, memory_search=memory_search(mode)))
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=600) as client:
            check_all_indexed(client.index())
            yield daemon


def timed(run: Callable[[], object]) -> float:
    """Return the seconds of a call."""
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def repeated(run: Callable[[], object], rounds: int) -> list[float]:
    """Return the seconds of several calls, after a few uncounted ones."""
    for _ in range(WARM_UP):
        run()
    return [timed(run) for _ in range(rounds)]


def measure_write(mode: str, wanted: FreshnessSizes) -> Iterator[LatencyRow]:
    """Edit and search, repeatedly."""
    made: list[EditTrials] = []

    def fill(home: StateHome) -> None:
        make_corpus(home, wanted.files * 2, wanted.files, random.Random(7))
        made.append(EditTrials(home.workspace(), random.Random(5)))

    with prepared(mode, fill) as daemon, daemon.client() as client:
        trials = [made[0].one(client) for _ in range(wanted.trials) if settled(client)]
    for trial in trials:
        if trial.stale:
            print(f"STALE: {trial.kind} {trial.path}: {trial.stale}", file=sys.stderr)
    kinds = sorted({trial.kind for trial in trials})
    for name, some in [
        ("a write", trials),
        *((kind, [t for t in trials if t.kind == kind]) for kind in kinds),
    ]:
        notes = {
            "stale": sum(bool(trial.stale) for trial in some),
            "partial": sum(trial.reply.partial for trial in some),
            "files pending": sum(trial.reply.pending.files > 0 for trial in some),
            "degraded": sum(trial.reply.degraded is not None for trial in some),
        }
        if mode == "meaning":
            notes["chunks pending"] = sum(trial.reply.pending.chunks > 0 for trial in some)
            notes["with vector"] = sum(trial.with_vector for trial in some)
        yield row(f"search after {name}", [trial.took_s for trial in some], BAR_WRITE_MS, **notes)


def settled(client: Client) -> bool:
    """Wait until no vector is missing; return True."""
    while client.status().agents[0].chunks_pending:
        time.sleep(0.01)
    return True


def measure_reconcile(mode: str, wanted: FreshnessSizes) -> Iterator[LatencyRow]:
    """Sync and search without changes."""
    with prepared(mode, corpus(wanted.files * 2, wanted.files)) as daemon, daemon.client() as client:
        ask = RandomQueries()
        yield row("sync without changes", repeated(client.index, 60), BAR_RECONCILE_MS)
        query = ask()
        yield row("search without a change, same query", repeated(lambda: client.search(query), 200))
        yield row("search without a change, new queries", repeated(lambda: client.search(ask()), 200))
        parts: dict[str, list[float]] = {}
        for _ in range(100):
            for name, took_ms in (client.search(ask(), explain=True).timings or {}).items():
                parts.setdefault(name, []).append(took_ms / 1000)
        for name, took_s in parts.items():
            yield row(f"  part: {name}", took_s)


def search_during(
    daemon: DaemonProcess,
    work: Callable[[Client], object],
    search: Callable[[], object],
    enough: Callable[[float], bool],
    *,
    again: bool,
) -> tuple[list[float], int]:
    """Search until other work ends or it is enough; return seconds and work done."""
    ended, rounds, took = threading.Event(), [0], list[float]()

    def keep_busy(client: Client) -> None:
        try:
            while not ended.is_set():
                work(client)
                rounds[0] += 1
                if not again:
                    ended.set()
        except ConnectionLostError:  # closed below
            ended.set()

    with daemon.client(timeout_s=600) as client:
        thread = threading.Thread(target=keep_busy, args=(client,))
        thread.start()
        started = time.perf_counter()
        while not ended.is_set() and not enough(time.perf_counter() - started):
            took.append(timed(search))
        ended.set()
    thread.join()
    return took, rounds[0]


def against_idle(name: str, idle: list[float], busy: list[float], **notes: Any) -> Iterator[LatencyRow]:
    """Yield the idle and the busy row of a comparison, with their ratio."""
    before, beside = row(f"{name}, idle", idle), row(f"{name}, busy", busy, BAR_BUSY_MS, **notes)
    beside.notes["p95 ratio"] = f"{beside.p95 / before.p95:.1f} (bar {BAR_RATIO:.0f})"
    yield before
    yield beside


def measure_full(mode: str, wanted: FreshnessSizes) -> Iterator[LatencyRow]:
    """Search during repeated full indexes: first text, then vectors."""
    with prepared(mode, corpus(wanted.blocks, wanted.blocks // 50)) as daemon, daemon.client() as client:
        ask, took = RandomQueries(), dict[str, list[float]]()

        def search() -> None:
            started = time.perf_counter()
            reply = client.search(ask())
            took.setdefault(reply.mode, []).append(time.perf_counter() - started)

        def enough(seconds: float) -> bool:
            found = len(took.get("hybrid", ())) >= MOST_HYBRID or mode == "keyword"
            return bool(seconds > (wanted.busy_s if found else 4 * wanted.busy_s))

        repeated(search, 300)
        idle = took.popitem()[1]
        took.clear()
        _, rounds = search_during(daemon, lambda other: other.index(force=True), search, enough, again=True)
        left = client.status().agents[0].chunks_pending
        for kind, busy in took.items():
            name = f"full index of {wanted.blocks:,} blocks, {kind} answers"
            yield from against_idle(name, idle, busy, **{"full indexes": rounds, "chunks left": left})


def measure_agents(mode: str, wanted: FreshnessSizes) -> Iterator[LatencyRow]:
    """Search other agents' memories while one indexes many new files."""
    others = [f"agent{number:02d}" for number in range(19)]

    def fill(home: StateHome) -> None:
        make_corpus(home, 300, 100, random.Random(7))
        for agent in others:
            shutil.copytree(home.workspace(), home.workspace(agent))

    with prepared(mode, fill, *others) as daemon, daemon.client() as client:
        ask, turn = RandomQueries(), itertools.cycle(others)
        for agent in others:
            client.search(ask(), agent=agent)
        idle = repeated(lambda: client.search(ask(), agent=next(turn)), 400)
        for number in range(wanted.new_files):
            text = "\n".join(ask() for _ in range(BUSY_LINES))
            daemon.home.note(f"memory/new/{number // 500:02d}/{number:05d}.md", text)
        busy, rounds = search_during(
            daemon,
            lambda other: other.index("main"),
            lambda: client.search(ask(), agent=next(turn)),
            lambda seconds: seconds > wanted.busy_s,
            again=False,
        )
        known = client.status("main").agents[0]
        notes = {"done": rounds, "files pending": known.files_pending, "chunks pending": known.chunks_pending}
        yield from against_idle(f"19 agents, another takes {wanted.new_files}", idle, busy, **notes)


PARTS: Mapping[str, Callable[[str, FreshnessSizes], Iterator[LatencyRow]]] = {
    "write": measure_write,
    "reconcile": measure_reconcile,
    "full": measure_full,
    "agents": measure_agents,
}


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "parts", nargs="*", choices=[*PARTS, []], default=[], help="what to measure; all by default"
    )
    parser.add_argument("--mode", choices=("keyword", "meaning", "both"), default="both")
    for name, value in asdict(FreshnessSizes()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    wanted = parser.parse_args()
    sizes = FreshnessSizes(**{name: getattr(wanted, name) for name in asdict(FreshnessSizes())})
    for mode in ("keyword", "meaning") if wanted.mode == "both" else (wanted.mode,):
        for part in wanted.parts or PARTS:
            if not wanted.json:
                print(f"--- {part}, {mode}", flush=True)
            for line in PARTS[part](mode, sizes):
                facts = {"part": part, "mode": mode, **asdict(line)}
                print(json.dumps(facts) if wanted.json else line, flush=True)


if __name__ == "__main__":
    main()
