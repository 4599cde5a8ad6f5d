"""The part `peers`: memd, OpenClaw and memsearch with the same notes.

Searches are timed inside the searching process: OpenClaw's and memsearch's through their own API in a long-lived
process, memd's through its client, including the socket. In each round all sides answer the same new queries in random
order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from operator import methodcaller
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Final, NamedTuple, Self, TypeVar

import trio

from benchmarks.part import Figure, Options, Part, at_least, measured
from benchmarks.peers.endpoint import INSTANT, MINILM, EndpointProcess
from benchmarks.peers.install import (
    MEMSEARCH,
    OPENCLAW,
    PeerMissingError,
    install_memsearch,
    install_openclaw,
)
from benchmarks.peers.notes import PLANTED, make_queries, planted_name, write_notes
from benchmarks.peers.systems import (
    ComparedSystem,
    MemdSystem,
    MemsearchSystem,
    OpenClawSystem,
    SystemSetup,
)
from benchmarks.processes import resident_mb
from memd.embedding.local.pull import pull_model
from memd.settings.paths import models_dir
from memd_client.errors import MemdError

TITLE: Final = "Compared with OpenClaw and memsearch"

SHELL_BAR: Final = 20.0
WARM_BAR: Final = 5.0

WARM_UP: Final = ("which words come before all others", "what is asked twice", "how does one begin")
"""Queries of the first searches, which load what later ones need."""

Makers = dict[str, Callable[[SystemSetup], ComparedSystem]]

T = TypeVar("T")


class PeerSizes(NamedTuple):
    """Extent of the measurements; `blocks` and `large` are in blocks of 1,600 characters."""

    blocks: int
    large: int
    rounds: int
    queries: int
    shells: int


QUICK: Final = PeerSizes(blocks=100, large=300, rounds=3, queries=6, shells=2)
FULL: Final = PeerSizes(blocks=1_000, large=4_400, rounds=7, queries=20, shells=5)

NOTES: Final = (
    f"OpenClaw {OPENCLAW} and memsearch {MEMSEARCH} from npm and PyPI, memd from this repository; all with "
    "their defaults except the address of the embedding endpoint.",
    "The notes are random English words with a few real sentences; queries are some words of one line. Each program "
    "cuts the notes into chunks of its own and returns 6 hits.",
    "One endpoint on the loopback interface serves all: MiniLM, the first 256 tokens of a text. Each query is "
    "embedded again; vectors of notes are kept in a file. Indexing and the larger corpus use nearly free vectors "
    "made of a hash.",
    "Search from the shell is a complete process; memctl calls a running daemon, the others open their index.",
)


def measure(options: Options) -> Part:
    """Measure all three programs, or those that are available."""
    cache = peer_cache(options)
    try:
        model = trio.run(pull_model, "minilm", models_dir(), lambda *_: None)
    except MemdError as error:
        return Part(TITLE, skipped=f"minilm is not available: {error.message}")
    makers, missing = install_peers(options)
    if len(makers) == 1:
        return Part(TITLE, skipped="; ".join(missing))
    bench = PeerComparison(options, makers, QUICK if options.quick else FULL)
    with EndpointProcess(options.work / "endpoint.log", model, cache / "minilm-256.sqlite") as endpoint:
        figures = [
            *bench.with_minilm(endpoint.url),
            *bench.indexing(endpoint.url),
            *bench.large(endpoint.url),
        ]
    return Part(TITLE, figures, notes=[*NOTES, *missing])


def peer_cache(options: Options) -> Path:
    """Return the folder of installed peers and kept vectors."""
    cache = options.cache / "peers"
    cache.mkdir(parents=True, exist_ok=True)
    return cache


def install_peers(options: Options) -> tuple[Makers, list[str]]:
    """Return the constructor of each side, memd first, and why a peer is missing."""
    makers: Makers = {MemdSystem.name: MemdSystem}
    missing = []
    cache = peer_cache(options)
    options.show_progress("installing OpenClaw and memsearch if they are missing")
    try:
        makers[OpenClawSystem.name] = partial(OpenClawSystem, package=install_openclaw(cache))
    except PeerMissingError as error:
        missing.append(f"OpenClaw is not available: {error}")
    try:
        makers[MemsearchSystem.name] = partial(MemsearchSystem, programs=install_memsearch(cache))
    except PeerMissingError as error:
        missing.append(f"memsearch is not available: {error}")
    return makers, missing


class Contest:
    """Sides over the same notes.

    Resources: the sides' processes, ended by leaving the context.
    """

    def __init__(self, sides: list[ComparedSystem], chance: random.Random) -> None:
        self._sides = sides
        self._chance = chance
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for side in self._sides:
                stack.enter_context(side)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def each(self, action: Callable[[ComparedSystem], T]) -> dict[str, T]:
        """Run an action for every side in random order; return the results by name."""
        return {side.name: action(side) for side in self._chance.sample(self._sides, len(self._sides))}


class PeerComparison:
    """The measurements, each over notes of its own."""

    def __init__(self, options: Options, makers: Makers, sizes: PeerSizes) -> None:
        self._options = options
        self._makers = makers
        self._sizes = sizes

    def with_minilm(self, url: str) -> Iterator[Figure]:
        """Measure searches with real vectors."""
        contest, queries = self._contest("minilm", MINILM, url, self._sizes.blocks, self._makers)
        with contest:
            contest.each(lambda side: side.index())
            first = contest.each(warm_up)
            warm = self._warm_rounds(contest, queries)
            found = contest.each(count_planted)
            ram = contest.each(lambda side: resident_mb(side.pid))
            self._options.show_progress("searches from the shell")
            planted = [query for _, query in PLANTED.values()][: self._sizes.shells]
            shells = [contest.each(methodcaller("shell_ms", query)) for query in planted]
        yield from side_figures("peers.shell", "search from the shell", "ms", shells, SHELL_BAR)
        yield from side_figures("peers.warm", "new query", "ms", warm, WARM_BAR)
        yield from side_figures("peers.first", "first search of a process", "ms", [first])
        yield from side_figures("peers.memory", "RAM of the searching process", "MB", [ram])
        for name, count in found.items():
            what = f"planted notes found, of {len(PLANTED)}, {name}"
            yield measured(f"peers.found.{name}", what, [count], "notes")

    def indexing(self, url: str) -> Iterator[Figure]:
        """Measure indexing with nearly free vectors."""
        contest, _ = self._contest("indexing", INSTANT, url, self._sizes.blocks, self._makers)
        with contest:
            took_s = contest.each(index_s)
        yield from side_figures("peers.index", "indexing all notes", "s", [took_s])

    def large(self, url: str) -> Iterator[Figure]:
        """Measure memd and OpenClaw with the larger corpus and nearly free vectors."""
        makers = {name: make for name, make in self._makers.items() if name != MemsearchSystem.name}
        contest, queries = self._contest("large", INSTANT, url, self._sizes.large, makers)
        with contest:
            took_s = contest.each(index_s)
            contest.each(warm_up)
            warm = self._warm_rounds(contest, queries)
        yield from side_figures("peers.large.warm", "new query, larger corpus", "ms", warm, WARM_BAR)
        yield from side_figures("peers.large.index", "indexing the larger corpus", "s", [took_s])

    def _contest(
        self, name: str, model: str, url: str, blocks: int, makers: Makers
    ) -> tuple[Contest, list[str]]:
        """Return the sides over new notes, and queries for them."""
        root = self._options.work / name
        size = write_notes(root / "notes", blocks, random.Random(17))
        self._options.show_progress(f"{name}: {size / 1e6:.1f} MB of notes")
        sides = [make(SystemSetup(root / side, root / "notes", url, model)) for side, make in makers.items()]
        count = self._sizes.rounds * self._sizes.queries
        queries = make_queries(root / "notes", count, random.Random(23))
        return Contest(sides, random.Random(5)), queries

    def _warm_rounds(self, contest: Contest, queries: Sequence[str]) -> list[dict[str, float]]:
        """Return the medians of all sides, with different queries in each round."""
        self._options.show_progress("searches in a running process")
        share = self._sizes.queries
        return [
            contest.each(partial(search_ms, queries=queries[start : start + share]))
            for start in range(0, len(queries), share)
        ]


def index_s(side: ComparedSystem) -> float:
    """Return the seconds of indexing all notes."""
    return side.index().ms / 1000


def warm_up(side: ComparedSystem) -> float:
    """Return the milliseconds of the first search, and search a little more."""
    first, *_ = [side.search(query).ms for query in WARM_UP]
    return first


def search_ms(side: ComparedSystem, queries: Sequence[str]) -> float:
    """Return the median of some searches in milliseconds."""
    return median(side.search(query).ms for query in queries)


def count_planted(side: ComparedSystem) -> int:
    """Return how many planted notes their queries find, by file name."""
    return sum(
        any(Path(path).name == planted_name(name) for path in side.search(query).paths)
        for name, (_, query) in PLANTED.items()
    )


def side_figures(
    key: str, what: str, unit: str, rounds: Sequence[Mapping[str, float]], bar: float | None = None
) -> Iterator[Figure]:
    """Yield the figure of each side, and of each peer as a multiple of memd's, within each round."""
    peers = sorted(rounds[0].keys() - {MemdSystem.name}, reverse=True)
    for name in (MemdSystem.name, *peers):
        yield measured(f"{key}.{name}", f"{what}, {name}", [done[name] for done in rounds], unit)
    for name in peers:
        times = [done[name] / done[MemdSystem.name] for done in rounds]
        ratio = (f"{key}.{name}.times", f"{what}, {name} / memd", times, "times")
        yield measured(*ratio) if bar is None else at_least(*ratio, bar)
