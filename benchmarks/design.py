"""Figures of clients, idle daemon, busy daemon and recall.

Recall needs the LoCoMo evaluation set: the environment's MEMD_EVAL names its folder.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from benchmarks import freshness, idle, retrieval
from benchmarks.built_corpus import build, home_of
from benchmarks.corpus import QUERY
from benchmarks.evidence import FIRST_HITS
from benchmarks.other_processes import run_undisturbed
from benchmarks.part import Figure, Options, Part, at_least, at_most, measured
from benchmarks.sync_checks import check_one_indexed
from tests.support.daemon import DaemonProcess

BAR_CLIENT_MS: Final = 40.0
BAR_MEMCTL_MS: Final = 120.0
BAR_RECALL: Final = 0.80

PATIENCE_S: Final = 2.0
"""How long a disturbed round of processes is repeated."""

FIRST_SEARCH: Final = """
import sys
from memd_client import Client
with Client(sys.argv[1]) as client:
    sys.exit(0 if client.search(sys.argv[2]).mode == "hybrid" else 1)
"""


@dataclass(frozen=True)
class DesignSize:
    """Extent of the measurements."""

    chunks: int
    files: int
    rounds: int
    idle_agents: int
    idle_s: float
    busy: freshness.FreshnessSizes


FULL: Final = DesignSize(15_000, 300, 25, 20, 60.0, freshness.FreshnessSizes())
QUICK: Final = DesignSize(3_000, 60, 7, 5, 8.0, freshness.FreshnessSizes(blocks=2_000, busy_s=4.0))


class ProcessTimes(NamedTuple):
    """Milliseconds of an empty process, a first search, and `memctl search`."""

    bare: float
    fresh: float
    command: float


def measure(options: Options) -> Part:
    """Measure all rows in turn."""
    size = QUICK if options.quick else FULL
    figures: list[Figure] = []
    notes: list[str] = []
    options.show_progress("clients in fresh processes")
    figures += client_figures(options, size)
    options.show_progress("the daemon at idle")
    figures += idle_figures(size)
    options.show_progress("searches during a full index")
    figures += busy_figures(size)
    folder = retrieval.default_eval()
    if folder is None:
        notes.append("LoCoMo recall was not measured: MEMD_EVAL names no evaluation set.")
    else:
        options.show_progress("LoCoMo recall")
        workspaces = retrieval.chosen_workspaces(folder, ["locomo"])
        (found,) = retrieval.run_passes(workspaces, retrieval.WITH_MODEL, [retrieval.FOR_SCORER])
        figures += recall_figures(retrieval.scores(folder, found))
    notes.append(
        "Client and `memctl`: whole processes, in turn with a bare `python -c pass`; differences are of one round. The "
        "daemon is warm and the query's vector is known."
    )
    notes.append("Full index: a block is 1,600 characters, about 3.2 chunks.")
    return Part("design", "Clients, idle daemon and recall", figures, notes=notes)


def client_figures(options: Options, size: DesignSize) -> Iterator[Figure]:
    """Yield the cost of a client and of memctl in fresh processes."""
    built = build(options, size.chunks, size.files)
    with home_of(built) as home, DaemonProcess(home) as daemon, daemon.client(timeout_s=600) as client:
        check_one_indexed(client.index(), built.files)
        client.search(QUERY)

        def take_turns() -> ProcessTimes:
            return ProcessTimes(
                bare=process_ms("-c", "pass"),
                fresh=process_ms("-c", FIRST_SEARCH, str(home.socket), QUERY),
                command=milliseconds(lambda: daemon.memctl("search", QUERY).check_returncode()),
            )

        rounds = [
            run_undisturbed(take_turns, time.perf_counter() + PATIENCE_S)[0] for _ in range(size.rounds)
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


def milliseconds(run: Callable[[], object]) -> float:
    """Return the milliseconds of a call."""
    started = time.perf_counter()
    run()
    return (time.perf_counter() - started) * 1000


def idle_figures(size: DesignSize) -> Iterator[Figure]:
    """Yield the cost of an idle daemon."""
    for agents in (1, size.idle_agents):
        found = idle.measure(agents, 50, size.idle_s)
        who = "1 agent" if agents == 1 else f"{agents} agents"
        what = f"idle daemon, no model loaded, {who}"
        key, memory = f"design.idle.{agents}", [found.rss_mb]
        if agents == 1:
            yield at_most(f"{key}.rss", f"{what}: RSS", memory, "MB", idle.BAR_MB)
        else:
            yield measured(f"{key}.rss", f"{what}: RSS", memory, "MB")
        yield at_most(f"{key}.cpu", "… CPU time", [found.cpu_percent], "%", idle.BAR_CPU_PERCENT)


def busy_figures(size: DesignSize) -> Iterator[Figure]:
    """Yield searches during a full index, compared with the same searches before it."""
    for mode in ("keyword", "meaning"):
        rows = list(freshness.measure_full(mode, size.busy))
        for before, beside in zip(rows[::2], rows[1::2], strict=True):
            key = f"design.busy.{mode}.{'hybrid' if 'hybrid' in beside.name else 'keyword'}"
            yield Figure(f"{key}.idle", f"search p95, {before.name}", before.p95, "ms")
            yield at_most(f"{key}.p95", f"… {beside.name}", [beside.p95], "ms", freshness.BAR_BUSY_MS)
            ratio = beside.p95 / before.p95
            yield at_most(f"{key}.ratio", "… busy / idle", [ratio], "times", freshness.BAR_RATIO)


def recall_figures(table: str) -> Iterator[Figure]:
    """Yield the scorer's figures of all queries that have an answer."""
    line = next(line for line in table.splitlines() if line.startswith("ALL "))
    found = dict(re.findall(r"(\w+)=\s*([\d.]+)", line))
    recall, characters = float(found["seen_recall"]), float(found["chars"])
    what = f"LoCoMo `seen_recall` at {FIRST_HITS} results, MiniLM, {found['n']} queries"
    yield at_least("design.recall", what, [recall], "", BAR_RECALL)
    yield at_most("design.recall.characters", "… characters per reply", [characters], "characters", 4_200)
