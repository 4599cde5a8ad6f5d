"""Figures of clients and servers in fresh processes, of a daemon's start, and of an idle daemon.

Every process is a new one, and caches bytecode as an installed package does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from benchmarks.corpora import cached_corpus, settled_home, started
from benchmarks.corpus import QUERY
from benchmarks.part import Figure, Options, Part, at_most, measured, milliseconds
from benchmarks.processes import idle_percent, processor_s, resident_mb
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome, agents_config

BAR_CLIENT_MS: Final = 40.0
BAR_MEMCTL_MS: Final = 90.0
BAR_MCP_MS: Final = 500.0
BAR_START_MS: Final = 250.0
BAR_IDLE_MB: Final = 60.0
BAR_IDLE_PERCENT: Final = 0.5

IDLE_FILES: Final = 50
SETTLE_S: Final = 10.0
"""After the first sync of an idle daemon, for allocators and the watcher."""

FIRST_SEARCH: Final = """
import sys
from memd_client import Client
with Client(sys.argv[1]) as client:
    sys.exit(0 if client.search(sys.argv[2]).mode == "hybrid" else 1)
"""


MEMCTL: Final = "from memd.cli.main import main; main()"

MCP_LINES: Final = (
    {
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "bench", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {"id": 1, "method": "tools/list"},
)
"""What an MCP client sends at its start; two of the lines are answered."""


class DesignSize(NamedTuple):
    """Extent of the measurements."""

    chunks: int
    rounds: int
    idle_agents: int
    idle_s: float


FULL: Final = DesignSize(15_000, 25, 20, 60.0)
QUICK: Final = DesignSize(3_000, 7, 5, 8.0)


class ProcessTimes(NamedTuple):
    """Milliseconds of an empty process, a first search, and `memctl search`; CPU time of `memctl mcp`."""

    bare: float
    fresh: float
    command: float
    server: float


def measure(options: Options) -> Part:
    """Measure all rows in turn."""
    size = QUICK if options.quick else FULL
    # Without cached bytecode, every process would compile its modules.
    environ = {
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(options.cache / "bytecode"),
        "MEMD_AUTOSTART": "0",
    }
    options.show_progress("clients in fresh processes")
    figures = list(client_figures(options, size, environ))
    options.show_progress("starts of a daemon")
    figures.append(start_figure(size, environ))
    for agents in (1, size.idle_agents):
        options.show_progress(f"an idle daemon with {agents} agents")
        figures += idle_figures(agents, size.idle_s, environ)
    return Part(
        "Clients and idle daemon",
        figures,
        notes=[
            "Client and `memctl`: whole processes, in turn with a bare `python -c pass`; differences are of one round. "
            "The daemon is warm and the query's vector is known.",
            f"Start: from the new process until its reply to `hello`; one agent of {IDLE_FILES} indexed notes.",
            f"Idle: {IDLE_FILES} notes per agent. Their folders are watched, their indexes are open, and settings are "
            "checked every two seconds.",
        ],
    )


def client_figures(options: Options, size: DesignSize, environ: Mapping[str, str]) -> Iterator[Figure]:
    """Yield the cost of a client, of memctl and of the MCP server in fresh processes."""
    built = cached_corpus(options, size.chunks)
    with (
        settled_home({"main": built}) as home,
        DaemonProcess(home, dict(environ)) as daemon,
        daemon.client() as client,
    ):
        variables = {**os.environ, **home.environ(), **environ}
        client.search(QUERY)
        rounds = [
            ProcessTimes(
                bare=process_ms(variables, "-c", "pass"),
                fresh=process_ms(variables, "-c", FIRST_SEARCH, str(home.socket), QUERY),
                command=process_ms(variables, "-c", MEMCTL, "search", QUERY),
                server=mcp_cpu_ms(variables),
            )
            for _ in range(size.rounds + 1)
        ][1:]  # the first round compiles the modules
    over = [each.fresh - each.bare for each in rounds]
    yield at_most(
        "design.client",
        f"client: import, connect and first search, beyond a bare interpreter, {built.chunks:,} chunks",
        over,
        "ms",
        BAR_CLIENT_MS,
    )
    yield measured("design.bare", "… `python -c pass`", [each.bare for each in rounds], "ms")
    command = [each.command for each in rounds]
    yield at_most("design.memctl", "`memctl search`, cold process, warm daemon", command, "ms", BAR_MEMCTL_MS)
    server = [each.server for each in rounds]
    yield at_most("design.mcp", "`memctl mcp`: CPU time until its first replies", server, "ms", BAR_MCP_MS)


def process_ms(environ: Mapping[str, str], *arguments: str) -> float:
    """Return the wall time of an interpreter process."""
    command = [sys.executable, *arguments]
    return milliseconds(lambda: subprocess.run(command, env=environ, check=True, stdout=subprocess.DEVNULL))


def mcp_cpu_ms(environ: Mapping[str, str]) -> float:
    """Return the CPU time of `memctl mcp` until it has answered a client's first requests."""
    command = [sys.executable, "-c", MEMCTL, "mcp"]
    with subprocess.Popen(command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for line in MCP_LINES:
            server.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n")
        server.stdin.flush()
        replies = [server.stdout.readline() for line in MCP_LINES if "id" in line]
        spent_s = processor_s([server.pid])
        server.stdin.close()
    assert all(replies)
    return spent_s * 1000


def start_figure(size: DesignSize, environ: Mapping[str, str]) -> Figure:
    """Return the time of a daemon's start."""
    with StateHome() as home:
        write_notes(home, "main")
        with DaemonProcess(home, dict(environ), fresh=True) as daemon:  # compiles the modules and the index
            daemon.wait_for(lambda status: all(agent.files == IDLE_FILES for agent in status.agents))
        rounds = []
        for _ in range(size.rounds):
            began = time.perf_counter()
            with started(home, environ, fresh=True):
                rounds.append((time.perf_counter() - began) * 1000)
    return at_most("design.start", "daemon: process start until it answers", rounds, "ms", BAR_START_MS)


def write_notes(home: StateHome, agent: str) -> None:
    """Write an agent's notes."""
    for number in range(IDLE_FILES):
        text = f"# Note {number}\n\nOf {agent}.\n" * 5
        home.note(f"memory/{number % 10}/{number:03}.md", text, agent=agent)


def idle_figures(agents: int, seconds: float, environ: Mapping[str, str]) -> Iterator[Figure]:
    """Yield the RAM and CPU time of an idle daemon with so many agents."""
    others = [f"agent{number:02}" for number in range(agents - 1)]
    with StateHome() as home:
        home.configure(agents_config(home.state, *others))
        for name in ["main", *others]:
            write_notes(home, name)
        with DaemonProcess(home, dict(environ), fresh=True) as daemon:
            daemon.wait_for(lambda status: all(agent.files == IDLE_FILES for agent in status.agents))
            time.sleep(SETTLE_S)
            percent = idle_percent(daemon.pid, seconds)
            ram = resident_mb(daemon.pid)
    what = f"idle daemon, no model loaded, {agents} agent{'s' * (agents > 1)}"
    rss = (f"design.idle.{agents}.rss", f"{what}: RSS", [ram], "MB")
    yield at_most(*rss, BAR_IDLE_MB) if agents == 1 else measured(*rss)
    yield at_most(f"design.idle.{agents}.cpu", "… CPU time", [percent], "%", BAR_IDLE_PERCENT)
