"""Many clients at once: throughput, latency, and whether all are served alike.

Clients are connections of separate processes; each sends its next query when it has its answer. The same is measured
while another agent's text is indexed from scratch repeatedly, and while a note of the searched memory changes.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import msgspec
import numpy as np

from benchmarks.corpora import CachedCorpus, cached_corpus, settled_home
from benchmarks.corpus import make_queries
from benchmarks.part import Figure, Options, Part, at_least, at_most, measured
from benchmarks.processes import Driver, workers
from tests.support.daemon import DaemonProcess

CLIENTS: Final = (1, 10, 50, 200)
"""Connections; the daemon's limit is 256."""

MOST_PROCESSES: Final = 4

JUDGED: Final = 50
RATE: Final = 300.0
P99_MS: Final = 600.0
LEAST: Final = 0.5
"""Bars at `JUDGED` clients: searches per second, p99, and the least served client's share."""

SEARCHED: Final = "main"
INDEXED: Final = "busy"

QUERY_COUNT: Final = 240
"""Fewer than the 256 query vectors that an agent keeps, so that a repeated query is not embedded."""

PATIENT_S: Final = 600.0

WARM_UP_S: Final = 4.0
"""Until vectors and chunk locations are in RAM."""

ANSWERS_EACH: Final = 6
"""Answers per client that a round should allow: with fewer, their distribution means nothing."""

MOST_S: Final = 30.0
"""Longest round; on a disturbed machine clients may get fewer answers."""

EDIT_S: Final = 1 / 3
"""Seconds between changes of a note: as of several agents that write one memory."""

EDITED_LINES: Final = 20
"""Lines of that note; each change is its last line."""

BACKGROUND: Final = {
    "idle": "",
    "busy": ", while another agent is indexed",
    "edits": ", while a note changes",
}
"""Background work, as the labels of figures have it."""


class LoadResult(msgspec.Struct, frozen=True):
    """One round of a load; `less` counts degraded answers."""

    seconds: float
    answers: list[int]
    took_ms: list[float]
    errors: dict[str, int]
    less: int
    unanswered: int
    clients_share: float

    @property
    def rate(self) -> float:
        """Answers per second."""
        return sum(self.answers) / self.seconds

    @property
    def least_served(self) -> float:
        """The least served client's answers / the median client's; 1 if all got the same."""
        middle = median(self.answers)
        return min(self.answers) / middle if middle else 0.0

    def percentile(self, percent: float) -> float:
        """Return a percentile of the answers' milliseconds, interpolated."""
        return float(np.percentile(self.took_ms, percent))


def add_up(counts: Sequence[Mapping[str, Any]], *, seconds: float, cores: int) -> LoadResult:
    """Return the result of several client processes."""
    errors: Counter[str] = Counter()
    for each in counts:
        errors.update(each["errors"])
    elapsed_s = max(each["elapsed_s"] for each in counts)
    return LoadResult(
        seconds=seconds,
        answers=[count for each in counts for count in each["answers"]],
        took_ms=[took for each in counts for took in each["took_ms"]],
        errors=dict(errors),
        less=sum(each["less"] for each in counts),
        unanswered=sum(each["unanswered"] for each in counts),
        clients_share=sum(each["processor_s"] for each in counts) / elapsed_s / cores,
    )


def measure(options: Options) -> Part:
    """Measure numbers of clients, with an otherwise idle daemon and with background work."""
    chunks, text, seconds, rounds = (4_000, 1_000, 3.0, 2) if options.quick else (15_000, 10_000, 8.0, 3)
    searched, indexed = cached_corpus(options, chunks), cached_corpus(options, text)
    works: dict[str, Callable[[DaemonProcess], AbstractContextManager[None]]] = {
        "idle": _nothing,
        "busy": _indexing,
        "edits": _editing,
    }
    results: dict[str, dict[int, list[LoadResult]]] = {background: {} for background in BACKGROUND}
    with _warm_daemon(searched, indexed) as (daemon, queries):
        for clients in CLIENTS:
            options.show_progress(f"{clients} clients")
            with _load_generators(daemon, clients, queries, options.work / "clients.log") as generators:
                first = _load(generators, WARM_UP_S)
                long_s = min(MOST_S, max(seconds, ANSWERS_EACH * median(first.took_ms) / 1000))
                for _ in range(rounds):
                    for background, work in works.items():
                        with work(daemon):
                            one = _load(generators, long_s)
                        results[background].setdefault(clients, []).append(one)
    return Part(
        "Load: many clients at once",
        [
            figure
            for background, by_clients in results.items()
            for clients in CLIENTS
            for figure in _figures(clients, by_clients[clients], background)
        ],
        notes=_notes(searched.chunks, indexed.chunks, results),
    )


@contextmanager
def _warm_daemon(searched: CachedCorpus, indexed: CachedCorpus) -> Iterator[tuple[DaemonProcess, list[str]]]:
    """Yield a daemon of both agents, and queries whose vectors it knows."""
    queries = make_queries(QUERY_COUNT, random.Random(9))
    corpora = {SEARCHED: searched, INDEXED: indexed}
    with settled_home(corpora, keyword_only=[INDEXED]) as home, DaemonProcess(home) as daemon:
        with daemon.client(timeout_s=PATIENT_S) as client:
            for query in queries * 2:  # vectors of the queries, then of the lines compared with them
                client.search(query)
        yield daemon, queries


@contextmanager
def _load_generators(
    daemon: DaemonProcess, clients: int, queries: list[str], log: Path
) -> Iterator[list[Driver]]:
    """Yield processes that have so many connections together."""
    count = min(MOST_PROCESSES, clients)
    shares = [clients // count + (place < clients % count) for place in range(count)]
    lines = [(str(daemon.home.socket), str(share)) for share in shares]
    with workers("benchmarks.load_clients", lines, log, first=queries) as running:
        yield running


def _load(generators: Sequence[Driver], seconds: float) -> LoadResult:
    """Send queries from all clients for some time."""
    for generator in generators:
        generator.send({"seconds": seconds})
    counts = [generator.receive(seconds + PATIENT_S) for generator in generators]
    return add_up(counts, seconds=seconds, cores=os.cpu_count() or 1)


@contextmanager
def _nothing(daemon: DaemonProcess) -> Iterator[None]:
    """Do nothing in the background."""
    yield


@contextmanager
def _indexing(daemon: DaemonProcess) -> Iterator[None]:
    """Index an agent's text repeatedly inside the block."""
    with (
        daemon.client(timeout_s=PATIENT_S) as client,
        _repeating(lambda: client.index(INDEXED, force=True)),
    ):
        yield


@contextmanager
def _editing(daemon: DaemonProcess) -> Iterator[None]:
    """Change a note of the searched agent inside the block."""
    note = daemon.home.workspace(SEARCHED) / "memory" / "changing.md"
    lines = make_queries(EDITED_LINES, random.Random(19))

    def change() -> None:
        note.write_text("".join(f"- {line}\n" for line in [*lines, f"change {time.monotonic_ns()}"]))
        time.sleep(EDIT_S)

    with _repeating(change):
        yield


@contextmanager
def _repeating(work: Callable[[], object]) -> Iterator[None]:
    """Repeat some work in a thread until the block ends."""
    ended = threading.Event()

    def run() -> None:
        while not ended.is_set():
            work()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _figures(clients: int, results: Sequence[LoadResult], background: str) -> list[Figure]:
    """Return the figures of a number of clients."""
    name = f"load.{background}.{clients}"
    what = f"{clients} client{'s' * (clients > 1)}{BACKGROUND[background]}"
    rate = (
        f"{name}.rate",
        f"{what}: searches per second",
        [result.rate for result in results],
        "searches/s",
    )
    p99 = (f"{name}.p99", "… p99", [result.percentile(99) for result in results], "ms")
    least = (
        f"{name}.least",
        "… answers of the least served client / of the median client",
        [result.least_served for result in results],
        "times",
    )
    p50 = measured(f"{name}.p50", "… p50", [result.percentile(50) for result in results], "ms")
    if clients == JUDGED and background == "idle":
        return [at_least(*rate, RATE), p50, at_most(*p99, P99_MS), at_least(*least, LEAST)]
    return [measured(*rate), p50, measured(*p99), measured(*least)]


def _notes(
    searched: int, indexed: int, results: Mapping[str, Mapping[int, Sequence[LoadResult]]]
) -> list[str]:
    """Return notes on the method."""
    everything = [
        result for by_clients in results.values() for rounds in by_clients.values() for result in rounds
    ]
    errors: Counter[str] = Counter()
    for result in everything:
        errors.update(result.errors)
    refused = ", ".join(f"{code} {count}" for code, count in sorted(errors.items())) or "none"
    return [
        f"{searched:,} chunks, {QUERY_COUNT} different queries whose vectors are known; a client sends its next "
        "query when it has its answer.",
        f"Clients are connections of at most {MOST_PROCESSES} processes, which decode and count answers. They use at "
        f"most {max(result.clients_share for result in everything):.0%} of all cores.",
        f"The other agent has {indexed:,} chunks, indexed for keyword search repeatedly.",
        f"The changing note is in the searched memory. It has {EDITED_LINES} lines and gets a new last line "
        f"{1 / EDIT_S:.0f} times a second; each search waits until the change is indexed.",
        f"Refused or failed requests: {refused}; without an answer: {sum(one.unanswered for one in everything)}; "
        f"degraded answers: {sum(one.less for one in everything)}.",
    ]
