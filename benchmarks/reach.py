"""Many programs on one daemon: OpenClaw's gateways with memd's plugin, and MCP servers.

Each is a process and asks a new question every few seconds, as agents at work do, so that each question is embedded.
What is timed is the way of the whole tool call, its process included.
"""

from __future__ import annotations

import random
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from benchmarks.corpus import make_questions
from benchmarks.part import Figure, Options, Part, at_most, measured
from benchmarks.reach_sides import Asker, McpAsker, PluginAsker
from benchmarks.scale_corpora import cached_corpus, settled_home, start
from benchmarks.scale_growth import share_of
from benchmarks.scale_process import children_of, memory_of
from tests.support.daemon import DaemonProcess
from tests.support.node import node
from tests.support.openclaw import plugin_folder

PASSAGES: Final = 15_000
CLIENTS: Final = 20
PAUSES_S: Final = (10.0, 4.0)
"""How often one asks, on average: as agents whose turns take a model some seconds, which is judged; and more often."""

LAST_S: Final = 60.0
START_BAR_MS: Final = 600.0
BUSY_BAR_MS: Final = 100.0
STARTS: Final = 9


def measure(options: Options) -> Part:
    """Measure an MCP server's start, and all of them together."""
    clients, last_s, starts = (4, 12.0, 3) if options.quick else (CLIENTS, LAST_S, STARTS)
    corpus = cached_corpus(options, 1_000 if options.quick else PASSAGES)
    with settled_home({"main": corpus}) as home, ExitStack() as stack:
        daemon = DaemonProcess(home)
        stack.callback(daemon.stop)
        start(daemon)
        environ = home.environ()
        count = sum(2 * clients * last_s / pause_s for pause_s in PAUSES_S)
        questions = make_questions(round(3 * count) + starts, random.Random(29))
        with daemon.client() as client:
            client.search(questions.pop())  # the model is loaded, as in a daemon that serves already
        cold = [_first_answer(environ, questions.pop()) for _ in range(starts)]
        options.tell(f"an MCP server's first answer: {min(cold):.0f} to {max(cold):.0f} ms")
        mcp: list[Asker] = [stack.enter_context(McpAsker("main", environ)) for _ in range(clients)]
        plugins, missing = _plugins(stack, clients, environ)
        names = dict(zip(("memctl mcp", "OpenClaw plugin"), (mcp, plugins), strict=True))
        paced = [
            figure for pause_s in PAUSES_S for figure in _crowd_figures(names, pause_s, questions, last_s)
        ]
        served = [daemon.pid, *children_of(daemon.pid)]
        figures = [
            at_most(
                "reach.mcp.start",
                "an MCP server from its start to its first answer",
                cold,
                "ms",
                START_BAR_MS,
            ),
            *paced,
            *(_memory_figure(name, crowd) for name, crowd in names.items() if crowd),
            measured("reach.models", "models in memory", [len(served) - 1], "processes"),
            measured("reach.daemon", "the daemon with its model, PSS", [memory_of(served).pss], "MB"),
        ]
    return Part(
        "reach",
        "In OpenClaw and in MCP clients",
        figures,
        notes=[
            f"{corpus.passages:,} passages. The daemon and its model are there; a server is a process of `memctl mcp`.",
            f"{len(mcp)} MCP servers and {len(plugins)} processes of Node with the plugin, at once, each asking a new "
            f"question every so many seconds on average, for {last_s:g} s; the one model embeds each.",
            "The plugin's host is the one its own tests have: a gateway of OpenClaw beside it would be timed as well.",
            *missing,
        ],
    )


def _plugins(stack: ExitStack, clients: int, environ: Mapping[str, str]) -> tuple[list[Asker], list[str]]:
    """Return processes with the plugin, and why there are none."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memd-")))
    try:
        plugin, program = plugin_folder(folder), node()
    except pytest.skip.Exception as missing:
        return [], [f"The plugin can't be had here: {missing}"]
    return [stack.enter_context(PluginAsker(program, plugin, "main", environ)) for _ in range(clients)], []


def _first_answer(environ: Mapping[str, str], question: str) -> float:
    """Return the milliseconds from an MCP server's start to its first answer."""
    began = time.perf_counter()
    with McpAsker("main", environ) as asker:
        asker.ask(question)
        return (time.perf_counter() - began) * 1000


def _ask_for_a_while(
    crowds: Sequence[Sequence[Asker]], pause_s: float, questions: list[str], last_s: float
) -> list[list[float]]:
    """Have everybody ask now and then; return the milliseconds of all answers, by crowd."""
    took: list[list[float]] = [[] for _ in crowds]
    failures: list[Exception] = []
    lock = threading.Lock()
    until = time.perf_counter() + last_s

    def work(crowd: int, asker: Asker, rng: random.Random) -> None:
        try:
            while True:
                time.sleep(rng.uniform(0.0, 2 * pause_s))
                if time.perf_counter() >= until or failures:
                    return
                with lock:
                    question = questions.pop()
                began = time.perf_counter()
                asker.ask(question)
                with lock:
                    took[crowd].append((time.perf_counter() - began) * 1000)
        except (RuntimeError, OSError, ValueError) as error:
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=(number, asker, random.Random(f"{number}-{place}")))
        for number, crowd in enumerate(crowds)
        for place, asker in enumerate(crowd)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return took


def _crowd_figures(
    crowds: Mapping[str, Sequence[Asker]], pause_s: float, questions: list[str], last_s: float
) -> Iterator[Figure]:
    """Yield the figures of all crowds asking at once at some pace."""
    took = _ask_for_a_while(list(crowds.values()), pause_s, questions, last_s)
    for (name, crowd), times in zip(crowds.items(), took, strict=True):
        if not times:
            continue
        key = f"reach.{name.split()[0].lower()}.{pause_s:g}s"
        said = f"{len(crowd)} × {name}, a question every {pause_s:g} s each"
        yield measured(f"{key}.p50", f"{said}: p50", [share_of(times, 50)], "ms")
        p95 = (f"{key}.p95", f"{said}: p95", [share_of(times, 95)], "ms")
        yield at_most(*p95, BUSY_BAR_MS) if pause_s == PAUSES_S[0] else measured(*p95)


def _memory_figure(name: str, crowd: Sequence[Asker]) -> Figure:
    """Return what a process of a crowd takes."""
    pss = memory_of([each.pid for each in crowd]).pss / len(crowd)
    return measured(
        f"reach.{name.split()[0].lower()}.memory", f"{name}: memory of a process, PSS", [pss], "MB"
    )
