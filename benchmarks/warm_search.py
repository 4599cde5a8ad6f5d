"""One search, with repeated and with new queries, next to the reference design.

There are more than two hundred distinct queries, so that no cache helps that a user would not have. The vector of a
repeated query is known from its first search; a new query is embedded by the local model.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Final, NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from benchmarks.corpora import CachedCorpus, StateError, cached_corpus, settled_home, started
from benchmarks.corpus import make_queries, random_vectors
from benchmarks.part import Figure, Options, Part, at_least, at_most, measured, milliseconds
from benchmarks.processes import MB, processor_s, resident_mb
from benchmarks.reference_index import ReferenceChunk, ReferenceIndex
from memd_client import Client
from tests.support.daemon import DaemonProcess

QUERY_COUNT: Final = 220
"""Fewer than the query vectors that the daemon keeps, so that all of them are known after one search each."""

KNOWN_S: Final = 60.0
"""Timeout for the embedding of a query."""


class CorpusSize(NamedTuple):
    """A corpus, its bars, and its measurement; `reference` counts searches of the reference design per turn."""

    key: str
    chunks: int
    most_ms: float
    least_times: float
    turns: int
    reference: int
    starts: int
    queries: int = QUERY_COUNT
    has_bars: bool = False


FULL: Final = (
    CorpusSize("15k", 15_000, 5.0, 35.0, turns=6, reference=12, starts=5, has_bars=True),
    CorpusSize("100k", 100_000, 25.0, 110.0, turns=6, reference=4, starts=3),
)
QUICK: Final = (CorpusSize("4k", 4_000, 5.0, 10.0, turns=2, reference=4, starts=1, queries=60),)

BAR_FIRST_MS: Final = 150.0
BAR_PROCESSOR_MS: Final = 3.5
BAR_TOOL_PROCESSOR_MS: Final = 5.0
BAR_NEW_MS: Final = 1.0
"""What a new query may take longer than a repeated one, besides its embedding."""

TOOL_CHARS: Final = 4_200
"""The budget of characters with which agents' tools search."""


@dataclass
class SearchTimes:
    """Milliseconds of first searches, of new queries, of these beyond their embedding and a repetition, the turns' p50
    and p95, and the daemon's processor time per search with each request; the daemon's RAM after them in MB."""

    first: list[float] = field(default_factory=list)
    new: list[float] = field(default_factory=list)
    beyond: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    tool_processor: list[float] = field(default_factory=list)
    p50: list[float] = field(default_factory=list)
    p95: list[float] = field(default_factory=list)
    reference: list[float] = field(default_factory=list)
    ram: float = 0.0
    degraded: int = 0


def measure(options: Options) -> Part:
    """Measure searches at two sizes."""
    figures: list[Figure] = []
    notes: list[str] = []
    sizes = QUICK if options.quick else FULL
    for size in sizes:
        built = cached_corpus(options, size.chunks)
        times = search_times(options, size, built)
        figures += rows(size, built, times)
        notes.append(
            f"{built.chunks:,} chunks × 384 in {built.files:,} files. Answered by keyword search alone, because "
            f"embedding took too long: {times.degraded} of {len(times.new)} new queries and {len(times.first)} first "
            "searches."
        )
    notes += [
        f"Repeated: {sizes[0].queries} distinct queries of 4 to 9 words in turn, each searched once before. The time "
        "is that of the complete answer: file checks, keyword and vector search, ranking, snippets, and the socket.",
        "The reference design has the same chunks and vectors. It answers the same queries in this process, without "
        "a socket, with given query vectors, and never checks a file.",
        "A new query is embedded by the local MiniLM model. The first search after a start has neither vectors nor "
        "model in RAM.",
    ]
    return Part("One search", figures, notes=notes)


def search_times(options: Options, size: CorpusSize, built: CachedCorpus) -> SearchTimes:
    """Return the search times of a corpus."""
    times, queries = SearchTimes(), make_queries(size.queries + size.starts, random.Random(5))

    def search(client: Client, query: str, took: list[float]) -> None:
        took_ms, is_whole = answered(client, query)
        took.append(took_ms)
        times.degraded += not is_whole

    with settled_home({"main": built}) as home:
        options.show_progress(f"{built.chunks:,} chunks: first searches after {size.starts} starts")
        for query in queries[size.queries :]:
            with started(home, fresh=True) as daemon, daemon.client(timeout_s=60) as client:
                search(client, query, times.first)
        with started(home) as daemon, daemon.client(timeout_s=60) as client:
            search_until_known(client, queries[-1])  # loads vectors and model
            options.show_progress(f"{built.chunks:,} chunks: {size.queries} new queries")
            for query in queries[: size.queries]:
                search(client, query, times.new)
                search_until_known(client, query)
                times.beyond.append(times.new[-1] - answered(client, query)[0] - embedding_ms(client, query))
            with reference_of(built, options.work / f"reference-{size.key}.sqlite") as reference:
                take_turns(options, size, client, reference, queries[: size.queries], times)
            for _ in range(size.turns):
                times.processor.append(processor_ms(daemon, client, queries[: size.queries], None))
                times.tool_processor.append(processor_ms(daemon, client, queries[: size.queries], TOOL_CHARS))
            times.ram = resident_mb(daemon.pid)
    return times


def take_turns(
    options: Options,
    size: CorpusSize,
    client: Client,
    reference: ReferenceIndex,
    queries: Sequence[str],
    times: SearchTimes,
) -> None:
    """Search with both sides in turn, so that drift of the machine affects both."""
    vectors = random_vectors(len(queries), np.random.default_rng(3))
    asked = cycle(zip(queries, vectors, strict=True))
    for number in range(size.turns):
        options.show_progress(f"turn {number + 1} of {size.turns}")
        answers = [answered(client, query) for query in queries]
        if not all(is_whole for _, is_whole in answers):
            raise StateError("a repeated query had no hybrid answer")
        took = [took_ms for took_ms, _ in answers]
        times.p50.append(statistics.median(took))
        times.p95.append(statistics.quantiles(took, n=20)[18])
        some = islice(asked, size.reference)
        times.reference.append(
            statistics.median(milliseconds(partial(reference.search, *one)) for one in some)
        )


def embedding_ms(client: Client, query: str) -> float:
    """Return the milliseconds of embedding a query as long as another one."""
    reversed_query = " ".join(reversed(query.split()))
    return milliseconds(partial(client.embed, [reversed_query], kind="query"))


def processor_ms(
    daemon: DaemonProcess, client: Client, queries: Sequence[str], max_chars: int | None
) -> float:
    """Return the daemon's processor time per search; that of the model process is not included."""
    before = processor_s([daemon.pid])
    for query in queries:
        client.search(query, max_chars=max_chars)
    return (processor_s([daemon.pid]) - before) * 1000 / len(queries)


def answered(client: Client, query: str) -> tuple[float, bool]:
    """Return the milliseconds of a search, and whether it is complete."""
    started = time.perf_counter()
    reply = client.search(query)
    return (time.perf_counter() - started) * 1000, reply.mode == "hybrid" and reply.degraded is None


def search_until_known(client: Client, query: str) -> None:
    """Search until the query's vector is known."""
    until = time.perf_counter() + KNOWN_S
    while not answered(client, query)[1]:
        if time.perf_counter() > until:
            raise StateError(f"{query}: not a hybrid answer in {KNOWN_S:g} s")
        time.sleep(0.1)


def reference_of(built: CachedCorpus, path: Path) -> ReferenceIndex:
    """Build the index of the reference design with the same chunks and vectors."""
    chunks: list[ReferenceChunk] = []
    vectors: list[bytes] = []
    # Opened as immutable, so that SQLite creates no -wal and -shm files in the cache.
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    with closing(apsw.Connection(f"{built.index.as_uri()}?immutable=1", flags=flags)) as db:
        for *place, vector in db.execute(
            "SELECT c.path, c.start_line, c.end_line, c.text, e.embedding FROM chunks c"
            " JOIN embedding_cache e ON e.hash = c.hash ORDER BY c.id"
        ):
            chunks.append(ReferenceChunk(*place))
            vectors.append(vector)
    matrix: NDArray[np.float32] = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(vectors), -1)
    index = ReferenceIndex(path, matrix.shape[1])
    index.fill(chunks, matrix)
    return index


def rows(size: CorpusSize, built: CachedCorpus, times: SearchTimes) -> Iterator[Figure]:
    """Yield a corpus's rows."""
    key, at = f"search.{size.key}", f"{built.chunks:,} chunks"
    yield at_most(f"{key}.warm.p50", f"repeated query, {at}: p50", times.p50, "ms", size.most_ms)
    yield measured(f"{key}.warm.p95", "… p95", times.p95, "ms")
    yield measured(f"{key}.reference.p50", "… the reference design: p50", times.reference, "ms")
    ratio = [theirs / ours for theirs, ours in zip(times.reference, times.p50, strict=True)]
    yield at_least(
        f"{key}.ratio", "… the reference design / memd, turn by turn", ratio, "times", size.least_times
    )
    cuts = statistics.quantiles(times.new, n=20)
    yield Figure(f"{key}.new.p50", f"new query, {at}: p50", cuts[9], "ms")
    yield Figure(f"{key}.new.p95", "… p95", cuts[18], "ms")
    judged: list[tuple[str, str, list[float], float]] = [
        ("new.beyond", "… minus embedding and a repeated query", times.beyond, BAR_NEW_MS),
        ("first", f"first search after a start, {at}", times.first, BAR_FIRST_MS),
        ("processor", f"processor time of a search, {at}", times.processor, BAR_PROCESSOR_MS),
        (
            "processor.tool",
            f"… as tools request it: {TOOL_CHARS:,} characters",
            times.tool_processor,
            BAR_TOOL_PROCESSOR_MS,
        ),
    ]
    for name, what, took, most in judged:
        row = (f"{key}.{name}", what, took, "ms")
        yield at_most(*row, most) if size.has_bars else measured(*row)
    yield Figure(f"{key}.ram", f"the daemon's RAM after the searches, {at}", times.ram, "MB")
    yield Figure(f"{key}.index", f"index on disk, {at}", built.index.stat().st_size / MB, "MB")
