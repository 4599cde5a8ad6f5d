"""Searches in the memory of another machine: a client over ssh next to a client of this machine, on one daemon.

sshd runs on loopback, so the figures have the cost of ssh, `memctl stdio` and encryption, and none of a network.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import environ
from statistics import median
from typing import Final

import pytest

from benchmarks.corpus import make_vocabulary
from benchmarks.part import Options, Part, at_most, measured
from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.sshd import SshServer
from tests.support.state_homes import KEYWORD_ONLY, StateHome

NOTES, QUICK_NOTES = 2_000, 200
ROUNDS, QUICK_ROUNDS = 10, 2
SEARCHES: Final = 50
"""Searches per round, all on one connection."""

MOST_ADDED_MS: Final = 3.0
STARTS: Final = 10

TITLE: Final = "Search in another machine's memory"


def search_ms(client: Client, query: str) -> float:
    """Return the milliseconds of a search."""
    began = time.perf_counter()
    client.search(query)
    return (time.perf_counter() - began) * 1000


def first_search_ms(host: str, query: str) -> float:
    """Return the milliseconds of a search with a new connection."""
    with Client(host=host) as client:
        return search_ms(client, query)


def compared(here: Client, there: Client, queries: Sequence[str]) -> tuple[float, float]:
    """Return the medians of searches here and over ssh; both clients take turns at going first."""
    times: dict[Client, list[float]] = {here: [], there: []}
    for number, query in enumerate(queries):
        for client in (here, there) if number % 2 else (there, here):
            times[client].append(search_ms(client, query))
    return median(times[here]), median(times[there])


@contextmanager
def variables(values: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables inside the block."""
    environ.update(values)
    try:
        yield
    finally:
        for name in values:
            del environ[name]


def measure(options: Options) -> Part:
    """Search over both ways in turn."""
    try:
        server = SshServer()
    except pytest.skip.Exception as error:
        return Part(name="host", title=TITLE, skipped=str(error))
    rng = random.Random(7)
    words = make_vocabulary()[0][:3_000]
    notes, rounds = (QUICK_NOTES, QUICK_ROUNDS) if options.quick else (NOTES, ROUNDS)
    here, there = [], []
    with server, variables(server.environ), StateHome(KEYWORD_ONLY) as home:
        for number in range(notes):
            text = "\n\n".join(" ".join(rng.choices(words, k=60)) for _ in range(3))
            home.note(f"memory/{number % 20}/{number:04}.md", f"# Note {number}\n\n{text}\n")
        server.use(home.environ())
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=600) as local:
            local.index()
            starts = [first_search_ms(server.host, "note") for _ in range(STARTS)]
            with Client(host=server.host) as remote:
                compared(local, remote, ["note"] * SEARCHES)
                for number in range(rounds):
                    options.show_progress(f"round {number + 1} of {rounds}")
                    queries = [" ".join(rng.choices(words, k=4)) for _ in range(SEARCHES)]
                    times = compared(local, remote, queries)
                    here.append(times[0])
                    there.append(times[1])
    added = [slow - fast for fast, slow in zip(here, there, strict=True)]
    return Part(
        name="host",
        title=TITLE,
        figures=[
            measured("host.local.p50", "search on this machine: p50", here, "ms"),
            measured("host.remote.p50", "the same over ssh, one connection: p50", there, "ms"),
            at_most("host.added.p50", "added by ssh and `memctl stdio`: p50", added, "ms", MOST_ADDED_MS),
            measured("host.first", "connecting over ssh and the first search", starts, "ms"),
        ],
        notes=[
            f"{SEARCHES} searches per round, {rounds} rounds; {notes:,} notes; sshd on loopback, no network."
        ],
    )
