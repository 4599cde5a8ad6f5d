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
from functools import partial
from statistics import median
from typing import Final

from benchmarks.corpus import make_queries
from benchmarks.load_results import LoadResult, add_up
from benchmarks.part import Curve, Figure, Options, Part, Plot, at_least, at_most, measured
from benchmarks.scale_corpora import CachedCorpus, cached_corpus, settled_home
from benchmarks.scale_growth import THOUSAND, share_of
from benchmarks.scale_process import Worker, children_of, processor_s, workers
from benchmarks.scale_sizes import PATIENT_S, QUERY_COUNT
from tests.support.daemon import DaemonProcess

CLIENTS: Final = (1, 10, 50, 200)
"""Connections; the daemon's limit is 256."""

MOST_PROCESSES: Final = 4

JUDGED: Final = 50
RATE: Final = 150.0
P99_MS: Final = 600.0
LEAST: Final = 0.5
"""Bars at `JUDGED` clients: searches per second, p99, and the least served client's share."""

SEARCHED: Final = "main"
INDEXED: Final = "busy"

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

Results = Mapping[str, Mapping[int, Sequence[LoadResult]]]
"""Rounds by background work and by number of clients."""


def measure(options: Options) -> Part:
    """Measure numbers of clients, with an otherwise idle daemon and with background work."""
    chunks, text, seconds, rounds = (4_000, 1_000, 3.0, 2) if options.quick else (15_000, 10_000, 8.0, 3)
    searched, indexed = cached_corpus(options, chunks), cached_corpus(options, text)
    works: dict[str, Callable[[DaemonProcess], AbstractContextManager[list[int]]]] = {
        "idle": _nothing,
        "busy": _indexing,
        "edits": _editing,
    }
    results: dict[str, dict[int, list[LoadResult]]] = {background: {} for background in BACKGROUND}
    with _warm_daemon(searched, indexed) as (daemon, queries):
        for clients in CLIENTS:
            with _load_generators(daemon, clients, queries) as generators:
                first = _load(daemon, generators, WARM_UP_S)
                long_s = min(MOST_S, max(seconds, ANSWERS_EACH * median(first.took_ms) / THOUSAND))
                for _ in range(rounds):
                    for background, work in works.items():
                        with work(daemon) as done:
                            one = _load(daemon, generators, long_s, done)
                        results[background].setdefault(clients, []).append(one)
            for background, of in results.items():
                options.show_progress(
                    f"{clients} client(s){BACKGROUND[background]}: {_progress_line(of[clients])}"
                )
    return Part(
        name="load",
        title="Load: many clients at once",
        figures=[
            figure
            for background, of in results.items()
            for clients in CLIENTS
            for figure in _figures(clients, of[clients], background)
        ],
        plots=_plots(results),
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
def _load_generators(daemon: DaemonProcess, clients: int, queries: list[str]) -> Iterator[list[Worker]]:
    """Yield processes that have so many connections together."""
    count = min(MOST_PROCESSES, clients)
    shares = [clients // count + (place < clients % count) for place in range(count)]
    lines = [(str(daemon.home.socket), str(share)) for share in shares]
    with workers("benchmarks.load_clients", lines, first=queries) as running:
        yield running


def _load(
    daemon: DaemonProcess, generators: Sequence[Worker], seconds: float, done: Sequence[int] = ()
) -> LoadResult:
    """Send queries from all clients for some time; count what is added to `done` meanwhile."""
    pids = [daemon.pid, *children_of(daemon.pid)]
    before_s, before = processor_s(pids), len(done)
    for generator in generators:
        generator.send({"seconds": seconds})
    counts = [generator.receive() for generator in generators]
    return add_up(
        counts,
        seconds=seconds,
        cores=os.cpu_count() or 1,
        daemon_s=processor_s(pids) - before_s,
        work=len(done) - before,
    )


@contextmanager
def _nothing(daemon: DaemonProcess) -> Iterator[list[int]]:
    """Do nothing in the background."""
    yield []


@contextmanager
def _indexing(daemon: DaemonProcess) -> Iterator[list[int]]:
    """Index an agent's text repeatedly inside the block; yield chunks per pass."""
    with (
        daemon.client(timeout_s=PATIENT_S) as client,
        _repeating(lambda: client.index(INDEXED, force=True).agents[0].chunks) as done,
    ):
        yield done


@contextmanager
def _editing(daemon: DaemonProcess) -> Iterator[list[int]]:
    """Change a note of the searched agent inside the block; yield its size after each change."""
    note = daemon.home.workspace(SEARCHED) / "memory" / "changing.md"
    lines = make_queries(EDITED_LINES, random.Random(19))

    def change() -> int:
        size = note.write_text("".join(f"- {line}\n" for line in [*lines, f"change {time.monotonic_ns()}"]))
        time.sleep(EDIT_S)
        return size

    with _repeating(change) as done:
        yield done


@contextmanager
def _repeating(work: Callable[[], int]) -> Iterator[list[int]]:
    """Repeat some work in a thread until the block ends; yield a growing list of its results."""
    ended, done = threading.Event(), list[int]()

    def run() -> None:
        while not ended.is_set():
            done.append(work())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield done
    finally:
        ended.set()
        thread.join()


def _figures(clients: int, results: Sequence[LoadResult], background: str) -> list[Figure]:
    """Return the figures of a number of clients."""
    name = f"load.{background}.{clients}"
    said = f"{clients} client{'s' * (clients > 1)}{BACKGROUND[background]}"
    rates = [result.rate for result in results]
    p99 = [share_of(result.took_ms, 99) for result in results]
    least = [result.least_served for result in results]
    judged = clients == JUDGED and background == "idle"
    rate_of = (f"{name}.rate", f"{said}: searches per second")
    p99_of = (f"{name}.p99", f"{said}: p99")
    least_of = (f"{name}.least", f"{said}: answers of the least served client / of the median client")
    return [
        at_least(*rate_of, rates, "searches/s", RATE) if judged else measured(*rate_of, rates, "searches/s"),
        *(
            measured(
                f"{name}.p{share}",
                f"{said}: p{share}",
                [share_of(one.took_ms, share) for one in results],
                "ms",
            )
            for share in (50, 95)
        ),
        at_most(*p99_of, p99, "ms", P99_MS) if judged else measured(*p99_of, p99, "ms"),
        at_least(*least_of, least, "times", LEAST)
        if clients > 1 and judged
        else measured(*least_of, least, "times"),
        measured(
            f"{name}.most",
            f"{said}: answers of the most served client / of the median client",
            [result.most_served for result in results],
            "times",
        ),
        measured(
            f"{name}.cpu",
            f"{said}: CPU time of the daemon and its processes, per search",
            [result.daemon_ms for result in results],
            "ms",
        ),
    ]


def _plots(results: Results) -> list[Plot]:
    """Return throughput and latency by number of clients."""
    x = [float(clients) for clients in CLIENTS]

    def curve(
        label: str, of: Mapping[int, Sequence[LoadResult]], value: Callable[[LoadResult], float]
    ) -> Curve:
        return Curve(label, x, [median(map(value, of[clients])) for clients in CLIENTS])

    sides = [
        (BACKGROUND[background].removeprefix(", ") or "nothing else", of)
        for background, of in results.items()
    ]
    rates = [curve(label, of, lambda result: result.rate) for label, of in sides]
    times = [
        curve(f"p{percent}, {label}", of, partial(_took_ms, percent=percent))
        for label, of in sides
        for percent in (50, 99)
    ]
    return [
        Plot("load-throughput", "Searches per second by clients", "clients", "searches/s", rates, True),
        Plot("load-latency", "Search latency by clients", "clients", "ms", times, True),
    ]


def _notes(searched: int, indexed: int, results: Results) -> list[str]:
    """Return notes on the method."""
    idle = results["idle"]
    everything = [result for of in results.values() for rounds in of.values() for result in rounds]
    errors: Counter[str] = Counter()
    for result in everything:
        errors.update(result.errors)
    refused = ", ".join(f"{code} {count}" for code, count in sorted(errors.items())) or "none"
    shares = ", ".join(f"{clients}: {_share(idle[clients]):.0%}" for clients in CLIENTS)
    cores = ", ".join(
        f"{clients}: {median(result.daemon_cores for result in idle[clients]):.2f}" for clients in CLIENTS
    )
    finished, changed = (
        ", ".join(f"{clients}: {sum(one.work for one in of[clients]):g}" for clients in CLIENTS)
        for of in (results["busy"], results["edits"])
    )
    return [
        f"{searched:,} chunks, {QUERY_COUNT} different queries whose vectors are known; a client sends its next "
        "query when it has its answer.",
        f"Clients are connections of at most {MOST_PROCESSES} processes, which decode and count answers. Their share "
        f"of all cores, by number of clients: {shares}. Cores that the daemon and its processes used: {cores}.",
        f"The other agent has {indexed:,} chunks, indexed for keyword search repeatedly. Complete passes, by number of "
        f"clients: {finished}.",
        f"The changing note is in the searched memory. It has {EDITED_LINES} lines and gets a new last line "
        f"{1 / EDIT_S:.0f} times a second; each search waits until the change is indexed. Changes, by number of "
        f"clients: {changed}.",
        f"Refused or failed requests: {refused}; without an answer: {sum(one.unanswered for one in everything)}; "
        f"degraded answers: {sum(one.less for one in everything)}.",
    ]


def _took_ms(result: LoadResult, *, percent: float) -> float:
    return share_of(result.took_ms, percent)


def _share(results: Sequence[LoadResult]) -> float:
    return median(result.clients_share for result in results)


def _progress_line(results: Sequence[LoadResult]) -> str:
    """Return a few figures for a line of progress."""
    rate = median(result.rate for result in results)
    p99 = median(share_of(result.took_ms, 99) for result in results)
    least = median(result.least_served for result in results)
    return f"{rate:.0f}/s, p99 {p99:.0f} ms, least {least:.2f}, clients {_share(results):.0%} of the cores"
