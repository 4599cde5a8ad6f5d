"""RAM and start of one daemon by the number of its agents."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import Final

from benchmarks.corpus import make_queries
from benchmarks.scale_corpora import CachedCorpus, settled_home, start
from benchmarks.scale_growth import THOUSAND
from benchmarks.scale_process import REST_S, children_of, processor_s, resident_mb
from benchmarks.scale_sizes import PATIENT_S, TimedSearches
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

SETTLED_S: Final = 120.0
"""Timeout until every agent has checked its files after a start; idle RAM is measured then."""


@dataclass
class AgentsMeasurement:
    """Measurements of a number of agents; lists have one item per start."""

    agents: int
    corpus: CachedCorpus
    start_ms: list[float] = field(default_factory=list)
    start_cpu_ms: list[float] = field(default_factory=list)
    first_ms: list[float] = field(default_factory=list)
    spawn_ms: list[float] = field(default_factory=list)
    next_ms: list[float] = field(default_factory=list)
    idle_mb: list[float] = field(default_factory=list)
    searched_mb: list[float] = field(default_factory=list)
    rested_mb: list[float] = field(default_factory=list)
    model_mb: list[float] = field(default_factory=list)
    less: int = 0


def names_of(count: int) -> list[str]:
    """Return the ids of so many agents; `main` is always one of them."""
    return ["main", *(f"agent{number:03d}" for number in range(1, count))]


def measure_agents(corpus: CachedCorpus, count: int, *, starts: int, rests: bool) -> AgentsMeasurement:
    """Measure so many agents, each with its own copy of a corpus."""
    found = AgentsMeasurement(count, corpus)
    names = names_of(count)
    queries = make_queries(count * starts, random.Random(3))
    with settled_home(dict.fromkeys(names, corpus)) as home:
        for turn in range(starts):
            _measure_start(found, home, names, queries[turn * count :])
            _measure_ram(found, home, names, queries, rests=rests and turn == starts - 1)
    return found


def _measure_start(found: AgentsMeasurement, home: StateHome, names: list[str], queries: list[str]) -> None:
    """Start a daemon and search in each agent at once."""
    daemon = DaemonProcess(home)
    try:
        ready_ms = start(daemon)
        found.start_cpu_ms.append(processor_s([daemon.pid]) * THOUSAND)
        with daemon.client(timeout_s=PATIENT_S) as client:
            ask = TimedSearches(client)
            first_ms = ask.ms(queries[0], names[-1])
            found.start_ms.append(ready_ms)
            found.first_ms.append(first_ms)
            found.spawn_ms.append(ready_ms + first_ms)
            found.next_ms += [
                ask.ms(query, name) for query, name in zip(queries[1:], names[:-1], strict=False)
            ]
            found.less += ask.less
    finally:
        daemon.stop()


def _measure_ram(
    found: AgentsMeasurement, home: StateHome, names: list[str], queries: list[str], *, rests: bool
) -> None:
    """Measure RAM after the first syncs, after searches, and at rest."""
    daemon = DaemonProcess(home)
    try:
        start(daemon)
        daemon.wait_for(
            lambda status: all(agent.last_sync_ms and not agent.syncing for agent in status.agents), SETTLED_S
        )
        found.idle_mb.append(resident_mb(daemon.pid))
        with daemon.client(timeout_s=PATIENT_S) as client:
            for query, name in zip(queries, names, strict=False):
                client.search(query, agent=name)
        found.searched_mb.append(resident_mb(daemon.pid))
        found.model_mb.append(sum(map(resident_mb, children_of(daemon.pid))))
        if rests:
            time.sleep(REST_S)
            found.rested_mb.append(resident_mb(daemon.pid))
    finally:
        daemon.stop()
