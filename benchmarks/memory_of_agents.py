"""The memory of many agents: searching through one daemon, against an engine in each agent's process.

Both sides have the same corpora, of synthetic notes with a random vector a passage, and the same model. All processes
of a side are there at once and have searched; their memory is counted by PSS, in which shared pages count once, and by
RSS. An agent's own interpreter would be there anyway, so figures stand with and without as many bare ones.
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

from benchmarks.corpus import make_questions
from benchmarks.memory_of_peers import NOTES_CHUNKS, measure_peers
from benchmarks.part import Figure, Options, Part, at_most, measured
from benchmarks.scale_agents import names_of
from benchmarks.scale_corpora import Corpus, cached_corpus, settled_home, start
from benchmarks.scale_process import REST_S, Memory, children_of, memory_of, workers
from memd.embedding.local.pull import pull_model
from memd.settings.paths import models_dir
from tests.support.daemon import DaemonProcess

SIDES: Final = "benchmarks.memory_of_agents_sides"

MOST: Final = 0.1
"""Bar: what the daemon's side may take of the other."""

JUDGED: Final = 1_000
"""Passages of an agent whose figures have the bar: at some size vectors outweigh all else, and both sides hold them."""


PARTS: Final = {
    "searching": "daemon and model right after the searches",
    "daemon": "daemon and model at rest",
    "clients": "all clients",
    "bare": "bare interpreters",
}


class Sides(msgspec.Struct, frozen=True):
    """Memory of one round, in the order it is measured."""

    searching: Memory
    daemon: Memory
    clients: Memory
    engines: Memory
    bare: Memory

    def through_daemon(self, *, interpreters: bool) -> Memory:
        """Return what all processes of the daemon's side take; without the clients' bare interpreters if told so."""
        whole = _plus(self.daemon, self.clients)
        return whole if interpreters else _minus(whole, self.bare)

    def in_process(self, *, interpreters: bool) -> Memory:
        """Return the same of the engines."""
        return self.engines if interpreters else _minus(self.engines, self.bare)


def measure(options: Options) -> Part:
    """Measure both sides, for small memories and for large ones."""
    agents, rounds = (3, 1) if options.quick else (20, 3)
    figures: list[Figure] = []
    missing: list[str] = []
    for passages in (JUDGED,) if options.quick else (JUDGED, 15_000):
        corpus = cached_corpus(options, passages)
        sides = [_measure_sides(corpus, agents) for _ in range(rounds)]
        options.tell(_in_words(agents, corpus, sides))
        figures += _figures(agents, passages, corpus, sides)
        if passages == JUDGED:
            peers, missing = measure_peers(options, agents)
            figures += _peer_figures(agents, sides, peers)
    notes = [
        "Through the daemon: the daemon, its model's process, and a process for each agent that has searched with "
        "memd_client and stays connected; measured a minute after the last search, when caches are given back, as the "
        "engines give them back at once.",
        "In process: a process for each agent with memd's own parts in it, and no more of them than a search needs: "
        "the index open, vectors in memory, MiniLM loaded by `llama_cpp.Llama`, one question answered. Its file "
        "is mapped, so its 46 MB are shared pages: PSS counts them once for all engines.",
        "Without interpreters: less what as many processes of `python` take that import nothing and run at once.",
        "OpenClaw and memsearch: a process for each agent with the program's own engine in it, over notes of about "
        f"{NOTES_CHUNKS} chunks. They load no model: an endpoint gives them vectors, which isn't counted.",
        *missing,
    ]
    return Part(
        name="agents",
        title="Memory: one daemon against an engine in each process",
        figures=figures,
        notes=notes,
    )


def _measure_sides(corpus: Corpus, agents: int) -> Sides:
    """Measure each side with the others gone."""
    names = names_of(agents)
    questions = make_questions(agents, random.Random(13))
    with settled_home(dict.fromkeys(names, corpus)) as home:
        daemon = DaemonProcess(home)
        try:
            start(daemon)
            daemon.wait_for(lambda status: all(agent.last_sync_ms for agent in status.agents))
            socket = str(home.socket)
            lines = [
                ("client", socket, name, question) for name, question in zip(names, questions, strict=True)
            ]
            with workers(SIDES, lines) as clients:
                served = [daemon.pid, *children_of(daemon.pid)]
                searching = memory_of(served)
                time.sleep(REST_S)
                ours = memory_of(served)
                theirs = memory_of([each.pid for each in clients])
        finally:
            daemon.stop()
    with workers(SIDES, [("bare",)] * agents) as interpreters:
        bare = memory_of([each.pid for each in interpreters])
    return Sides(searching, ours, theirs, _measure_engines(corpus, questions), bare)


def _measure_engines(corpus: Corpus, questions: Sequence[str]) -> Memory:
    """Return what an engine for each question takes together, each with an index of its own."""
    model = trio.run(pull_model, "minilm", models_dir(), lambda *_: None)
    with tempfile.TemporaryDirectory(prefix="memd-") as folder:
        lines = []
        for number, question in enumerate(questions):
            index = Path(folder) / f"{number}.sqlite"
            shutil.copyfile(corpus.folder / "main.sqlite", index)
            lines.append(("engine", str(index), str(model), question))
        with workers(SIDES, lines) as engines:
            return memory_of([each.pid for each in engines])


def _figures(agents: int, passages: int, corpus: Corpus, rounds: Sequence[Sides]) -> list[Figure]:
    """Return the figures of one size of memory."""
    name, said = f"agents.{passages // 1000}k", f"{agents} agents of {corpus.passages:,} passages"
    figures = []
    for kind in ("pss", "rss"):
        for interpreters in (True, False):
            ours = [getattr(each.through_daemon(interpreters=interpreters), kind) for each in rounds]
            theirs = [getattr(each.in_process(interpreters=interpreters), kind) for each in rounds]
            key = f"{name}.{kind}" + ("" if interpreters else ".bare")
            what = f"{said}, {kind.upper()}" + ("" if interpreters else " without interpreters")
            ratio = [mine / other for mine, other in zip(ours, theirs, strict=True)]
            figures.append(measured(f"{key}.daemon", f"{what}: through one daemon", ours, "MB"))
            figures.append(measured(f"{key}.engines", f"{what}: an engine each", theirs, "MB"))
            judged = (f"{key}.ratio", f"{what}: daemon over engines", ratio, "times")
            is_judged = kind == "pss" and passages == JUDGED and agents >= 20
            figures.append(at_most(*judged, MOST) if is_judged else measured(*judged))
    for kind in ("pss", "rss"):
        for part, what in PARTS.items():
            values = [getattr(getattr(each, part), kind) for each in rounds]
            figures.append(
                measured(f"{name}.{kind}.of.{part}", f"{said}, {kind.upper()}: {what}", values, "MB")
            )
    return figures


def _peer_figures(agents: int, rounds: Sequence[Sides], peers: Mapping[str, Memory]) -> list[Figure]:
    """Return the figures of engines people have today, as they are: whole processes, interpreters included."""
    figures = []
    for name, theirs in peers.items():
        said = f"{agents} agents, PSS: {name} in each process"
        figures.append(measured(f"agents.{name}.pss", said, [theirs.pss], "MB"))
        ratio = [each.through_daemon(interpreters=True).pss / theirs.pss for each in rounds]
        judged = (f"agents.{name}.ratio", f"{said}: memd's daemon over them", ratio, "times")
        figures.append(at_most(*judged, MOST) if agents >= 20 else measured(*judged))
    return figures


def _in_words(agents: int, corpus: Corpus, rounds: Sequence[Sides]) -> str:
    """Return a line of progress."""
    ours = median(each.through_daemon(interpreters=True).pss for each in rounds)
    theirs = median(each.in_process(interpreters=True).pss for each in rounds)
    return f"{agents} agents of {corpus.passages:,} passages: {ours:.0f} MB, engines {theirs:.0f} MB (PSS)"


def _plus(one: Memory, other: Memory) -> Memory:
    return Memory(one.pss + other.pss, one.rss + other.rss)


def _minus(one: Memory, other: Memory) -> Memory:
    return Memory(one.pss - other.pss, one.rss - other.rss)
