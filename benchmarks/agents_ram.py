"""RAM of many agents: one daemon compared with one engine per agent.

The engines are memd's own search parts, OpenClaw's and memsearch's, one in each agent's process. memd's sides have the
same corpora (synthetic notes, one random vector per chunk) and the same model. All processes of a side run at the same
time and have searched. Their RAM is measured as PSS, in which shared pages count once.
"""

from __future__ import annotations

import random
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Final, NamedTuple

import trio

from benchmarks.corpora import CachedCorpus, cached_corpus, settled_home, started
from benchmarks.corpus import make_queries
from benchmarks.part import Figure, Options, Part, at_most, measured
from benchmarks.peers.comparison import WARM_UP, install_peers, peer_cache
from benchmarks.peers.endpoint import INSTANT, EndpointProcess
from benchmarks.peers.notes import write_notes
from benchmarks.peers.systems import ComparedSystem, MemdSystem, SystemSetup
from benchmarks.processes import REST_S, ChildError, children_of, ram_of, workers
from memd.embedding.local.pull import pull_model
from memd.settings.paths import models_dir

SIDES: Final = "benchmarks.agents_ram_sides"

MOST: Final = 0.1
"""Bar: the daemon's part of the engines' RAM."""

JUDGED: Final = 1_000
"""Chunks per agent of the figures with a bar; with larger memories vectors outweigh everything else on both sides."""

NOTES_BLOCKS: Final = 100
"""Size of the notes of each agent of a peer: the runtime has most of a process's RAM."""


class RamBySystem(NamedTuple):
    """PSS of one round in MB."""

    daemon: float
    clients: float
    engines: float


def measure(options: Options) -> Part:
    """Measure both sides with small and large memories, and the peers."""
    agents, rounds = (3, 1) if options.quick else (20, 3)
    figures: list[Figure] = []
    missing: list[str] = []
    for chunks in (JUDGED,) if options.quick else (JUDGED, 15_000):
        corpus = cached_corpus(options, chunks)
        options.show_progress(f"{agents} agents of {corpus.chunks:,} chunks")
        sides = [_measure_sides(options, corpus, agents) for _ in range(rounds)]
        figures += _figures(agents, corpus, sides, is_judged=chunks == JUDGED and agents >= 20)
        if chunks == JUDGED:
            peers, missing = _measure_peers(options, agents)
            figures += _peer_figures(agents, sides, peers)
    notes = [
        "One daemon: the daemon, its model process, and one connected memd_client process per agent that has searched; "
        "measured a minute after the last search, when caches are released. The engines release theirs at once.",
        "Engines: one process per agent with the parts of memd that a search needs: an open index, vectors in RAM, "
        "MiniLM loaded by `llama_cpp.Llama`, one query answered. The model file is mapped: PSS counts its 46 MB once.",
        "OpenClaw and memsearch: one process per agent with the program's own engine, over notes of about "
        f"{NOTES_BLOCKS} blocks of 1,600 characters. They load no model: their endpoint is not counted.",
        *missing,
    ]
    return Part("RAM: one daemon compared with an engine in each process", figures, notes=notes)


def _measure_sides(options: Options, corpus: CachedCorpus, agents: int) -> RamBySystem:
    """Measure each side while the other does not run."""
    log = options.work / "workers.log"
    names = ["main", *(f"agent{number:03d}" for number in range(1, agents))]
    queries = make_queries(agents, random.Random(13))
    with settled_home(dict.fromkeys(names, corpus)) as home, started(home) as daemon:
        daemon.wait_for(lambda status: all(agent.last_sync_ms for agent in status.agents))
        lines = [
            ("client", str(home.socket), name, query) for name, query in zip(names, queries, strict=True)
        ]
        with workers(SIDES, lines, log) as clients:
            time.sleep(REST_S)
            ours = ram_of([daemon.pid, *children_of(daemon.pid)])
            theirs = ram_of([each.pid for each in clients])
    model = trio.run(pull_model, "minilm", models_dir(), lambda *_: None)
    lines = []
    for number, query in enumerate(queries):
        index = options.work / f"engine-{number}.sqlite"
        shutil.copyfile(corpus.index, index)
        lines.append(("engine", str(index), str(model), query))
    with workers(SIDES, lines, log) as engines:
        return RamBySystem(ours, theirs, ram_of([each.pid for each in engines]))


def _measure_peers(options: Options, agents: int) -> tuple[dict[str, float], list[str]]:
    """Return the PSS of each peer's processes together, and why a peer is missing."""
    makers, missing = install_peers(options)
    root = options.work / "peers"
    notes = root / "notes"
    write_notes(notes, NOTES_BLOCKS, random.Random(17))
    taken: dict[str, float] = {}
    with EndpointProcess(peer_cache(options) / "endpoint.log") as endpoint:
        for name, make in makers.items():
            if name == MemdSystem.name:
                continue
            setups = [
                SystemSetup(root / f"{name}-{number}", notes, endpoint.url, INSTANT)
                for number in range(agents)
            ]
            options.show_progress(f"{agents} processes of {name}")
            try:
                taken[name] = _ram_of_peers([make(setup) for setup in setups])
            except ChildError as error:
                missing.append(f"{name}: {error}")
    return taken, missing


def _ram_of_peers(sides: Sequence[ComparedSystem]) -> float:
    """Return the PSS of all sides after one search each."""
    with ExitStack() as stack:
        for side in sides:
            stack.enter_context(side)
            side.index()
            side.search(WARM_UP[0])
        return ram_of([side.pid for side in sides])


def _figures(
    agents: int, corpus: CachedCorpus, rounds: Sequence[RamBySystem], *, is_judged: bool
) -> list[Figure]:
    """Return the figures of one size of memory."""
    name, size = f"agents.{round(corpus.chunks, -3) // 1000}k", f"{agents} agents of {corpus.chunks:,} chunks"
    ours = [each.daemon + each.clients for each in rounds]
    ratios = [mine / each.engines for mine, each in zip(ours, rounds, strict=True)]
    ratio = (f"{name}.ratio", f"{size}: daemon / engines", ratios, "times")
    alone = [each.daemon for each in rounds]
    engines = [each.engines for each in rounds]
    return [
        measured(f"{name}.daemon", f"{size}, PSS: one daemon", ours, "MB"),
        measured(f"{name}.alone", "… the daemon and its model without the clients", alone, "MB"),
        measured(f"{name}.engines", "… one engine per agent", engines, "MB"),
        at_most(*ratio, MOST) if is_judged else measured(*ratio),
    ]


def _peer_figures(agents: int, rounds: Sequence[RamBySystem], peers: Mapping[str, float]) -> list[Figure]:
    """Return the figures of existing engines: complete processes, interpreters included."""
    figures = []
    for name, theirs in peers.items():
        what = f"{agents} agents, PSS: {name} in each process"
        ratios = [(each.daemon + each.clients) / theirs for each in rounds]
        ratio = (f"agents.{name}.ratio", f"{what}: memd's daemon / theirs", ratios, "times")
        figures += [
            measured(f"agents.{name}.pss", what, [theirs], "MB"),
            at_most(*ratio, MOST) if agents >= 20 else measured(*ratio),
        ]
    return figures
