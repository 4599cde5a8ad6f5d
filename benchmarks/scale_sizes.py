"""One agent with a corpus of a given size: what a search, a start, memory and disk come to."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from benchmarks.corpus import make_questions
from benchmarks.scale_corpora import Corpus, settled_home, start
from benchmarks.scale_growth import THOUSAND, share_of
from benchmarks.scale_process import MB, REST_S, children_of, processor_s, resident_mb
from memd_client import Client
from memd_client.messages import SearchReply
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

BUDGET_MB: Final = 512

QUESTIONS: Final = 240
"""Below the number of vectors an agent keeps, which is 256: asked twice, none is computed twice."""

PATIENT_S: Final = 600.0


class Asked:
    """Searches with one client: how long each took, and how often the answer was less than hybrid."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.less = 0

    def ms(self, question: str, agent: str | None = None) -> float:
        """Ask and return how many milliseconds the answer took."""
        began = time.perf_counter()
        reply = self._client.search(question, agent=agent)
        took_ms = (time.perf_counter() - began) * THOUSAND
        self.less += is_less(reply)
        return took_ms


@dataclass
class SizeFound:
    """What was measured at one size; milliseconds and MB, a list where there were rounds."""

    corpus: Corpus
    path: str = ""
    start_ms: list[float] = field(default_factory=list)
    start_cpu_ms: list[float] = field(default_factory=list)
    first_ms: list[float] = field(default_factory=list)
    second_ms: list[float] = field(default_factory=list)
    idle_mb: list[float] = field(default_factory=list)
    searched_mb: float = 0.0
    rested_mb: float | None = None
    cold: list[float] = field(default_factory=list)
    warm: list[list[float]] = field(default_factory=list)
    daemon_ms: list[float] = field(default_factory=list)
    model_ms: float = 0.0
    sync_ms: list[float] = field(default_factory=list)
    less: int = 0

    def warm_at(self, percent: float) -> list[float]:
        """Return a percentile of each round of warm searches."""
        return [share_of(rounds, percent) for rounds in self.warm]


def is_less(reply: SearchReply) -> bool:
    """Return whether an answer was made without vectors, or without all of the text."""
    return reply.mode != "hybrid" or reply.degraded is not None or reply.partial


def measure_size(corpus: Corpus, *, starts: int, rounds: int, rests: bool) -> SizeFound:
    """Return what a corpus costs a daemon that has it alone."""
    found = SizeFound(corpus)
    questions = make_questions(QUESTIONS + 2 * starts, random.Random(5))
    with settled_home({"main": corpus}, budget_mb=BUDGET_MB) as home:
        for turn in range(starts):
            before = questions[QUESTIONS + 2 * turn :][:2]
            asked = questions[:QUESTIONS] if turn == starts - 1 else []
            _measure_start(found, home, before, asked, rounds, rests=rests)
    return found


def _measure_start(
    found: SizeFound, home: StateHome, first: list[str], questions: list[str], rounds: int, *, rests: bool
) -> None:
    """Start a daemon and ask it; with questions, ask them all, and then again."""
    daemon = DaemonProcess(home)
    try:
        found.start_ms.append(start(daemon))
        found.start_cpu_ms.append(processor_s([daemon.pid]) * THOUSAND)
        with daemon.client(timeout_s=PATIENT_S) as client:
            found.idle_mb.append(resident_mb(daemon.pid))
            ask = Asked(client)
            found.first_ms.append(ask.ms(first[0]))
            found.second_ms.append(ask.ms(first[1]))
            if questions:
                _ask_all(found, daemon, client, ask, questions, rounds)
                if rests:
                    time.sleep(REST_S)
                    found.rested_mb = resident_mb(daemon.pid)
            found.less += ask.less
    finally:
        daemon.stop()


def _ask_all(
    found: SizeFound, daemon: DaemonProcess, client: Client, ask: Asked, questions: list[str], rounds: int
) -> None:
    """Ask every question once, then `rounds` times more; look at memory and syncs afterwards."""
    found.cold = [ask.ms(question) for question in questions]
    models = children_of(daemon.pid)
    before_s = processor_s(models)
    for _ in range(rounds):
        used_s = processor_s([daemon.pid])
        found.warm.append([ask.ms(question) for question in questions])
        found.daemon_ms.append((processor_s([daemon.pid]) - used_s) * THOUSAND / len(questions))
    found.model_ms = (processor_s(models) - before_s) * THOUSAND / (rounds * len(questions))
    found.searched_mb = resident_mb(daemon.pid)
    found.path = client.status().agents[0].vector_path
    for _ in range(2 * rounds):
        began = time.perf_counter()
        client.index()
        found.sync_ms.append((time.perf_counter() - began) * THOUSAND)


def index_mb(corpus: Corpus) -> float:
    """Return the size of a corpus's index on disk in MB."""
    return corpus.index_bytes / MB


def in_words(found: SizeFound) -> str:
    """Return a line of progress."""
    return (
        f"{found.corpus.passages:,} passages by {found.path}: warm p50 {median(found.warm_at(50)):.1f} ms, "
        f"started in {median(found.start_ms):.0f} ms, first search {median(found.first_ms):.0f} ms"
    )
