"""One agent with a corpus of some size: search latency, start, RAM and disk."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field
from statistics import median
from typing import Final

from benchmarks.corpus import make_queries
from benchmarks.scale_corpora import CachedCorpus, settled_home, start
from benchmarks.scale_growth import THOUSAND, share_of
from benchmarks.scale_process import MB, REST_S, children_of, processor_s, resident_mb
from memd_client import Client
from memd_client.messages import SearchReply
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

BUDGET_MB: Final = 512

QUERY_COUNT: Final = 240
"""Fewer than the 256 query vectors that an agent keeps, so that a repeated query is not embedded."""

PATIENT_S: Final = 600.0


class TimedSearches:
    """Searches of one client; `less` counts degraded answers."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.less = 0

    def ms(self, query: str, agent: str | None = None) -> float:
        """Search and return the milliseconds."""
        began = time.perf_counter()
        reply = self._client.search(query, agent=agent)
        took_ms = (time.perf_counter() - began) * THOUSAND
        self.less += is_degraded(reply)
        return took_ms


@dataclass
class SizeMeasurement:
    """Measurements of one size in milliseconds and MB; lists have one item per round."""

    corpus: CachedCorpus
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
        """Return a percentile of each round of repeated queries."""
        return [share_of(rounds, percent) for rounds in self.warm]


def is_degraded(reply: SearchReply) -> bool:
    """Return whether an answer was made without vectors, or without all of the text."""
    return reply.mode != "hybrid" or reply.degraded is not None or reply.partial


def measure_size(corpus: CachedCorpus, *, starts: int, rounds: int, rests: bool) -> SizeMeasurement:
    """Measure a daemon with one corpus."""
    found = SizeMeasurement(corpus)
    queries = make_queries(QUERY_COUNT + 2 * starts, random.Random(5))
    with settled_home({"main": corpus}, budget_mb=BUDGET_MB) as home:
        for turn in range(starts):
            before = queries[QUERY_COUNT + 2 * turn :][:2]
            asked = queries[:QUERY_COUNT] if turn == starts - 1 else []
            _measure_start(found, home, before, asked, rounds, rests=rests)
    return found


def _measure_start(
    found: SizeMeasurement, home: StateHome, first: list[str], queries: list[str], rounds: int, *, rests: bool
) -> None:
    """Start a daemon and search; measure repeated queries as well if there are `queries`."""
    daemon = DaemonProcess(home)
    try:
        found.start_ms.append(start(daemon))
        found.start_cpu_ms.append(processor_s([daemon.pid]) * THOUSAND)
        with daemon.client(timeout_s=PATIENT_S) as client:
            found.idle_mb.append(resident_mb(daemon.pid))
            ask = TimedSearches(client)
            found.first_ms.append(ask.ms(first[0]))
            found.second_ms.append(ask.ms(first[1]))
            if queries:
                _search_all(found, daemon, client, ask, queries, rounds)
                if rests:
                    time.sleep(REST_S)
                    found.rested_mb = resident_mb(daemon.pid)
            found.less += ask.less
    finally:
        daemon.stop()


def _search_all(
    found: SizeMeasurement,
    daemon: DaemonProcess,
    client: Client,
    ask: TimedSearches,
    queries: list[str],
    rounds: int,
) -> None:
    """Search every query once, then `rounds` times; then measure RAM and syncs."""
    found.cold = [ask.ms(query) for query in queries]
    models = children_of(daemon.pid)
    before_s = processor_s(models)
    for _ in range(rounds):
        used_s = processor_s([daemon.pid])
        found.warm.append([ask.ms(query) for query in queries])
        found.daemon_ms.append((processor_s([daemon.pid]) - used_s) * THOUSAND / len(queries))
    found.model_ms = (processor_s(models) - before_s) * THOUSAND / (rounds * len(queries))
    found.searched_mb = resident_mb(daemon.pid)
    found.path = client.status().agents[0].vector_path
    for _ in range(2 * rounds):
        began = time.perf_counter()
        client.index()
        found.sync_ms.append((time.perf_counter() - began) * THOUSAND)


def index_mb(corpus: CachedCorpus) -> float:
    """Return the size of a corpus's index on disk in MB."""
    return corpus.index_bytes / MB


def progress_line(found: SizeMeasurement) -> str:
    """Return a line of progress."""
    return (
        f"{found.corpus.chunks:,} chunks by {found.path}: warm p50 {median(found.warm_at(50)):.1f} ms, "
        f"started in {median(found.start_ms):.0f} ms, first search {median(found.first_ms):.0f} ms"
    )
