"""RAM of many agents: one daemon compared with one engine per agent.

Both sides have the same corpora (synthetic notes, one random vector per chunk) and the same model. All processes of a
side run at the same time and have searched. Their RAM is measured as PSS, in which shared pages count once, and as RSS;
with and without as many bare interpreters, since an agent has an interpreter anyway.
"""

from __future__ import annotations

import random
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
import trio

from benchmarks.agents_ram_peers import NOTES_CHUNKS, measure_peers
from benchmarks.corpus import make_queries
from benchmarks.part import Figure, Options, Part, at_most, measured
from benchmarks.scale_agents import names_of
from benchmarks.scale_corpora import CachedCorpus, cached_corpus, settled_home, start
from benchmarks.scale_process import REST_S, RamUse, children_of, ram_of, workers
from memd.embedding.local.pull import pull_model
from memd.settings.paths import models_dir
from tests.support.daemon import DaemonProcess

SIDES: Final = "benchmarks.agents_ram_sides"

MOST: Final = 0.1
"""Bar: the daemon's part of the engines' RAM."""

JUDGED: Final = 1_000
"""Chunks per agent of the figures with a bar; with larger memories vectors outweigh everything else on both sides."""


PARTS: Final = {
    "searching": "daemon and model after the searches",
    "daemon": "daemon and model at rest",
    "clients": "all clients",
    "bare": "bare interpreters",
}


class RamBySystem(msgspec.Struct, frozen=True):
    """RAM of one round, in the order of measurement."""

    searching: RamUse
    daemon: RamUse
    clients: RamUse
    engines: RamUse
    bare: RamUse

    def through_daemon(self, *, interpreters: bool) -> RamUse:
        """Return the RAM of the daemon's side, optionally without the clients' bare interpreters."""
        whole = _plus(self.daemon, self.clients)
        return whole if interpreters else _minus(whole, self.bare)

    def in_process(self, *, interpreters: bool) -> RamUse:
        """Return the RAM of the engines."""
        return self.engines if interpreters else _minus(self.engines, self.bare)


def measure(options: Options) -> Part:
    """Measure both sides with small and large memories."""
    agents, rounds = (3, 1) if options.quick else (20, 3)
    figures: list[Figure] = []
    missing: list[str] = []
    for chunks in (JUDGED,) if options.quick else (JUDGED, 15_000):
        corpus = cached_corpus(options, chunks)
        sides = [_measure_sides(corpus, agents) for _ in range(rounds)]
        options.show_progress(_progress_line(agents, corpus, sides))
        figures += _figures(agents, chunks, corpus, sides)
        if chunks == JUDGED:
            peers, missing = measure_peers(options, agents)
            figures += _peer_figures(agents, sides, peers)
    notes = [
        "One daemon: the daemon, its model process, and one connected memd_client process per agent that has searched; "
        "measured a minute after the last search, when caches are released. The engines release theirs at once.",
        "Engines: one process per agent with the parts of memd that a search needs: an open index, vectors in RAM, "
        "MiniLM loaded by `llama_cpp.Llama`, one query answered. The model file is mapped: PSS counts its 46 MB once.",
        "Without interpreters: minus as many concurrent `python` processes that import nothing.",
        "OpenClaw and memsearch: one process per agent with the program's own engine, over notes of about "
        f"{NOTES_CHUNKS} blocks of 1,600 characters. They load no model: their endpoint is not counted.",
        *missing,
    ]
    return Part(
        name="agents",
        title="RAM: one daemon compared with an engine in each process",
        figures=figures,
        notes=notes,
    )


def _measure_sides(corpus: CachedCorpus, agents: int) -> RamBySystem:
    """Measure each side while the other does not run."""
    names = names_of(agents)
    queries = make_queries(agents, random.Random(13))
    with settled_home(dict.fromkeys(names, corpus)) as home:
        daemon = DaemonProcess(home)
        try:
            start(daemon)
            daemon.wait_for(lambda status: all(agent.last_sync_ms for agent in status.agents))
            socket = str(home.socket)
            lines = [("client", socket, name, query) for name, query in zip(names, queries, strict=True)]
            with workers(SIDES, lines) as clients:
                served = [daemon.pid, *children_of(daemon.pid)]
                searching = ram_of(served)
                time.sleep(REST_S)
                ours = ram_of(served)
                theirs = ram_of([each.pid for each in clients])
        finally:
            daemon.stop()
    with workers(SIDES, [("bare",)] * agents) as interpreters:
        bare = ram_of([each.pid for each in interpreters])
    return RamBySystem(searching, ours, theirs, _measure_engines(corpus, queries), bare)


def _measure_engines(corpus: CachedCorpus, queries: Sequence[str]) -> RamUse:
    """Return the RAM of one engine per query, each with an index of its own."""
    model = trio.run(pull_model, "minilm", models_dir(), lambda *_: None)
    with tempfile.TemporaryDirectory(prefix="memd-") as folder:
        lines = []
        for number, query in enumerate(queries):
            index = Path(folder) / f"{number}.sqlite"
            shutil.copyfile(corpus.folder / "main.sqlite", index)
            lines.append(("engine", str(index), str(model), query))
        with workers(SIDES, lines) as engines:
            return ram_of([each.pid for each in engines])


def _figures(agents: int, chunks: int, corpus: CachedCorpus, rounds: Sequence[RamBySystem]) -> list[Figure]:
    """Return the figures of one size of memory."""
    name, said = f"agents.{chunks // 1000}k", f"{agents} agents of {corpus.chunks:,} chunks"
    figures = []
    for kind in ("pss", "rss"):
        for interpreters in (True, False):
            ours = [getattr(each.through_daemon(interpreters=interpreters), kind) for each in rounds]
            theirs = [getattr(each.in_process(interpreters=interpreters), kind) for each in rounds]
            key = f"{name}.{kind}" + ("" if interpreters else ".bare")
            what = f"{said}, {kind.upper()}" + ("" if interpreters else " without interpreters")
            ratio = [mine / other for mine, other in zip(ours, theirs, strict=True)]
            figures.append(measured(f"{key}.daemon", f"{what}: one daemon", ours, "MB"))
            figures.append(measured(f"{key}.engines", f"{what}: one engine per agent", theirs, "MB"))
            judged = (f"{key}.ratio", f"{what}: daemon / engines", ratio, "times")
            is_judged = kind == "pss" and chunks == JUDGED and agents >= 20
            figures.append(at_most(*judged, MOST) if is_judged else measured(*judged))
    for kind in ("pss", "rss"):
        for part, what in PARTS.items():
            values = [getattr(getattr(each, part), kind) for each in rounds]
            figures.append(
                measured(f"{name}.{kind}.of.{part}", f"{said}, {kind.upper()}: {what}", values, "MB")
            )
    return figures


def _peer_figures(agents: int, rounds: Sequence[RamBySystem], peers: Mapping[str, RamUse]) -> list[Figure]:
    """Return the figures of existing engines: complete processes, interpreters included."""
    figures = []
    for name, theirs in peers.items():
        said = f"{agents} agents, PSS: {name} in each process"
        figures.append(measured(f"agents.{name}.pss", said, [theirs.pss], "MB"))
        ratio = [each.through_daemon(interpreters=True).pss / theirs.pss for each in rounds]
        judged = (f"agents.{name}.ratio", f"{said}: memd's daemon / theirs", ratio, "times")
        figures.append(at_most(*judged, MOST) if agents >= 20 else measured(*judged))
    return figures


def _progress_line(agents: int, corpus: CachedCorpus, rounds: Sequence[RamBySystem]) -> str:
    """Return a line of progress."""
    ours = median(each.through_daemon(interpreters=True).pss for each in rounds)
    theirs = median(each.in_process(interpreters=True).pss for each in rounds)
    return f"{agents} agents of {corpus.chunks:,} chunks: {ours:.0f} MB, engines {theirs:.0f} MB (PSS)"


def _plus(one: RamUse, other: RamUse) -> RamUse:
    return RamUse(one.pss + other.pss, one.rss + other.rss)


def _minus(one: RamUse, other: RamUse) -> RamUse:
    return RamUse(one.pss - other.pss, one.rss - other.rss)
