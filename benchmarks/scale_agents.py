"""Many agents in one daemon: its memory and its start as their number grows."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from typing import Final

from benchmarks.corpus import make_questions
from benchmarks.scale_corpora import Corpus, settled_home, start
from benchmarks.scale_growth import THOUSAND
from benchmarks.scale_process import REST_S, children_of, processor_s, resident_mb
from benchmarks.scale_sizes import PATIENT_S, Asked
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

SETTLED_S: Final = 120.0
"""After a start every agent looks at its files once; memory at rest is that after it."""


@dataclass
class AgentsFound:
    """What was measured with a number of agents; a list where there were starts."""

    agents: int
    corpus: Corpus
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
    """Return the ids of so many agents; `main` is one of them, as it is always there."""
    return ["main", *(f"agent{number:03d}" for number in range(1, count))]


def measure_agents(corpus: Corpus, count: int, *, starts: int, rests: bool) -> AgentsFound:
    """Return what so many agents with a corpus each cost, each with its own copy."""
    found = AgentsFound(count, corpus)
    names = names_of(count)
    questions = make_questions(count * starts, random.Random(3))
    with settled_home(dict.fromkeys(names, corpus)) as home:
        for turn in range(starts):
            _measure_start(found, home, names, questions[turn * count :])
            _measure_memory(found, home, names, questions, rests=rests and turn == starts - 1)
    return found


def _measure_start(found: AgentsFound, home: StateHome, names: list[str], questions: list[str]) -> None:
    """Start a daemon and search in each agent at once."""
    daemon = DaemonProcess(home)
    try:
        ready_ms = start(daemon)
        found.start_cpu_ms.append(processor_s([daemon.pid]) * THOUSAND)
        with daemon.client(timeout_s=PATIENT_S) as client:
            ask = Asked(client)
            first_ms = ask.ms(questions[0], names[-1])
            found.start_ms.append(ready_ms)
            found.first_ms.append(first_ms)
            found.spawn_ms.append(ready_ms + first_ms)
            found.next_ms += [
                ask.ms(question, name) for question, name in zip(questions[1:], names[:-1], strict=False)
            ]
            found.less += ask.less
    finally:
        daemon.stop()


def _measure_memory(
    found: AgentsFound, home: StateHome, names: list[str], questions: list[str], *, rests: bool
) -> None:
    """Start a daemon, let it catch up, look at its memory; again after a search in each agent, and at rest."""
    daemon = DaemonProcess(home)
    try:
        start(daemon)
        daemon.wait_for(
            lambda status: all(agent.last_sync_ms and not agent.syncing for agent in status.agents), SETTLED_S
        )
        found.idle_mb.append(resident_mb(daemon.pid))
        with daemon.client(timeout_s=PATIENT_S) as client:
            for question, name in zip(questions, names, strict=False):
                client.search(question, agent=name)
        found.searched_mb.append(resident_mb(daemon.pid))
        found.model_mb.append(sum(map(resident_mb, children_of(daemon.pid))))
        if rests:
            time.sleep(REST_S)
            found.rested_mb.append(resident_mb(daemon.pid))
    finally:
        daemon.stop()
