"""One local model for twenty agents: one process, RAM as for one agent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from memd.settings.paths import models_dir
from memd_client.messages import ModelStatus, StatusReply
from tests.support.daemon import DaemonProcess
from tests.support.models import children_of, is_running, minilm_path
from tests.support.state_homes import StateHome, agents_config

pytestmark = pytest.mark.model

MINILM = {"provider": "local", "local": {"modelPath": "minilm"}, "sync": {"watch": False}}

AGENTS = 20
NOTES = 20
"""Notes of all agents together, for one agent and for twenty."""

TOLERANCE = 1.05
MAX_ATTEMPTS = 3
"""Attempts: allocator noise differs between daemons, a second model would not."""

NOISE_BYTES = 12_000_000
"""Allocator noise allowed in the daemon's RAM after a model was unloaded."""


@dataclass(frozen=True)
class Footprint:
    """Resident memory of a daemon and its model worker, in bytes."""

    children: int
    child_rss: int
    daemon_rss: int
    chunks: int

    @property
    def rss(self) -> int:
        """Return the sum of both."""
        return self.child_rss + self.daemon_rss


def rss_of(pid: int) -> int:
    """Return a process's resident memory in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no VmRSS of {pid}")


def maps_a_model(pid: int) -> bool:
    """Return whether a process maps a file of the models directory."""
    return str(models_dir().resolve()) in Path(f"/proc/{pid}/maps").read_text()


def model_of(status: StatusReply) -> ModelStatus | None:
    """Return the loaded model, if any."""
    return next((model for model in status.models if model.pid is not None), None)


def is_everything_embedded(status: StatusReply) -> bool:
    """Return whether all chunks of all agents have vectors."""
    return all(row.chunks > 0 and row.chunks_pending == 0 and not row.files_pending for row in status.agents)


def note(number: int) -> str:
    """Return a note of a few chunks."""
    words = " ".join(f"entry {number} line {line} of the log about the gateway" for line in range(40))
    return f"# Note {number}\n\n{words}\n"


def home_with(agents: int) -> StateHome:
    """Return a home with the same notes, spread over `agents` agents."""
    minilm_path()
    home = StateHome()
    names = ["main", *(f"agent{number}" for number in range(1, agents))]
    home.configure(agents_config(home.state, *names[1:], memory_search=MINILM))
    for number in range(NOTES):
        home.note(f"memory/{number:03d}.md", note(number), names[number % agents])
    return home


def measure(daemon: DaemonProcess, status: StatusReply, agents: list[str]) -> Footprint:
    """Search once for each agent concurrently; return the memory of the processes."""
    with ExitStack() as stack:
        clients = [stack.enter_context(daemon.client(agent=agent)) for agent in agents]
        threads = [threading.Thread(target=client.search, args=("which gateway",)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        model = model_of(daemon.wait_for(lambda status: model_of(status) is not None))
        assert model is not None
        assert model.pid is not None
        children = children_of(daemon.pid)
        assert children == [model.pid]
        assert maps_a_model(model.pid)
        assert not maps_a_model(daemon.pid)
        chunks = sum(row.chunks for row in status.agents)
        return Footprint(len(children), rss_of(model.pid), rss_of(daemon.pid), chunks)


def measure_twenty() -> tuple[Footprint, Footprint]:
    """Return the footprints of twenty agents: one of them searches, all search."""
    with home_with(AGENTS) as home, DaemonProcess(home) as daemon:
        status = daemon.wait_for(
            lambda status: len(status.agents) == AGENTS and is_everything_embedded(status), 240
        )
        agents = [row.agent for row in status.agents]
        return measure(daemon, status, agents[:1]), measure(daemon, status, agents)


@pytest.mark.long
def test_twenty_agents_use_one_process_and_the_memory_of_one_agent() -> None:
    """Compare RAM with one agent searching and with all twenty.

    The daemon keeps an index open for each agent, so its own RAM is compared within twenty agents.
    The model's RAM is compared between a daemon of one agent and one of twenty, on the same notes.
    """
    with home_with(1) as home, DaemonProcess(home) as daemon:
        single = measure(daemon, daemon.wait_for(is_everything_embedded, 240), ["main"])
    for _ in range(MAX_ATTEMPTS):
        one, twenty = measure_twenty()
        print(f"a daemon of one agent: {single}\none of twenty searches: {one}\nall twenty search: {twenty}")
        assert single.chunks == twenty.chunks
        assert single.children == one.children == twenty.children == 1
        model, both = twenty.child_rss / single.child_rss, twenty.rss / one.rss
        if model <= TOLERANCE and both <= TOLERANCE:
            return
    raise AssertionError(f"the model took {model:.2f} times, all together {both:.2f} times the memory")


@pytest.fixture
def home() -> Iterator[StateHome]:
    with home_with(3) as home:
        yield home


def test_daemon_without_pending_vectors_loads_no_model(home: StateHome) -> None:
    with DaemonProcess(home) as daemon:
        daemon.wait_for(is_everything_embedded, 120)
    with DaemonProcess(home) as daemon, daemon.client(agent="agent1") as client:
        client.index()
        status = daemon.wait_for(is_everything_embedded)
        assert model_of(status) is None
        assert children_of(daemon.pid) == []
        assert not maps_a_model(daemon.pid)
        client.search("the first question loads it")
        assert children_of(daemon.pid) != []


@pytest.mark.long
def test_model_is_unloaded_after_the_keep_alive_and_its_memory_freed(home: StateHome) -> None:
    with DaemonProcess(home) as daemon:
        daemon.wait_for(is_everything_embedded, 120)
    (home.root / "memd.toml").write_text("model_keep_alive_minutes = 0.05\n")
    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
        baseline = rss_of(daemon.pid)
        pids = set()
        for question in range(10):
            client.search(f"question number {question}")
            pids |= set(children_of(daemon.pid))
        assert len(pids) == 1
        status = daemon.wait_for(lambda status: model_of(status) is None, 60)
        daemon.wait_for(lambda status: children_of(daemon.pid) == [], 10)
        assert not any(is_running(pid) for pid in pids)
        assert not maps_a_model(daemon.pid)
        print(f"daemon: {baseline} bytes before, {rss_of(daemon.pid)} after")
        assert rss_of(daemon.pid) <= baseline + NOISE_BYTES
        assert [model.state for model in status.models] == ["idle"]
