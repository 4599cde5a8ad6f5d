"""One search, with repeated and with new queries, next to the reference design.

There are more than two hundred distinct queries, so that no cache helps that a user would not have. The vector of a
repeated query is known from its first search; a new query is embedded by the local model.
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

from benchmarks.built_corpus import BuiltCorpus, build, home_of, reference_of, started
from benchmarks.corpus import make_queries, random_vectors
from benchmarks.other_processes import run_undisturbed
from benchmarks.part import Figure, Options, Part, at_least, at_most, measured
from benchmarks.reference_index import ReferenceIndex
from benchmarks.sync_checks import check_one_indexed
from memd_client import Client

QUERY_COUNT: Final = 220
"""Fewer than the query vectors that the daemon keeps, so that all of them are known after one search each."""

PATIENCE_S: Final = 10.0
"""How long a disturbed turn is repeated."""


KNOWN_S: Final = 60.0
"""Timeout for the embedding of a query."""


@dataclass(frozen=True)
class CorpusSize:
    """A corpus and its measurement; `seeds` counts reference searches per turn."""

    key: str
    chunks: int
    files: int
    most_ms: float
    turns: int
    seeds: int
    starts: int
    queries: int = QUERY_COUNT


FULL: Final = (
    CorpusSize("15k", 15_000, 300, 5.0, turns=6, seeds=12, starts=5),
    CorpusSize("100k", 100_000, 2_000, 25.0, turns=6, seeds=4, starts=3),
)
QUICK: Final = (
    CorpusSize("15k", 15_000, 300, 5.0, turns=2, seeds=4, starts=1, queries=60),
    CorpusSize("100k", 100_000, 2_000, 25.0, turns=2, seeds=0, starts=1, queries=60),
)

BAR_TIMES: Final = 20.0


@dataclass
class Times:
    """Milliseconds of first searches, of new queries, and p50 and p95 of each turn."""

    first: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)
    p50: list[float] = field(default_factory=list)
    p95: list[float] = field(default_factory=list)
    seeds: list[float] = field(default_factory=list)
    disturbed: list[float] = field(default_factory=list)
    vector_path: str = ""
    degraded: int = 0

    def add_search(self, times: list[float], took_ms: float, is_whole: bool) -> None:
        """Add the time of an answer, and count it if it is degraded."""
        times.append(took_ms)
        self.degraded += not is_whole

    @property
    def ratios(self) -> list[float]:
        """The reference design's median / memd's, turn by turn."""
        return [theirs / ours for theirs, ours in zip(self.seeds, self.p50, strict=True)]


class NotHybridError(Exception):
    """A search did not use both keywords and vectors."""


def measure(options: Options) -> Part:
    """Measure searches at two sizes."""
    figures: list[Figure] = []
    notes: list[str] = []
    sizes = QUICK if options.quick else FULL
    for size in sizes:
        built = build(options, size.chunks, size.files)
        times = search_times(options, size, built)
        figures += rows(size, built, times)
        notes.append(
            f"{built.chunks:,} chunks × 384 in {built.files:,} files, vector search by {times.vector_path}; other "
            f"processes used at most {max(times.disturbed):.0%} of the cores during a turn. Answered by keyword "
            f"search alone, because embedding took too long: {times.degraded} of {len(times.new)} new queries and "
            f"{len(times.first)} first searches."
        )
    notes += [
        f"Repeated: {sizes[0].queries} distinct queries of 4 to 9 words in turn, each searched once before. The time "
        "is that of the complete answer: file checks, keyword and vector search, ranking, snippets, and the socket.",
        "The reference design has the same chunks and vectors. It answers the same queries in this process, without "
        "a socket, with given query vectors, and never checks a file.",
        "A new query is embedded by the local MiniLM model. The first search after a start has neither vectors nor "
        "model in RAM.",
    ]
    return Part("search", "One search", figures, notes=notes)


def search_times(options: Options, size: CorpusSize, built: BuiltCorpus) -> Times:
    """Return the search times of a corpus."""
    times, queries = Times(), make_queries(size.queries + size.starts, random.Random(5))
    with home_of(built) as home:
        with started(home) as daemon, daemon.client(timeout_s=600) as client:
            check_one_indexed(client.index(), built.files)
        options.show_progress(f"{built.chunks:,} chunks: first searches after {size.starts} starts")
        for query in queries[size.queries :]:
            with started(home) as daemon, daemon.client(timeout_s=60) as client:
                times.add_search(times.first, *answered(client, query))
        with started(home) as daemon, daemon.client(timeout_s=60) as client:
            search_until_known(client, queries[-1])  # loads vectors and model
            options.show_progress(f"{built.chunks:,} chunks: {size.queries} new queries")
            for query in queries[: size.queries]:
                times.add_search(times.new, *answered(client, query))
                search_until_known(client, query)
            times.vector_path = client.status().agents[0].vector_path or "nothing"
            take_turns(options, size, built, client, queries[: size.queries], times)
    return times


def take_turns(
    options: Options,
    size: CorpusSize,
    built: BuiltCorpus,
    client: Client,
    queries: Sequence[str],
    times: Times,
) -> None:
    """Search with both sides in turn, so that drift of the machine affects both."""
    seeds = reference_of(built, options.work / f"seeds-{size.key}.sqlite") if size.seeds else None
    vectors = random_vectors(len(queries), np.random.default_rng(3))
    asked = cycle(zip(queries, vectors, strict=True))
    try:
        for number in range(size.turns):
            options.show_progress(f"{built.chunks:,} chunks: turn {number + 1} of {size.turns}")
            until = time.perf_counter() + PATIENCE_S
            took, others = run_undisturbed(lambda: [timed(client, query) for query in queries], until)
            times.p50.append(statistics.median(took))
            times.p95.append(statistics.quantiles(took, n=20)[18])
            times.disturbed.append(others)
            if seeds is not None:
                some = list(islice(asked, size.seeds))
                times.seeds.append(statistics.median(reference_time(seeds, *one) for one in some))
    finally:
        if seeds is not None:
            seeds.close()


def answered(client: Client, query: str) -> tuple[float, bool]:
    """Return the milliseconds of a search, and whether it is complete."""
    started = time.perf_counter()
    reply = client.search(query)
    return (time.perf_counter() - started) * 1000, reply.mode == "hybrid" and reply.degraded is None


def timed(client: Client, query: str) -> float:
    """Return the milliseconds of a complete search."""
    took_ms, is_whole = answered(client, query)
    if not is_whole:
        raise NotHybridError(f"{query}: not a hybrid answer")
    return took_ms


def search_until_known(client: Client, query: str) -> None:
    """Search until the query's vector is known."""
    until = time.perf_counter() + KNOWN_S
    while not answered(client, query)[1]:
        if time.perf_counter() > until:
            raise NotHybridError(f"{query}: not a hybrid answer in {KNOWN_S:g} s")
        time.sleep(0.1)


def reference_time(index: ReferenceIndex, query: str, vector: np.ndarray) -> float:
    """Return the milliseconds of a search of the reference design."""
    return milliseconds(lambda: index.search(query, vector))


def milliseconds(run: Callable[[], object]) -> float:
    """Return the milliseconds of a call."""
    started = time.perf_counter()
    run()
    return (time.perf_counter() - started) * 1000


def rows(size: CorpusSize, built: BuiltCorpus, times: Times) -> Iterator[Figure]:
    """Yield a corpus's rows."""
    key, at = f"search.{size.key}", f"{built.chunks:,} chunks"
    yield at_most(f"{key}.warm.p50", f"repeated query, {at}: p50", times.p50, "ms", size.most_ms)
    yield measured(f"{key}.warm.p95", "… p95", times.p95, "ms")
    if times.seeds:
        yield measured(f"{key}.seeds.p50", "… the reference design: p50", times.seeds, "ms")
        yield at_least(
            f"{key}.seeds.ratio",
            "… the reference design / memd, turn by turn",
            times.ratios,
            "times",
            BAR_TIMES,
        )
    cuts = statistics.quantiles(times.new, n=20)
    yield Figure(f"{key}.new.p50", f"new query, {at}: p50", cuts[9], "ms")
    yield Figure(f"{key}.new.p95", "… p95", cuts[18], "ms")
    yield measured(f"{key}.first", f"first search after a start, {at}", times.first, "ms")
