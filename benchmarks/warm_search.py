"""A search over the socket, beside the early design's SQL path in the same run, warm and cold apart.

Every question is a different one, and there are more than two hundred of them: no cache that a user wouldn't have wins
a figure. What is known of a warm question is its vector, for it was asked once before; a new one is embedded by the
local model.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Final

import numpy as np

from benchmarks.built import Built, build, home_of, seeds_of, started
from benchmarks.corpus import make_questions, random_vectors
from benchmarks.indexed import only_indexed
from benchmarks.part import Figure, Options, Part, at_least, at_most, measured
from benchmarks.quiet import undisturbed
from benchmarks.seeds import SeedsIndex
from memd_client import Client

QUESTIONS: Final = 220
"""Fewer than the vectors of questions the daemon keeps, so that each is known once all were asked."""

PATIENCE_S: Final = 10.0
"""How long a turn that others disturbed is taken again."""


KNOWN_S: Final = 60.0
"""How long a question may take to be embedded at all."""


@dataclass(frozen=True)
class Size:
    """A corpus and how it is measured; `seeds` is how many searches of the early design a turn has, 0 for none."""

    key: str
    passages: int
    files: int
    most_ms: float
    turns: int
    seeds: int
    starts: int
    questions: int = QUESTIONS


FULL: Final = (
    Size("15k", 15_000, 300, 5.0, turns=6, seeds=12, starts=5),
    Size("100k", 100_000, 2_000, 25.0, turns=6, seeds=4, starts=3),
)
QUICK: Final = (
    Size("15k", 15_000, 300, 5.0, turns=2, seeds=4, starts=1, questions=60),
    Size("100k", 100_000, 2_000, 25.0, turns=2, seeds=0, starts=1, questions=60),
)

BAR_TIMES: Final = 20.0


@dataclass
class Times:
    """Milliseconds: of first searches after a start, of new questions, and p50 and p95 of each turn."""

    first: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)
    p50: list[float] = field(default_factory=list)
    p95: list[float] = field(default_factory=list)
    seeds: list[float] = field(default_factory=list)
    disturbed: list[float] = field(default_factory=list)
    vector_path: str = ""
    words_only: int = 0

    def add_cold(self, times: list[float], took_ms: float, is_whole: bool) -> None:
        """Add an answer's time; one that came by words alone, as embedding took too long, is counted as such."""
        times.append(took_ms)
        self.words_only += not is_whole

    @property
    def ratios(self) -> list[float]:
        """The early design's median against memd's, turn by turn."""
        return [theirs / ours for theirs, ours in zip(self.seeds, self.p50, strict=True)]


class NotHybridError(Exception):
    """A search left out what is measured."""


def measure(options: Options) -> Part:
    """Measure searches at two sizes."""
    figures: list[Figure] = []
    notes: list[str] = []
    sizes = QUICK if options.quick else FULL
    for size in sizes:
        built = build(options, size.passages, size.files)
        times = search_times(options, size, built)
        figures += rows(size, built, times)
        notes.append(
            f"{built.passages:,} passages × 384 in {built.files:,} files: vectors by {times.vector_path}; while a turn "
            f"was measured other processes took {max(times.disturbed):.0%} of the cores at most. Of {len(times.new)} "
            f"new questions and {len(times.first)} first searches {times.words_only} were answered by words alone, as "
            "the machine embedded too slowly."
        )
    notes += [
        f"Warm: {sizes[0].questions} different questions of 4 to 9 words in turn, each asked once before. The daemon's "
        "answer is whole: the look at the files, words, meaning, order, snippets, and the way over the socket.",
        "The early design holds the same passages and vectors, answers the same questions in this process, without "
        "a socket, with the question's vector given, and never looks at a file.",
        "A new question is embedded by the local MiniLM model first. The first search after a start finds neither the "
        "vectors nor the model in memory.",
    ]
    return Part("search", "One search", figures, notes=notes)


def search_times(options: Options, size: Size, built: Built) -> Times:
    """Return what searches of a corpus take."""
    times, questions = Times(), make_questions(size.questions + size.starts, random.Random(5))
    with home_of(built) as home:
        with started(home) as daemon, daemon.client(timeout_s=600) as client:
            only_indexed(client.index(), built.files)
        options.tell(f"{built.passages:,} passages: first searches after {size.starts} starts")
        for question in questions[size.questions :]:
            with started(home) as daemon, daemon.client(timeout_s=60) as client:
                times.add_cold(times.first, *answered(client, question))
        with started(home) as daemon, daemon.client(timeout_s=60) as client:
            ask_until_known(client, questions[-1])  # loads vectors and model
            options.tell(f"{built.passages:,} passages: {size.questions} new questions")
            for question in questions[: size.questions]:
                times.add_cold(times.new, *answered(client, question))
                ask_until_known(client, question)
            times.vector_path = client.status().agents[0].vector_path or "nothing"
            take_turns(options, size, built, client, questions[: size.questions], times)
    return times


def take_turns(
    options: Options, size: Size, built: Built, client: Client, questions: Sequence[str], times: Times
) -> None:
    """Let both sides answer in turn, so that a machine whose speed drifts meets both alike."""
    seeds = seeds_of(built, options.work / f"seeds-{size.key}.sqlite") if size.seeds else None
    vectors = random_vectors(len(questions), np.random.default_rng(3))
    asked = cycle(zip(questions, vectors, strict=True))
    try:
        for number in range(size.turns):
            options.tell(f"{built.passages:,} passages: turn {number + 1} of {size.turns}")
            until = time.perf_counter() + PATIENCE_S
            took, others = undisturbed(lambda: [timed(client, question) for question in questions], until)
            times.p50.append(statistics.median(took))
            times.p95.append(statistics.quantiles(took, n=20)[18])
            times.disturbed.append(others)
            if seeds is not None:
                some = list(islice(asked, size.seeds))
                times.seeds.append(statistics.median(seeds_time(seeds, *one) for one in some))
    finally:
        if seeds is not None:
            seeds.close()


def answered(client: Client, question: str) -> tuple[float, bool]:
    """Return the milliseconds of a search, and whether it did everything."""
    started = time.perf_counter()
    reply = client.search(question)
    return (time.perf_counter() - started) * 1000, reply.mode == "hybrid" and reply.degraded is None


def timed(client: Client, question: str) -> float:
    """Return the milliseconds of a search that does everything."""
    took_ms, is_whole = answered(client, question)
    if not is_whole:
        raise NotHybridError(f"{question}: not answered by words and meaning")
    return took_ms


def ask_until_known(client: Client, question: str) -> None:
    """Ask until the question's vector is known."""
    until = time.perf_counter() + KNOWN_S
    while not answered(client, question)[1]:
        if time.perf_counter() > until:
            raise NotHybridError(f"{question}: not answered by words and meaning in {KNOWN_S:g} s")
        time.sleep(0.1)


def seeds_time(index: SeedsIndex, question: str, vector: np.ndarray) -> float:
    """Return the milliseconds of a search of the early design."""
    return milliseconds(lambda: index.search(question, vector))


def milliseconds(run: Callable[[], object]) -> float:
    """Return how long something takes."""
    started = time.perf_counter()
    run()
    return (time.perf_counter() - started) * 1000


def rows(size: Size, built: Built, times: Times) -> Iterator[Figure]:
    """Yield a corpus's rows."""
    key, at = f"search.{size.key}", f"{built.passages:,} passages"
    yield at_most(f"{key}.warm.p50", f"warm search, {at}: p50", times.p50, "ms", size.most_ms)
    yield measured(f"{key}.warm.p95", "… p95", times.p95, "ms")
    if times.seeds:
        yield measured(f"{key}.seeds.p50", "… the early design's SQL path: p50", times.seeds, "ms")
        yield at_least(
            f"{key}.seeds.ratio",
            "… the early design against memd, turn by turn",
            times.ratios,
            "times",
            BAR_TIMES,
        )
    cuts = statistics.quantiles(times.new, n=20)
    yield Figure(f"{key}.new.p50", f"a new question, {at}: p50", cuts[9], "ms")
    yield Figure(f"{key}.new.p95", "… p95", cuts[18], "ms")
    yield measured(f"{key}.first", f"first search after a start, {at}", times.first, "ms")
