"""Many programs with one daemon: OpenClaw gateways with memd's plugin, and MCP servers.

Each is a process that sends a new query every few seconds, like a working agent, so that each query is embedded. The
complete tool call is timed, including the process.
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

from benchmarks.corpus import make_queries
from benchmarks.part import Figure, Options, Part, at_most, measured
from benchmarks.scale_corpora import cached_corpus, settled_home, start
from benchmarks.scale_growth import share_of
from benchmarks.scale_process import children_of, ram_of
from benchmarks.tool_clients import McpToolClient, PluginToolClient, ToolClient
from tests.support.daemon import DaemonProcess
from tests.support.node import node
from tests.support.openclaw import plugin_folder

CHUNKS: Final = 15_000
CLIENTS: Final = 20
PAUSES_S: Final = (10.0, 4.0)
"""Mean time between queries of one client; the first one, that of agents whose model takes seconds, has the bar."""

LAST_S: Final = 60.0
START_BAR_MS: Final = 600.0
BUSY_BAR_MS: Final = 100.0
STARTS: Final = 9


def measure(options: Options) -> Part:
    """Measure an MCP server's start, then all clients together."""
    clients, last_s, starts = (4, 12.0, 3) if options.quick else (CLIENTS, LAST_S, STARTS)
    corpus = cached_corpus(options, 1_000 if options.quick else CHUNKS)
    with settled_home({"main": corpus}) as home, ExitStack() as stack:
        daemon = DaemonProcess(home)
        stack.callback(daemon.stop)
        start(daemon)
        environ = home.environ()
        count = sum(2 * clients * last_s / pause_s for pause_s in PAUSES_S)
        queries = make_queries(round(3 * count) + starts, random.Random(29))
        with daemon.client() as client:
            client.search(queries.pop())  # loads the model
        cold = [_first_answer(environ, queries.pop()) for _ in range(starts)]
        options.show_progress(f"an MCP server's first answer: {min(cold):.0f} to {max(cold):.0f} ms")
        mcp: list[ToolClient] = [stack.enter_context(McpToolClient("main", environ)) for _ in range(clients)]
        plugins, missing = _plugins(stack, clients, environ)
        names = dict(zip(("memctl mcp", "OpenClaw plugin"), (mcp, plugins), strict=True))
        paced = [figure for pause_s in PAUSES_S for figure in _group_figures(names, pause_s, queries, last_s)]
        served = [daemon.pid, *children_of(daemon.pid)]
        figures = [
            at_most(
                "reach.mcp.start",
                "MCP server, process start until its first answer",
                cold,
                "ms",
                START_BAR_MS,
            ),
            *paced,
            *(_memory_figure(name, group) for name, group in names.items() if group),
            measured("reach.models", "model processes", [len(served) - 1], "processes"),
            measured("reach.daemon", "the daemon with its model, PSS", [ram_of(served).pss], "MB"),
        ]
    return Part(
        "reach",
        "In OpenClaw and in MCP clients",
        figures,
        notes=[
            f"{corpus.chunks:,} chunks; the daemon runs and its model is loaded. A server is a process of `memctl "
            "mcp`.",
            f"{len(mcp)} MCP servers and {len(plugins)} Node processes with the plugin run at once, for {last_s:g} s. "
            "Each sends a new query in the given interval on average; one model embeds all of them.",
            "The plugin runs in the host of its own tests, so that no OpenClaw gateway is timed.",
            *missing,
        ],
    )


def _plugins(
    stack: ExitStack, clients: int, environ: Mapping[str, str]
) -> tuple[list[ToolClient], list[str]]:
    """Return processes with the plugin, or why there are none."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="memd-")))
    try:
        plugin, program = plugin_folder(folder), node()
    except pytest.skip.Exception as missing:
        return [], [f"The plugin is not available: {missing}"]
    return [
        stack.enter_context(PluginToolClient(program, plugin, "main", environ)) for _ in range(clients)
    ], []


def _first_answer(environ: Mapping[str, str], query: str) -> float:
    """Return the milliseconds from an MCP server's start to its first answer."""
    began = time.perf_counter()
    with McpToolClient("main", environ) as asker:
        asker.ask(query)
        return (time.perf_counter() - began) * 1000


def _search_for_a_while(
    groups: Sequence[Sequence[ToolClient]], pause_s: float, queries: list[str], last_s: float
) -> list[list[float]]:
    """Search with all clients at a mean interval; return milliseconds by group."""
    took: list[list[float]] = [[] for _ in groups]
    failures: list[Exception] = []
    lock = threading.Lock()
    until = time.perf_counter() + last_s

    def work(group: int, asker: ToolClient, rng: random.Random) -> None:
        try:
            while True:
                time.sleep(rng.uniform(0.0, 2 * pause_s))
                if time.perf_counter() >= until or failures:
                    return
                with lock:
                    query = queries.pop()
                began = time.perf_counter()
                asker.ask(query)
                with lock:
                    took[group].append((time.perf_counter() - began) * 1000)
        except (RuntimeError, OSError, ValueError) as error:
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=(number, asker, random.Random(f"{number}-{place}")))
        for number, group in enumerate(groups)
        for place, asker in enumerate(group)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return took


def _group_figures(
    groups: Mapping[str, Sequence[ToolClient]], pause_s: float, queries: list[str], last_s: float
) -> Iterator[Figure]:
    """Yield the figures of all groups at one pace."""
    took = _search_for_a_while(list(groups.values()), pause_s, queries, last_s)
    for (name, group), times in zip(groups.items(), took, strict=True):
        if not times:
            continue
        key = f"reach.{name.split()[0].lower()}.{pause_s:g}s"
        said = f"{len(group)} × {name}, one query every {pause_s:g} s each"
        yield measured(f"{key}.p50", f"{said}: p50", [share_of(times, 50)], "ms")
        p95 = (f"{key}.p95", f"{said}: p95", [share_of(times, 95)], "ms")
        yield at_most(*p95, BUSY_BAR_MS) if pause_s == PAUSES_S[0] else measured(*p95)


def _memory_figure(name: str, group: Sequence[ToolClient]) -> Figure:
    """Return the RAM of a process of a group."""
    pss = ram_of([each.pid for each in group]).pss / len(group)
    return measured(f"reach.{name.split()[0].lower()}.memory", f"{name}: RAM of a process, PSS", [pss], "MB")
