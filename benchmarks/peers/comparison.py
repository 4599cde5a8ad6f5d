"""The part `peers`: memd, OpenClaw and memsearch over the same notes and one embedding endpoint.

Warm searches are timed inside the process that asks: OpenClaw's and memsearch's through their own API in one
long-lived process, memd's through its client, so that the way over the socket counts. In each round all sides answer
the same questions, which none of them has been asked before, in an order of its own.
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
from benchmarks.peers.endpoint import Endpoint
from benchmarks.peers.install import (
    MEMSEARCH,
    OPENCLAW,
    PeerMissingError,
    install_memsearch,
    install_openclaw,
)
from benchmarks.peers.memd_side import MemdSide
from benchmarks.peers.notes import PLANTED, make_questions, write_notes
from benchmarks.peers.peer_sides import MemsearchSide, OpenClawSide
from benchmarks.peers.rounds import ask_shell, find_planted, first_search, warm_rounds
from benchmarks.peers.server import INSTANT, MINILM
from benchmarks.peers.side import Corner, Side
from benchmarks.peers.table import WARM_BAR, index_figures, shell_figures, side_figures, warm_figures
from benchmarks.scale_process import resident_mb
from memd.embedding.local.pull import pull_model
from memd.settings.paths import models_dir
from memd_client.errors import MemdError

TITLE: Final = "Beside OpenClaw and memsearch"

Makers = dict[str, Callable[[Corner], Side]]


class Sizes(NamedTuple):
    """How much is measured."""

    chunks: int
    large: int
    rounds: int
    questions: int
    shells: int


QUICK: Final = Sizes(chunks=100, large=300, rounds=3, questions=6, shells=2)
FULL: Final = Sizes(chunks=1_000, large=4_400, rounds=7, questions=20, shells=5)

NOTES: Final = (
    f"OpenClaw {OPENCLAW} and memsearch {MEMSEARCH} as npm and pip install them, with their defaults but for the"
    " address of the embedding endpoint; memd likewise.",
    "The notes are English words at random with a few real sentences between; questions are some words of one line."
    " All systems cut the same notes in their own way and are asked for 6 hits.",
    "One endpoint on the loopback serves all: MiniLM, the first 256 tokens of a text, each question embedded anew."
    " Vectors of longer texts are kept in a file, so that no indexing time has embedding in it; indexing is"
    " timed apart, with vectors that are made of a hash and cost next to nothing, and so is the larger corpus.",
    "Search from the shell is a process from start to end; memctl asks a daemon that runs, the others open their"
    " index themselves, as they are made to.",
    "'Less embedding' is each search's time less what the endpoint's own log says it took for its vectors. Where memd"
    " is in doubt whether anything it found is relevant, it fetches vectors of single lines, too; the requests a"
    " search are in the table.",
)


def measure(options: Options) -> Part:
    """Measure all three, or those that can be had."""
    cache = options.cache / "peers"
    cache.mkdir(parents=True, exist_ok=True)
    try:
        model = trio.run(pull_model, "minilm", models_dir(), lambda *_: None)
    except MemdError as error:
        return Part("peers", TITLE, skipped=f"minilm can't be had: {error.message}")
    makers, missing = install_peers(cache, options.tell)
    if len(makers) == 1:
        return Part("peers", TITLE, skipped="; ".join(missing))
    bench = Bench(options, makers, QUICK if options.quick else FULL)
    log = options.work / "endpoint.log"
    with Endpoint(model, cache / "minilm-256.sqlite", log) as endpoint:
        figures = [*bench.with_minilm(endpoint), *bench.indexing(endpoint), *bench.large(endpoint)]
    return Part("peers", TITLE, figures, notes=[*NOTES, *missing, *bench.failures])


def install_peers(cache: Path, tell: Callable[[str], None]) -> tuple[Makers, list[str]]:
    """Return how each side is made, memd first, and why a peer can't be had."""
    makers: Makers = {MemdSide.name: MemdSide}
    missing = []
    tell("installing OpenClaw and memsearch where they aren't yet")
    try:
        makers[OpenClawSide.name] = partial(OpenClawSide, package=install_openclaw(cache))
    except PeerMissingError as error:
        missing.append(f"OpenClaw can't be had: {error}")
    try:
        makers[MemsearchSide.name] = partial(MemsearchSide, programs=install_memsearch(cache))
    except PeerMissingError as error:
        missing.append(f"memsearch can't be had: {error}")
    return makers, missing


class Bench:
    """The contests, each over notes of its own."""

    def __init__(self, options: Options, makers: Makers, sizes: Sizes) -> None:
        self.failures: list[str] = []
        self._options = options
        self._makers = makers
        self._sizes = sizes

    def with_minilm(self, endpoint: Endpoint) -> Iterator[Figure]:
        """Measure searches with real vectors: warm, from the shell, and what they find."""
        sizes = self._sizes
        contest, asked = self._contest("minilm", MINILM, endpoint, sizes.chunks, self._makers)
        with contest:
            indexed = contest.each(lambda side: side.index())
            self._tell(", ".join(f"{name} {one.chunks} chunks" for name, one in indexed.items()))
            first = contest.each(first_search)
            self._tell("warm searches")
            warm = warm_rounds(contest, endpoint, asked, sizes.rounds)
            found = contest.each(find_planted)
            memory = contest.each(lambda side: resident_mb(side.pid))
            contest.each(lambda side: side.rest())
            self._tell("searches from the shell")
            shells = ask_shell(contest, sizes.shells)
            self.failures += contest.failures
        yield from shell_figures(shells)
        yield from warm_figures("peers", "", warm, WARM_BAR)
        yield from side_figures("peers.first", "first search of a process", "ms", [first], float)
        yield from side_figures("peers.memory", "memory of the process that searches", "MB", [memory], float)
        for name, count in found.items():
            what = f"planted notes found, of {len(PLANTED)}, {name}"
            yield measured(f"peers.found.{name}", what, [count], "notes")

    def indexing(self, endpoint: Endpoint) -> Iterator[Figure]:
        """Measure indexing with vectors that cost next to nothing."""
        contest, _ = self._contest("indexing", INSTANT, endpoint, self._sizes.chunks, self._makers)
        with contest:
            indexed = contest.each(lambda side: side.index())
            self.failures += contest.failures
        yield from index_figures("peers", "", indexed)

    def large(self, endpoint: Endpoint) -> Iterator[Figure]:
        """Measure memd and OpenClaw at the larger corpus, with such vectors, too."""
        sizes = self._sizes
        makers = {name: make for name, make in self._makers.items() if name != MemsearchSide.name}
        contest, asked = self._contest("large", INSTANT, endpoint, sizes.large, makers)
        with contest:
            indexed = contest.each(lambda side: side.index())
            contest.each(first_search)
            self._tell("warm searches of the larger corpus")
            warm = warm_rounds(contest, endpoint, asked, sizes.rounds)
            memory = contest.each(lambda side: resident_mb(side.pid))
            self.failures += contest.failures
        what = ", larger corpus"
        yield from warm_figures("peers.large", what, warm, WARM_BAR)
        yield from side_figures("peers.large.memory", f"memory{what}", "MB", [memory], float)
        yield from index_figures("peers.large", what, indexed)

    def _contest(
        self, name: str, model: str, endpoint: Endpoint, chunks: int, makers: Makers
    ) -> tuple[Contest, list[str]]:
        """Return a contest over fresh notes, and questions to them."""
        root = self._options.work / name
        size = write_notes(root / "notes", chunks, random.Random(17))
        self._tell(f"{name}: {size / 1e6:.1f} MB of notes")
        sides = [
            make(Corner(root / side, root / "notes", endpoint.url(side), model))
            for side, make in makers.items()
        ]
        count = self._sizes.rounds * self._sizes.questions
        questions = make_questions(root / "notes", count, random.Random(23))
        return Contest(sides, random.Random(5)), questions

    def _tell(self, line: str) -> None:
        self._options.tell(f"peers: {line}")
