"""Twenty agents share one model: one process, its memory that of one agent's, none where nothing is to be embedded."""

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
"""Of all agents together, whether they are one or twenty."""

TOLERANCE = 1.05
TRIES = 3
"""How often the twenty are measured at most. What an allocator keeps by chance is gone in another daemon; a second
model, or memory that each agent takes, is there every time."""

NOISE_BYTES = 12_000_000
"""What the daemon's own memory may differ after a model was used and is gone: pages an allocator keeps."""


@dataclass(frozen=True)
class Footprint:
    """What a daemon and its children took. Sizes are bytes."""

    children: int
    child_rss: int
    daemon_rss: int
    chunks: int

    @property
    def rss(self) -> int:
        """Return what all of them took."""
        return self.child_rss + self.daemon_rss


def rss_of(pid: int) -> int:
    """Return a process's resident memory in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError(f"no VmRSS of {pid}")


def maps_a_model(pid: int) -> bool:
    """Return whether a process has a file of the models directory mapped."""
    return str(models_dir().resolve()) in Path(f"/proc/{pid}/maps").read_text()


def model_of(status: StatusReply) -> ModelStatus | None:
    """Return the loaded model, where one is."""
    return next((model for model in status.models if model.pid is not None), None)


def everything_is_embedded(status: StatusReply) -> bool:
    """Return whether every agent's every chunk has its vector."""
    return all(row.chunks > 0 and row.chunks_pending == 0 and not row.files_pending for row in status.agents)


def note(number: int) -> str:
    """Return a note of a few chunks."""
    words = " ".join(f"entry {number} line {line} of the log about the gateway" for line in range(40))
    return f"# Note {number}\n\n{words}\n"


def home_with(agents: int) -> StateHome:
    """Return a home with the same notes, spread over so many agents."""
    minilm_path()
    home = StateHome()
    names = ["main", *(f"agent{number}" for number in range(1, agents))]
    home.configure(agents_config(home.state, *names[1:], memory_search=MINILM))
    for number in range(NOTES):
        home.note(f"memory/{number:03d}.md", note(number), names[number % agents])
    return home


def look_at(daemon: DaemonProcess, status: StatusReply, agents: list[str]) -> Footprint:
    """Search once for each of some agents, over connections of their own and at once; look at the processes."""
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


def look_at_twenty() -> tuple[Footprint, Footprint]:
    """Return what a daemon of twenty agents takes: where one of them asks, and where all do."""
    with home_with(AGENTS) as home, DaemonProcess(home) as daemon:
        status = daemon.wait_for(
            lambda status: len(status.agents) == AGENTS and everything_is_embedded(status), 240
        )
        agents = [row.agent for row in status.agents]
        return look_at(daemon, status, agents[:1]), look_at(daemon, status, agents)


def test_twenty_agents_take_one_process_and_the_memory_of_one_agent() -> None:
    """The same texts, whether they are one agent's or twenty's; each agent has its own connection.

    The daemon keeps an open index for every agent there is, asked or not: its own memory is compared between one
    of twenty that asks and all twenty that ask, the model's between a daemon of one agent and one of twenty.
    """
    with home_with(1) as home, DaemonProcess(home) as daemon:
        single = look_at(daemon, daemon.wait_for(everything_is_embedded, 240), ["main"])
    for _ in range(TRIES):
        one, twenty = look_at_twenty()
        print(f"a daemon of one agent: {single}\none of twenty asks: {one}\nall twenty ask: {twenty}")
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


def test_a_daemon_with_nothing_left_to_embed_loads_and_maps_no_model(home: StateHome) -> None:
    with DaemonProcess(home) as daemon:
        daemon.wait_for(everything_is_embedded, 120)
    with DaemonProcess(home) as daemon, daemon.client(agent="agent1") as client:
        client.index()
        status = daemon.wait_for(everything_is_embedded)
        assert model_of(status) is None
        assert children_of(daemon.pid) == []
        assert not maps_a_model(daemon.pid)
        client.search("the first question loads it")
        assert children_of(daemon.pid) != []


@pytest.mark.long
def test_after_the_keep_alive_the_process_is_gone_and_the_memory_given_back(home: StateHome) -> None:
    with DaemonProcess(home) as daemon:
        daemon.wait_for(everything_is_embedded, 120)
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
