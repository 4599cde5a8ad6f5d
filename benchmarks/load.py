"""Many clients at once: how many searches a second one daemon answers, how long they take, and whether all get theirs.

Clients are connections of separate processes, each asking its next question as it has its answer. The same is measured
while another agent's text is indexed from scratch, again and again.
"""

from __future__ import annotations

import os
import random
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from statistics import median
from typing import Final

from benchmarks.corpus import make_questions
from benchmarks.load_results import LoadResult, add_up
from benchmarks.part import Curve, Figure, Options, Part, Plot, at_least, at_most, measured
from benchmarks.scale_corpora import Corpus, cached_corpus, settled_home
from benchmarks.scale_growth import THOUSAND, share_of
from benchmarks.scale_process import Worker, children_of, processor_s, workers
from benchmarks.scale_sizes import PATIENT_S, QUESTIONS
from tests.support.daemon import DaemonProcess

CLIENTS: Final = (1, 10, 50, 200)
"""Connections; a daemon takes 256, and of each its first request runs at once."""

MOST_PROCESSES: Final = 4

JUDGED: Final = 50
RATE: Final = 400.0
P99_MS: Final = 250.0
LEAST: Final = 0.5
"""Bars at `JUDGED` clients: searches a second, the slowest in a hundred, the least served client's share."""

SEARCHED: Final = "main"
INDEXED: Final = "busy"

WARM_UP_S: Final = 4.0
"""Until processes search beside the daemon, where so many ask that it starts some."""

ANSWERS_EACH: Final = 6
"""Answers every client would get in the time if all got the same: fewer say nothing of who got how many."""

MOST_S: Final = 30.0
"""The longest time of a round all the same: on a machine that others load clients get fewer."""

Load = Callable[[int], LoadResult]


def measure(options: Options) -> Part:
    """Measure numbers of clients, with the daemon at rest otherwise and while it indexes."""
    passages, text, seconds, rounds = (4_000, 1_000, 3.0, 2) if options.quick else (15_000, 10_000, 8.0, 3)
    searched, indexed = cached_corpus(options, passages), cached_corpus(options, text)
    idle, busy = dict[int, list[LoadResult]](), dict[int, list[LoadResult]]()
    with _warm_daemon(searched, indexed) as (daemon, questions):
        for clients in CLIENTS:
            idle[clients], busy[clients] = [], []
            with _asking(daemon, clients, questions) as generators:
                first = _load(daemon, generators, WARM_UP_S)
                long_s = min(MOST_S, max(seconds, ANSWERS_EACH * median(first.took_ms) / THOUSAND))
                for _ in range(rounds):
                    idle[clients].append(_load(daemon, generators, long_s))
                    with _indexing(daemon) as done:
                        busy[clients].append(_load(daemon, generators, long_s, done))
            options.tell(
                f"{clients} clients: {_in_words(idle[clients])}; indexing: {_in_words(busy[clients])}"
            )
    figures = [figure for clients in CLIENTS for figure in _figures(clients, idle[clients], "idle")]
    figures += [figure for clients in CLIENTS for figure in _figures(clients, busy[clients], "busy")]
    notes = _notes(searched.passages, indexed.passages, idle, busy)
    return Part(
        name="load",
        title="Load: many clients at once",
        figures=figures,
        plots=_plots(idle, busy),
        notes=notes,
    )


@contextmanager
def _warm_daemon(searched: Corpus, indexed: Corpus) -> Iterator[tuple[DaemonProcess, list[str]]]:
    """Yield a daemon of both agents, and questions whose vectors it knows."""
    questions = make_questions(QUESTIONS, random.Random(9))
    corpora = {SEARCHED: searched, INDEXED: indexed}
    with settled_home(corpora, words_only=[INDEXED]) as home, DaemonProcess(home) as daemon:
        with daemon.client(timeout_s=PATIENT_S) as client:
            for question in questions * 2:  # vectors of questions, then of lines that are read for them
                client.search(question)
        yield daemon, questions


@contextmanager
def _asking(daemon: DaemonProcess, clients: int, questions: list[str]) -> Iterator[list[Worker]]:
    """Yield processes that hold so many connections together."""
    count = min(MOST_PROCESSES, clients)
    shares = [clients // count + (place < clients % count) for place in range(count)]
    lines = [(str(daemon.home.socket), str(share)) for share in shares]
    with workers("benchmarks.load_clients", lines, first=questions) as running:
        yield running


def _load(
    daemon: DaemonProcess, generators: Sequence[Worker], seconds: float, done: list[int] | None = None
) -> LoadResult:
    """Have all clients ask for some time."""
    pids = [daemon.pid, *children_of(daemon.pid)]
    before_s, before = processor_s(pids), len(done or ())
    for generator in generators:
        generator.tell({"seconds": seconds})
    told = [generator.hear() for generator in generators]
    return add_up(
        told,
        seconds=seconds,
        cores=os.cpu_count() or 1,
        daemon_s=processor_s(pids) - before_s,
        work=len(done or ()) - before,
    )


@contextmanager
def _indexing(daemon: DaemonProcess) -> Iterator[list[int]]:
    """Have an agent's text indexed from scratch, again and again, inside the block; yield the passages of each time."""
    ended, done = threading.Event(), list[int]()

    def work() -> None:
        while not ended.is_set():
            done.append(client.index(INDEXED, force=True).agents[0].chunks)

    with daemon.client(timeout_s=PATIENT_S) as client:
        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield done
        finally:
            ended.set()
            thread.join()


def _figures(clients: int, results: Sequence[LoadResult], beside: str) -> list[Figure]:
    """Return the figures of a number of clients; bars are for a daemon that does nothing else."""
    name = f"load.{beside}.{clients}"
    said = f"{clients} clients" + (", another agent indexing" if beside == "busy" else "")
    rates = [result.rate for result in results]
    p99 = [share_of(result.took_ms, 99) for result in results]
    least = [result.least_served for result in results]
    judged = clients == JUDGED and beside == "idle"
    rate_of = (f"{name}.rate", f"{said}: searches a second")
    p99_of = (f"{name}.p99", f"{said}: p99")
    least_of = (f"{name}.least", f"{said}: the least served client's answers over the middle one's")
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
            f"{said}: the most served client's answers over the middle one's",
            [result.most_served for result in results],
            "times",
        ),
        measured(
            f"{name}.cpu",
            f"{said}: processor time of the daemon and its processes, a search",
            [result.daemon_ms for result in results],
            "ms",
        ),
    ]


def _plots(idle: dict[int, list[LoadResult]], busy: dict[int, list[LoadResult]]) -> list[Plot]:
    """Return throughput and latency by number of clients."""
    x = [float(clients) for clients in CLIENTS]

    def curve(label: str, of: dict[int, list[LoadResult]], value: Callable[[LoadResult], float]) -> Curve:
        return Curve(label, x, [median(map(value, of[clients])) for clients in CLIENTS])

    sides = (("nothing else", idle), ("another agent indexing", busy))
    rates = [curve(label, of, lambda result: result.rate) for label, of in sides]
    times = [
        curve(f"p{percent}, {label}", of, partial(_took_ms, percent=percent))
        for label, of in sides
        for percent in (50, 99)
    ]
    return [
        Plot("load-throughput", "Searches a second by clients", "clients", "searches/s", rates, True),
        Plot("load-latency", "Time of a search by clients", "clients", "ms", times, True),
    ]


def _notes(
    searched: int, indexed: int, idle: dict[int, list[LoadResult]], busy: dict[int, list[LoadResult]]
) -> list[str]:
    """Return what is to be known of how it was measured."""
    everything = [result for of in (idle, busy) for results in of.values() for result in results]
    errors: Counter[str] = Counter()
    for result in everything:
        errors.update(result.errors)
    refused = ", ".join(f"{code} {count}" for code, count in sorted(errors.items())) or "none"
    shares = ", ".join(f"{clients}: {_share(idle[clients]):.0%}" for clients in CLIENTS)
    cores = ", ".join(
        f"{clients}: {median(result.daemon_cores for result in idle[clients]):.2f}" for clients in CLIENTS
    )
    finished = ", ".join(
        f"{clients}: {sum(result.work for result in busy[clients]):g}" for clients in CLIENTS
    )
    return [
        f"{searched:,} passages, {QUESTIONS} different questions whose vectors are known; a client asks its next "
        "question as it has its answer.",
        f"Clients are connections of at most {MOST_PROCESSES} processes, which decode answers and count; of all "
        f"cores, by number of clients, they took {shares}, the daemon and its processes kept so many busy: {cores}.",
        f"The other agent's text is {indexed:,} passages, indexed by words again and again; so many times it was "
        f"finished beside the searches: {finished}.",
        f"Refused or failed requests: {refused}; without an answer: {sum(one.unanswered for one in everything)}; "
        f"answered with less than all: {sum(one.less for one in everything)}.",
    ]


def _took_ms(result: LoadResult, *, percent: float) -> float:
    return share_of(result.took_ms, percent)


def _share(results: Sequence[LoadResult]) -> float:
    return median(result.clients_share for result in results)


def _in_words(results: Sequence[LoadResult]) -> str:
    """Return a few figures for a line of progress."""
    rate = median(result.rate for result in results)
    p99 = median(share_of(result.took_ms, 99) for result in results)
    least = median(result.least_served for result in results)
    return f"{rate:.0f}/s, p99 {p99:.0f} ms, least {least:.2f}, clients {_share(results):.0%} of the cores"
