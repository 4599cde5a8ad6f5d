"""A working day in twenty minutes: many clients, edits, a model that comes and goes; nothing fails, nothing grows."""

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
WARM_UP_S = 6 * 60
EDITS_EVERY_S, FIRST_EDITS_EVERY_S = 0.3, 0.08
"""Caches fill, allocators find their size. Page caches and the vectors in memory do so with what is written, a thousand
edits an agent, so it is written faster at first."""

CLIENTS = 50
NOTES = 200
KEEP_ALIVE_S = 6.0
QUIET_EVERY_S = 60.0
QUIET_S = 15.0
"""Once a minute nobody asks for so long, and the model leaves the memory."""

MOST_GROWTH_MB = 1.0
"""In ten minutes, after the warm-up."""

AGENTS = ("main", "work", "home")


@dataclass
class Seen:
    """What was seen of the daemon: (seconds, MB resident, descriptors) while nobody asked."""

    quiet: list[tuple[float, float, int]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    searches: int = 0
    edits: int = 0
    loads: set[int] = field(default_factory=set)


class Soak:
    """Clients and an editor at work on one daemon."""

    def __init__(self, daemon: DaemonProcess, memories: dict[str, EditedMemory]) -> None:
        self.daemon = daemon
        self.memories = memories
        self.seen = Seen()
        self.began = time.monotonic()
        self.over = threading.Event()
        self.quiet = threading.Event()
        self._numbers = itertools.count()

    def ask(self, number: int) -> None:
        """Search, read and look at the state now and then, over one connection, until it is over."""
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
        """Rewrite notes again and again; there are never more of them, nor longer ones."""
        rng = random.Random(0)
        while not self.over.wait(EDITS_EVERY_S if self.is_warm() else FIRST_EDITS_EVERY_S):
            if not self.quiet.is_set():
                memory, note = self.memories[rng.choice(AGENTS)], f"memory/{rng.randrange(NOTES):03}.md"
                name = rng.choice(["write", "write", "append", "swap_words", "replace", "delete"])
                memory.do(Edit(name if (memory.workspace / note).exists() else "write", note))
                memory.words.clear()
                self.seen.edits += 1

    def is_warm(self) -> bool:
        """Return whether the warm-up is over."""
        return time.monotonic() - self.began >= WARM_UP_S

    def watch(self, seconds: float) -> None:
        """Let it run, and look at the daemon whenever nobody has asked for a while and no model is loaded."""
        while (left := seconds - (time.monotonic() - self.began)) > 0:
            self.over.wait(min(left, QUIET_EVERY_S - QUIET_S))
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
    """Return how many MB a line through the sizes grows in ten minutes."""
    line = statistics.linear_regression([at for at, _, _ in rows], [mb for _, mb, _ in rows])
    return line.slope * 600


@pytest.fixture
def home() -> Iterator[StateHome]:
    with StateHome() as home:
        local = {"provider": "local", "local": {"modelPath": str(minilm_path())}}
        home.configure(agents_config(home.state, *AGENTS[1:], memory_search=local))
        # By default 256 MB of vectors are kept that no text needs any more: an index of ever new texts grows for days.
        (home.root / "memd.toml").write_text(
            f"model_keep_alive_minutes = {KEEP_ALIVE_S / 60}\nvector_cache_mb = 1\n"
        )
        yield home


def run(home: StateHome, seconds: float) -> Seen:
    """Have the daemon work for so long; return what was seen."""
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
        threads = [threading.Thread(target=soak.ask, args=(number,)) for number in range(CLIENTS)]
        threads.append(threading.Thread(target=soak.edit))
        for thread in threads:
            thread.start()
        try:
            soak.watch(seconds)
        finally:
            soak.over.set()
            for thread in threads:
                thread.join()
        levels = [event for event in daemon.events() if event.get("level") in ("error", "critical")]
        soak.seen.errors += [str(event.get("event")) for event in levels]
    return soak.seen


@pytest.mark.long
def test_twenty_minutes_of_work_leave_no_error_and_no_growth(home: StateHome) -> None:
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
    assert slope <= MOST_GROWTH_MB
    assert len({row[2] for row in warm}) == 1
