"""Figures of clients in fresh processes and of an idle daemon."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

from benchmarks.corpora import cached_corpus, settled_home
from benchmarks.corpus import QUERY
from benchmarks.part import Figure, Options, Part, at_most, measured, milliseconds
from benchmarks.processes import idle_percent, resident_mb
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome, agents_config

BAR_CLIENT_MS: Final = 40.0
BAR_MEMCTL_MS: Final = 120.0
BAR_IDLE_MB: Final = 64.0
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


class DesignSize(NamedTuple):
    """Extent of the measurements."""

    chunks: int
    rounds: int
    idle_agents: int
    idle_s: float


FULL: Final = DesignSize(15_000, 25, 20, 60.0)
QUICK: Final = DesignSize(3_000, 7, 5, 8.0)


class ProcessTimes(NamedTuple):
    """Milliseconds of an empty process, a first search, and `memctl search`."""

    bare: float
    fresh: float
    command: float


def measure(options: Options) -> Part:
    """Measure all rows in turn."""
    size = QUICK if options.quick else FULL
    options.show_progress("clients in fresh processes")
    figures = list(client_figures(options, size))
    for agents in (1, size.idle_agents):
        options.show_progress(f"an idle daemon with {agents} agents")
        figures += idle_figures(agents, size.idle_s)
    return Part(
        "Clients and idle daemon",
        figures,
        notes=[
            "Client and `memctl`: whole processes, in turn with a bare `python -c pass`; differences are of one round. "
            "The daemon is warm and the query's vector is known.",
            f"Idle: {IDLE_FILES} notes per agent. Their folders are watched, their indexes are open, and settings are "
            "checked every two seconds.",
        ],
    )


def client_figures(options: Options, size: DesignSize) -> Iterator[Figure]:
    """Yield the cost of a client and of memctl in fresh processes."""
    built = cached_corpus(options, size.chunks)
    with settled_home({"main": built}) as home, DaemonProcess(home) as daemon, daemon.client() as client:
        client.search(QUERY)
        rounds = [
            ProcessTimes(
                bare=process_ms("-c", "pass"),
                fresh=process_ms("-c", FIRST_SEARCH, str(home.socket), QUERY),
                command=milliseconds(lambda: daemon.memctl("search", QUERY).check_returncode()),
            )
            for _ in range(size.rounds)
        ]
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


def process_ms(*arguments: str) -> float:
    """Return the wall time of an interpreter process."""
    return milliseconds(lambda: subprocess.run([sys.executable, *arguments], check=True))


def idle_figures(agents: int, seconds: float) -> Iterator[Figure]:
    """Yield the RAM and CPU time of an idle daemon with so many agents."""
    others = [f"agent{number:02}" for number in range(agents - 1)]
    with StateHome() as home:
        home.configure(agents_config(home.state, *others))
        for name in ["main", *others]:
            for number in range(IDLE_FILES):
                text = f"# Note {number}\n\nOf {name}.\n" * 5
                home.note(f"memory/{number % 10}/{number:03}.md", text, agent=name)
        with DaemonProcess(home) as daemon:
            daemon.wait_for(lambda status: all(agent.files == IDLE_FILES for agent in status.agents))
            time.sleep(SETTLE_S)
            percent = idle_percent(daemon.pid, seconds)
            ram = resident_mb(daemon.pid)
    what = f"idle daemon, no model loaded, {agents} agent{'s' * (agents > 1)}"
    rss = (f"design.idle.{agents}.rss", f"{what}: RSS", [ram], "MB")
    yield at_most(*rss, BAR_IDLE_MB) if agents == 1 else measured(*rss)
    yield at_most(f"design.idle.{agents}.cpu", "… CPU time", [percent], "%", BAR_IDLE_PERCENT)
