"""kill -9 at random moments: while indexing, switching models and searching."""

from __future__ import annotations

import os
import random
import signal
import statistics
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memd_client import Client
from tests.support.edits import Edit, EditedMemory, wait_until_none
from tests.support.killed_daemons import (
    ConcurrentStart,
    ConstantSearches,
    daemons_of,
    damage,
    edit_some,
    find_stale_hits,
    folder_problems,
    is_settled,
    kill,
    start_at_once,
    twin_of,
)
from tests.support.models import children_of, minilm_path
from tests.support.sockets import wait_until
from tests.support.state_homes import StateHome

KINDS = ("indexing", "switching", "searching")
NOTES = 60
SERVED_S = 2.0
"""Time until a client is served after a kill, on an otherwise idle machine."""

SETTLED_S = 90.0
INDEXES = {"main.memd.sqlite", "words.memd.sqlite"}


class Storm:
    """Two agents, one with a local model, and a daemon that is killed repeatedly."""

    def __init__(self, home: StateHome, rng: random.Random) -> None:
        self.home = home
        self.rng = rng
        self.models = [str(minilm_path()), str(twin_of(minilm_path(), home.root / "twin.gguf"))]
        self.configure()
        self.main = EditedMemory(home.workspace())
        self.words = EditedMemory(home.workspace("words"))
        for number in range(NOTES):
            home.note(f"memory/lantern/{number:02}.md", f"The lantern at door {number} is lit at dusk.\n")
        for memory in (self.main, self.words):
            memory.do(Edit("write_long", "memory/kept.md"))
        home.note("memory/lantern.md", "A lantern without a model.\n", agent="words")
        self.served: list[ConcurrentStart] = []

    def configure(self) -> None:
        """Write the settings with the first of the models."""
        local: dict[str, Any] = {"provider": "local", "local": {"modelPath": self.models[0]}}
        workspace = str(self.home.workspace("words"))
        agents = [
            {"id": "main", "default": True},
            {"id": "words", "workspace": workspace, "memorySearch": {"provider": "none"}},
        ]
        self.home.configure({"agents": {"defaults": {"memorySearch": local}, "list": agents}})

    def round(self, kind: str) -> None:
        """Start the daemon from several clients, check it, and kill it amid work."""
        served = start_at_once(self.home, "words")
        self.served.append(served)
        assert len(served.pids) == 1
        assert served.found == {any("lantern" in text for text in self.words.files().values())}
        (pid,) = served.pids
        wait_until(lambda: daemons_of(self.home) == [pid])
        with Client(self.home.socket, timeout_s=60) as client:
            self.expect_convergence(client)
        folder = self.home.state / "memory"
        for name in sorted(INDEXES):
            assert damage(folder / name) == []
        wait_until_none(
            partial(folder_problems, folder, {*INDEXES, "recalls.jsonl"})
        )  # a WAL is checkpointed after the last write
        with ConstantSearches(self.home, 4 if kind == "searching" else 0):
            self.work(kind, pid)
            time.sleep(self.rng.uniform(0, 1.0))  # noqa: TID251 - a random moment of another process's work
            children = children_of(pid)
            kill(pid)
        wait_until(lambda: not any(Path(f"/proc/{child}/exe").exists() for child in children))

    def work(self, kind: str, pid: int) -> None:
        """Start the work of a kind."""
        edit_some(self.main, self.rng, 30 if kind == "indexing" else 4)
        edit_some(self.words, self.rng, 30 if kind == "indexing" else 4)
        if kind == "switching":
            self.models.reverse()
            self.configure()
            os.kill(pid, signal.SIGHUP)

    def expect_convergence(self, client: Client) -> None:
        """Wait until all files are indexed; compare search replies with the disk."""
        deadline = time.monotonic() + SETTLED_S
        while not all(is_settled(agent) for agent in client.status().agents):
            assert time.monotonic() < deadline, client.status().agents
            time.sleep(0.05)  # noqa: TID251 - another process's work
        for agent, memory in (("main", self.main), ("words", self.words)):
            with Client(self.home.socket, agent=agent, timeout_s=60) as asker:
                wait_until_none(partial(self.differing_replies, asker, memory))

    def differing_replies(self, asker: Client, memory: EditedMemory) -> list[str]:
        """Return differences between the disk and replies on some words."""
        places = [-1, -2, -3, *(self.rng.randrange(len(memory.words)) for _ in range(5))]
        words = [memory.words[place % len(memory.words)] for place in places]
        return [found for word in words for found in find_stale_hits(asker, word, memory.files())]


@pytest.fixture
def storm() -> Iterator[Storm]:
    with StateHome() as home:
        storm = Storm(home, random.Random(20261122))
        try:
            yield storm
        finally:
            for pid in daemons_of(home):
                kill(pid)


def run(storm: Storm, rounds: int) -> float:
    """Run the rounds; return the median time in seconds to the first served client."""
    for number in range(rounds):
        storm.round(KINDS[number % len(KINDS)])
    firsts = [served.first_s for served in storm.served]
    lasts = [served.last_s for served in storm.served]
    print(
        f"{rounds} kills: the first of ten clients served after {statistics.median(firsts):.2f} s "
        f"({max(firsts):.2f} at most), the last after {statistics.median(lasts):.2f} s ({max(lasts):.2f})"
    )
    return statistics.median(firsts)


def test_killed_daemon_leaves_no_damage_and_ten_clients_start_one_daemon(storm: Storm) -> None:
    run(storm, 3)


@pytest.mark.long
def test_two_hundred_kills_leave_no_damage(storm: Storm) -> None:
    assert run(storm, 200) < SERVED_S
