"""Twenty minutes of work by many clients: no errors and no growth of memory."""

from __future__ import annotations

import itertools
import os
import random
import statistics
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from memd_client.errors import MemdError
from tests.support.daemon import DaemonProcess
from tests.support.edits import Edit, EditedMemory
from tests.support.models import minilm_path
from tests.support.state_homes import StateHome, agents_config

SOAK_S = 20 * 60
WARM_UP_S = 8 * 60
EDIT_INTERVAL_S, WARM_UP_EDIT_INTERVAL_S = 0.3, 0.08
"""Edits are faster at first: caches and the allocator grow within the warm-up."""

CLIENTS = 50
NOTES = 200
KEEP_ALIVE_S = 6.0
QUIET_INTERVAL_S = 60.0
QUIET_S = 15.0
"""Length of a pause without requests, once a minute; the model is unloaded in it."""

MAX_GROWTH_MB = 1.0
"""Growth allowed in ten minutes, after the warm-up."""

AGENTS = ("main", "work", "home")


@dataclass
class Measurements:
    """`quiet` holds (seconds, resident MB, descriptors) of the daemon during pauses."""

    quiet: list[tuple[float, float, int]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    searches: int = 0
    edits: int = 0
    loads: set[int] = field(default_factory=set)


class Soak:
    """Clients and an editor that work on one daemon."""

    def __init__(self, daemon: DaemonProcess, memories: dict[str, EditedMemory]) -> None:
        self.daemon = daemon
        self.memories = memories
        self.seen = Measurements()
        self.began = time.monotonic()
        self.over = threading.Event()
        self.quiet = threading.Event()
        self._numbers = itertools.count()

    def send_requests(self, number: int) -> None:
        """Send random requests over one connection until the end."""
        rng = random.Random(number)
        agent = AGENTS[number % len(AGENTS)]
        with self.daemon.client(agent=agent, timeout_s=60) as client:
            while not self.over.wait(rng.uniform(0.5, 3.0)):
                if self.quiet.is_set():
                    continue
                try:
                    match rng.random():
                        case chance if chance < 0.9:
                            client.search(f"lantern at door {next(self._numbers)}")
                            self.seen.searches += 1
                        case chance if chance < 0.97:
                            client.get("memory/lantern/00.md")
                        case _:
                            client.status(agent)
                except MemdError as error:
                    self.seen.errors.append(f"{error.wire_code}: {error.message}")

    def edit(self) -> None:
        """Rewrite notes repeatedly; their number and length do not grow."""
        rng = random.Random(0)
        while not self.over.wait(EDIT_INTERVAL_S if self.is_warm() else WARM_UP_EDIT_INTERVAL_S):
            if not self.quiet.is_set():
                memory, note = self.memories[rng.choice(AGENTS)], f"memory/{rng.randrange(NOTES):03}.md"
                name = rng.choice(["write", "write", "append", "swap_words", "replace", "delete"])
                memory.do(Edit(name if (memory.workspace / note).exists() else "write", note))
                memory.words.clear()
                self.seen.edits += 1

    def is_warm(self) -> bool:
        """Return whether the warm-up is over."""
        return time.monotonic() - self.began >= WARM_UP_S

    def measure(self, seconds: float) -> None:
        """Measure the daemon in pauses, with the model unloaded, for `seconds`."""
        while (left := seconds - (time.monotonic() - self.began)) > 0:
            self.over.wait(min(left, QUIET_INTERVAL_S - QUIET_S))
            with self.daemon.client() as client:
                self.seen.loads.update(model.pid for model in client.status().models if model.pid)
            self.quiet.set()
            self.over.wait(QUIET_S)
            self.seen.quiet.append((time.monotonic() - self.began, *size_of(self.daemon.pid)))
            self.quiet.clear()
        self.over.set()


def size_of(pid: int) -> tuple[float, int]:
    """Return a process's resident memory in MB and its open descriptors."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6, len(os.listdir(f"/proc/{pid}/fd"))


def growth_mb(rows: list[tuple[float, float, int]]) -> float:
    """Return the slope of a line through the sizes, in MB per ten minutes."""
    line = statistics.linear_regression([at for at, _, _ in rows], [mb for _, mb, _ in rows])
    return line.slope * 600


@pytest.fixture
def home() -> Iterator[StateHome]:
    with StateHome() as home:
        local = {"provider": "local", "local": {"modelPath": str(minilm_path())}}
        home.configure(agents_config(home.state, *AGENTS[1:], memory_search=local))
        # Unused vectors may take 256 MB by default, so an index of ever new chunks grows for days.
        (home.root / "memd.toml").write_text(
            f"model_keep_alive_minutes = {KEEP_ALIVE_S / 60}\nvector_cache_mb = 1\n"
        )
        yield home


def run(home: StateHome, seconds: float) -> Measurements:
    """Run the work for `seconds`; return the measurements."""
    memories = {agent: EditedMemory(home.workspace(agent)) for agent in AGENTS}
    for agent, memory in memories.items():
        for number in range(60):
            home.note(
                f"memory/lantern/{number:02}.md", f"The lantern at door {number} is lit.\n", agent=agent
            )
        for number in range(NOTES):
            memory.do(Edit("write", f"memory/{number:03}.md"))
    with DaemonProcess(home) as daemon:
        with daemon.client(timeout_s=300) as client:
            client.index()
        soak = Soak(daemon, memories)
        threads = [threading.Thread(target=soak.send_requests, args=(number,)) for number in range(CLIENTS)]
        threads.append(threading.Thread(target=soak.edit))
        for thread in threads:
            thread.start()
        try:
            soak.measure(seconds)
        finally:
            soak.over.set()
            for thread in threads:
                thread.join()
        levels = [event for event in daemon.events() if event.get("level") in ("error", "critical")]
        soak.seen.errors += [str(event.get("event")) for event in levels]
    return soak.seen


@pytest.mark.long
def test_twenty_minutes_of_work_cause_no_error_and_no_growth(home: StateHome) -> None:
    seen = run(home, SOAK_S)
    warm = [row for row in seen.quiet if row[0] >= WARM_UP_S]
    slope = growth_mb(warm)
    print(
        f"{seen.searches} searches, {seen.edits} edits, {len(seen.loads)} loads of the model, "
        f"{len(seen.errors)} errors; {slope:+.2f} MB in ten minutes at {warm[-1][1]:.0f} MB; "
        f"descriptors {sorted({row[2] for row in warm})}"
    )
    print([(round(at), round(mb, 1), fds) for at, mb, fds in seen.quiet])
    assert seen.errors == []
    assert len(seen.loads) >= 10
    assert slope <= MAX_GROWTH_MB
    assert len({row[2] for row in warm}) == 1
