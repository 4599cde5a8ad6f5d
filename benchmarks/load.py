"""Many clients at once: how many searches a second one daemon answers, how long they take, and whether all get theirs.

Clients are connections of separate processes, each asking its next question as it has its answer. The same is measured
while another agent's text is indexed from scratch, again and again, and while a note of the searched memory changes.
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
RATE: Final = 150.0
P99_MS: Final = 600.0
LEAST: Final = 0.5
"""Bars at `JUDGED` clients: searches a second, the slowest in a hundred, the least served client's share."""

SEARCHED: Final = "main"
INDEXED: Final = "busy"

WARM_UP_S: Final = 4.0
"""Until vectors and chunk locations are in RAM."""

ANSWERS_EACH: Final = 6
"""Answers every client would get in the time if all got the same: fewer say nothing of who got how many."""

MOST_S: Final = 30.0
"""The longest time of a round all the same: on a machine that others load clients get fewer."""

EDIT_S: Final = 1 / 3
"""A note changes so often, as where several agents write one memory."""

EDITED_LINES: Final = 20
"""Lines of that note: some text, as agents write it down, of which each change is the last line."""

BESIDE: Final = {
    "idle": "",
    "busy": ", another agent indexing",
    "edits": ", a note changing",
}
"""What happens beside the searches, as it is said of a figure."""

Results = Mapping[str, Mapping[int, Sequence[LoadResult]]]
"""Rounds by what happened beside them, and by clients."""


def measure(options: Options) -> Part:
    """Measure numbers of clients, with the daemon at rest otherwise and while it indexes."""
    passages, text, seconds, rounds = (4_000, 1_000, 3.0, 2) if options.quick else (15_000, 10_000, 8.0, 3)
    searched, indexed = cached_corpus(options, passages), cached_corpus(options, text)
    works: dict[str, Callable[[DaemonProcess], AbstractContextManager[list[int]]]] = {
        "idle": _nothing,
        "busy": _indexing,
        "edits": _editing,
    }
    results: dict[str, dict[int, list[LoadResult]]] = {beside: {} for beside in BESIDE}
    with _warm_daemon(searched, indexed) as (daemon, questions):
        for clients in CLIENTS:
            with _asking(daemon, clients, questions) as generators:
                first = _load(daemon, generators, WARM_UP_S)
                long_s = min(MOST_S, max(seconds, ANSWERS_EACH * median(first.took_ms) / THOUSAND))
                for _ in range(rounds):
                    for beside, work in works.items():
                        with work(daemon) as done:
                            one = _load(daemon, generators, long_s, done)
                        results[beside].setdefault(clients, []).append(one)
            for beside, of in results.items():
                options.tell(f"{clients} clients{BESIDE[beside]}: {_in_words(of[clients])}")
    return Part(
        name="load",
        title="Load: many clients at once",
        figures=[
            figure
            for beside, of in results.items()
            for clients in CLIENTS
            for figure in _figures(clients, of[clients], beside)
        ],
        plots=_plots(results),
        notes=_notes(searched.passages, indexed.passages, results),
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
    daemon: DaemonProcess, generators: Sequence[Worker], seconds: float, done: Sequence[int] = ()
) -> LoadResult:
    """Have all clients ask for some time; count what is added to `done` meanwhile."""
    pids = [daemon.pid, *children_of(daemon.pid)]
    before_s, before = processor_s(pids), len(done)
    for generator in generators:
        generator.tell({"seconds": seconds})
    told = [generator.hear() for generator in generators]
    return add_up(
        told,
        seconds=seconds,
        cores=os.cpu_count() or 1,
        daemon_s=processor_s(pids) - before_s,
        work=len(done) - before,
    )


@contextmanager
def _nothing(daemon: DaemonProcess) -> Iterator[list[int]]:
    """Do nothing beside the block."""
    yield []


@contextmanager
def _indexing(daemon: DaemonProcess) -> Iterator[list[int]]:
    """Have an agent's text indexed from scratch, again and again, inside the block; yield the passages of each time."""
    with (
        daemon.client(timeout_s=PATIENT_S) as client,
        _again_and_again(lambda: client.index(INDEXED, force=True).agents[0].chunks) as done,
    ):
        yield done


@contextmanager
def _editing(daemon: DaemonProcess) -> Iterator[list[int]]:
    """Have a note of the searched agent change inside the block; yield its size after each change."""
    note = daemon.home.workspace(SEARCHED) / "memory" / "changing.md"
    lines = make_questions(EDITED_LINES, random.Random(19))

    def change() -> int:
        size = note.write_text("".join(f"- {line}\n" for line in [*lines, f"change {time.monotonic_ns()}"]))
        time.sleep(EDIT_S)
        return size

    with _again_and_again(change) as done:
        yield done


@contextmanager
def _again_and_again(work: Callable[[], int]) -> Iterator[list[int]]:
    """Do some work in a thread until the block ends; yield what it returned, which goes on growing."""
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


def _figures(clients: int, results: Sequence[LoadResult], beside: str) -> list[Figure]:
    """Return the figures of a number of clients; bars are for a daemon that does nothing else."""
    name = f"load.{beside}.{clients}"
    said = f"{clients} clients{BESIDE[beside]}"
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


def _plots(results: Results) -> list[Plot]:
    """Return throughput and latency by number of clients."""
    x = [float(clients) for clients in CLIENTS]

    def curve(
        label: str, of: Mapping[int, Sequence[LoadResult]], value: Callable[[LoadResult], float]
    ) -> Curve:
        return Curve(label, x, [median(map(value, of[clients])) for clients in CLIENTS])

    sides = [(BESIDE[beside].removeprefix(", ") or "nothing else", of) for beside, of in results.items()]
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


def _notes(searched: int, indexed: int, results: Results) -> list[str]:
    """Return what is to be known of how it was measured."""
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
        f"{searched:,} passages, {QUESTIONS} different questions whose vectors are known; a client asks its next "
        "question as it has its answer.",
        f"Clients are connections of at most {MOST_PROCESSES} processes, which decode answers and count; of all "
        f"cores, by number of clients, they took {shares}, the daemon and its processes kept so many busy: {cores}.",
        f"The other agent's text is {indexed:,} passages, indexed by words again and again; so many times it was "
        f"finished beside the searches: {finished}.",
        f"The note that changes is one of the searched memory, of {EDITED_LINES} lines and one that is new, "
        f"{1 / EDIT_S:.0f} times a second; no search goes on before it is in the index. It changed so many times: "
        f"{changed}.",
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
