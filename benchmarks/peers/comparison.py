"""The part `peers`: memd, OpenClaw and memsearch with the same notes.

Searches are timed inside the searching process: OpenClaw's and memsearch's through their own API in a long-lived
process, memd's through its client, including the socket. In each round all sides answer the same new queries in random
order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import trio

from benchmarks.part import Figure, Options, Part, measured
from benchmarks.peers.contest import Contest
from benchmarks.peers.endpoint import EndpointProcess
from benchmarks.peers.install import (
    MEMSEARCH,
    OPENCLAW,
    PeerMissingError,
    install_memsearch,
    install_openclaw,
)
from benchmarks.peers.memd_system import MemdSystem
from benchmarks.peers.notes import PLANTED, make_queries, write_notes
from benchmarks.peers.peer_systems import MemsearchSystem, OpenClawSystem
from benchmarks.peers.rounds import find_planted, first_search, search_from_shell, warm_rounds
from benchmarks.peers.server import INSTANT, MINILM
from benchmarks.peers.system import ComparedSystem, SystemSetup
from benchmarks.peers.table import WARM_BAR, index_figures, shell_figures, side_figures, warm_figures
from benchmarks.scale_process import resident_mb
from memd.embedding.local.pull import pull_model
from memd.settings.paths import models_dir
from memd_client.errors import MemdError

TITLE: Final = "Compared with OpenClaw and memsearch"

Makers = dict[str, Callable[[SystemSetup], ComparedSystem]]


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
    "'Without embedding' is the time of a search minus what the endpoint's log has for its vectors. If memd is not sure"
    " that a hit is relevant, it fetches vectors of single lines as well; the table has the requests per search.",
)


def measure(options: Options) -> Part:
    """Measure all three programs, or those that are available."""
    cache = options.cache / "peers"
    cache.mkdir(parents=True, exist_ok=True)
    try:
        model = trio.run(pull_model, "minilm", models_dir(), lambda *_: None)
    except MemdError as error:
        return Part("peers", TITLE, skipped=f"minilm is not available: {error.message}")
    makers, missing = install_peers(cache, options.show_progress)
    if len(makers) == 1:
        return Part("peers", TITLE, skipped="; ".join(missing))
    bench = PeerComparison(options, makers, QUICK if options.quick else FULL)
    log = options.work / "endpoint.log"
    with EndpointProcess(model, cache / "minilm-256.sqlite", log) as endpoint:
        figures = [*bench.with_minilm(endpoint), *bench.indexing(endpoint), *bench.large(endpoint)]
    return Part("peers", TITLE, figures, notes=[*NOTES, *missing, *bench.failures])


def install_peers(cache: Path, show_progress: Callable[[str], None]) -> tuple[Makers, list[str]]:
    """Return the constructor of each side, memd first, and why a peer is missing."""
    makers: Makers = {MemdSystem.name: MemdSystem}
    missing = []
    show_progress("installing OpenClaw and memsearch if they are missing")
    try:
        makers[OpenClawSystem.name] = partial(OpenClawSystem, package=install_openclaw(cache))
    except PeerMissingError as error:
        missing.append(f"OpenClaw is not available: {error}")
    try:
        makers[MemsearchSystem.name] = partial(MemsearchSystem, programs=install_memsearch(cache))
    except PeerMissingError as error:
        missing.append(f"memsearch is not available: {error}")
    return makers, missing


class PeerComparison:
    """The measurements, each over notes of its own."""

    def __init__(self, options: Options, makers: Makers, sizes: PeerSizes) -> None:
        self.failures: list[str] = []
        self._options = options
        self._makers = makers
        self._sizes = sizes

    def with_minilm(self, endpoint: EndpointProcess) -> Iterator[Figure]:
        """Measure searches with real vectors."""
        sizes = self._sizes
        contest, asked = self._contest("minilm", MINILM, endpoint, sizes.blocks, self._makers)
        with contest:
            indexed = contest.each(lambda side: side.index())
            self._show_progress(", ".join(f"{name} {one.chunks} chunks" for name, one in indexed.items()))
            first = contest.each(first_search)
            self._show_progress("searches in a running process")
            warm = warm_rounds(contest, endpoint, asked, sizes.rounds)
            found = contest.each(find_planted)
            memory = contest.each(lambda side: resident_mb(side.pid))
            contest.each(lambda side: side.rest())
            self._show_progress("searches from the shell")
            shells = search_from_shell(contest, sizes.shells)
            self.failures += contest.failures
        yield from shell_figures(shells)
        yield from warm_figures("peers", "", warm, WARM_BAR)
        yield from side_figures("peers.first", "first search of a process", "ms", [first], float)
        yield from side_figures("peers.memory", "RAM of the searching process", "MB", [memory], float)
        for name, count in found.items():
            what = f"planted notes found, of {len(PLANTED)}, {name}"
            yield measured(f"peers.found.{name}", what, [count], "notes")

    def indexing(self, endpoint: EndpointProcess) -> Iterator[Figure]:
        """Measure indexing with nearly free vectors."""
        contest, _ = self._contest("indexing", INSTANT, endpoint, self._sizes.blocks, self._makers)
        with contest:
            indexed = contest.each(lambda side: side.index())
            self.failures += contest.failures
        yield from index_figures("peers", "", indexed)

    def large(self, endpoint: EndpointProcess) -> Iterator[Figure]:
        """Measure memd and OpenClaw with the larger corpus and nearly free vectors."""
        sizes = self._sizes
        makers = {name: make for name, make in self._makers.items() if name != MemsearchSystem.name}
        contest, asked = self._contest("large", INSTANT, endpoint, sizes.large, makers)
        with contest:
            indexed = contest.each(lambda side: side.index())
            contest.each(first_search)
            self._show_progress("searches of the larger corpus")
            warm = warm_rounds(contest, endpoint, asked, sizes.rounds)
            memory = contest.each(lambda side: resident_mb(side.pid))
            self.failures += contest.failures
        what = ", larger corpus"
        yield from warm_figures("peers.large", what, warm, WARM_BAR)
        yield from side_figures("peers.large.memory", f"memory{what}", "MB", [memory], float)
        yield from index_figures("peers.large", what, indexed)

    def _contest(
        self, name: str, model: str, endpoint: EndpointProcess, chunks: int, makers: Makers
    ) -> tuple[Contest, list[str]]:
        """Return the sides over new notes, and queries for them."""
        root = self._options.work / name
        size = write_notes(root / "notes", chunks, random.Random(17))
        self._show_progress(f"{name}: {size / 1e6:.1f} MB of notes")
        sides = [
            make(SystemSetup(root / side, root / "notes", endpoint.url(side), model))
            for side, make in makers.items()
        ]
        count = self._sizes.rounds * self._sizes.queries
        queries = make_queries(root / "notes", count, random.Random(23))
        return Contest(sides, random.Random(5)), queries

    def _show_progress(self, line: str) -> None:
        self._options.show_progress(f"peers: {line}")
