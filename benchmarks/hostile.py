"""Cost of hostile notes: 15 MB of one script, one line, or base64; 1,500 nested folders.

    python -m benchmarks.hostile [--mb 15] [--depth 1500] [--rounds 7] [--kinds cjk ...] [--json]

A daemon without embeddings indexes one such note and a small one, then answers several queries over the socket, hostile
ones of 8,000 characters among them. The cost of the folders is that of the first search after a write, which checks the
disk, minus the same search without folders.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from statistics import median

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

BAR_MS = 100.0
BAR_FOLDERS_MS = 50.0
INDEXED_S = 600.0
QUERY_CHARS = 8_000
SETTINGS = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}
PATTERN_CHARS = 5_000
"""Letters after which a text of one script repeats."""


@dataclass
class QueryTimes:
    """Median and maximum of the rounds of one query, in milliseconds."""

    note: str
    query: str
    median_ms: float
    most_ms: float
    bar_ms: float


def random_letters(first: int, last: int) -> Callable[[int], str]:
    """Return a function that makes a text of letters of one range, of a size in bytes."""

    def make(size: int) -> str:
        chance = random.Random(first)
        pattern = "".join(chr(chance.randrange(first, last)) for _ in range(PATTERN_CHARS))
        return pattern * (size // len(pattern.encode()))

    return make


NOTES: dict[str, Callable[[int], str]] = {
    "one line": lambda size: "word another lease " * (size // 19),
    "cjk": random_letters(0x4E00, 0x9000),
    "latin": random_letters(ord("a"), ord("z") + 1),
    "digits": random_letters(ord("0"), ord("9") + 1),
    "emoji": random_letters(0x1F600, 0x1F64F),
    "base64": lambda size: base64.b64encode(random.Random(1).randbytes(size * 3 // 4)).decode(),
}

QUERIES: dict[str, str] = {
    "a query": "when does the lease end",
    "misspelled": "wehn deos teh laese ned",
    "a name": "LEASE_END_DATE in config.py",
    "one letter": "a",
    **{f"8,000 of {kind}": make(4 * QUERY_CHARS)[:QUERY_CHARS] for kind, make in NOTES.items()},
}


def searches(client: Client, note: str, rounds: int) -> Iterator[QueryTimes]:
    """Yield the times of each query."""
    for name, query in QUERIES.items():
        took = []
        for _ in range(rounds):
            began = time.perf_counter()
            client.search(query)
            took.append((time.perf_counter() - began) * 1000)
        yield QueryTimes(note, name, median(took), max(took), BAR_MS)


def of_a_note(kind: str, size: int, rounds: int) -> Iterator[QueryTimes]:
    """Yield the times of searches with one hostile note."""
    with StateHome(SETTINGS) as home:
        home.note("MEMORY.md", "# Lease\n\nThe lease ends in May.\n")
        home.note(f"memory/{kind.replace(' ', '-')}.md", NOTES[kind](size))
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=INDEXED_S) as client:
            daemon.wait_for(lambda status: is_indexed(status.agents[0], 2), INDEXED_S)
            yield from searches(client, kind, rounds)


def of_nested_folders(depth: int, rounds: int) -> QueryTimes:
    """Return the time that deeply nested folders add to a search that checks the disk."""
    without = median(after_writes(0, rounds))
    added = [took - without for took in after_writes(depth, rounds)]
    return QueryTimes(f"{depth} folders", "a query", median(added), max(added), BAR_FOLDERS_MS)


def after_writes(depth: int, rounds: int) -> list[float]:
    """Return the milliseconds of searches that each follow a write."""
    with StateHome(SETTINGS) as home:
        top = home.note("memory/MEMORY.md", "# Lease\n\nThe lease ends in May.\n")
        here = os.open(top.parent, os.O_RDONLY)
        for _ in range(depth):
            os.mkdir("d", dir_fd=here)
            there = os.open("d", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = there
        note = os.open("note.md", os.O_CREAT | os.O_WRONLY, dir_fd=here)
        os.write(note, b"The harbour opens at six.\n")
        os.close(note)
        os.close(here)
        try:
            with DaemonProcess(home) as daemon, daemon.client(timeout_s=INDEXED_S) as client:
                daemon.wait_for(lambda status: is_indexed(status.agents[0], 2), INDEXED_S)
                took = []
                for number in range(rounds):
                    top.write_text(f"# Lease\n\nThe lease ends in May, as of {number}.\n")
                    began = time.perf_counter()
                    client.search("when does the lease end")
                    took.append((time.perf_counter() - began) * 1000)
                return took
        finally:
            os.system(f"rm -rf {home.workspace()}")  # shutil.rmtree is recursive


def is_indexed(agent: object, files: int) -> bool:
    """Return whether an agent's files are all in its index."""
    return getattr(agent, "files", 0) == files and not getattr(agent, "files_pending", 1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mb", type=float, default=15.0)
    parser.add_argument("--depth", type=int, default=1500)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--kinds", nargs="*", choices=list(NOTES), default=list(NOTES))
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    found = [of_nested_folders(wanted.depth, wanted.rounds)] if wanted.depth else []
    for kind in wanted.kinds:
        found += of_a_note(kind, int(wanted.mb * 1_000_000), wanted.rounds)
    if wanted.json:
        print(json.dumps([asdict(each) for each in found]))
        return
    for each in found:
        missed = "" if each.median_ms <= each.bar_ms else "  MISSED"
        print(
            f"{each.note:<14}{each.query:<20}{each.median_ms:8.1f} ms, {each.most_ms:.1f} at most"
            f" (bar {each.bar_ms:.0f}){missed}"
        )


if __name__ == "__main__":
    main()
