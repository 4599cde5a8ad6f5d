"""Batch jobs of a provider: a real daemon, a loopback server, a kill amid a job."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from memd_client.messages import AgentStatus
from tests.support.daemon import DaemonProcess
from tests.support.provider_errors import DialectName
from tests.support.provider_server import ProviderServer, serve_provider
from tests.support.state_homes import KEYWORD_ONLY, StateHome

NOTES = 1_300
NEWEST = 250
"""Approximate number of chunks that are embedded without a job."""

WAIT_TIMEOUT_S = 120.0


def wait(condition: Callable[[], object]) -> None:
    """Wait until the daemon's status meets a condition."""
    deadline = time.monotonic() + WAIT_TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)  # noqa: TID251 - the daemon's pauses are in real time here


def status(daemon: DaemonProcess) -> AgentStatus:
    """Return the status of the one agent."""
    with daemon.client(timeout_s=30) as client:
        return client.status().agents[0]


@pytest.fixture(
    params=["openai", *(pytest.param(name, marks=pytest.mark.long) for name in ("gemini", "voyage"))]
)
def server(request: pytest.FixtureRequest) -> Iterator[ProviderServer]:
    dialect: DialectName = request.param
    with serve_provider(dialect, dims=32) as server:
        yield server


@pytest.fixture
def home(server: ProviderServer) -> Iterator[StateHome]:
    with StateHome() as home:
        for number in range(NOTES):
            home.note(f"memory/{number:04}.md", f"entry {number}: the lamp of pier {number % 17} was lit\n")
        # all notes exist before embedding begins: a backlog
        home.configure(KEYWORD_ONLY)
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
            assert client.index().agents[0].chunks == NOTES
        batch = {"enabled": True, "pollIntervalMs": 50}
        remote = {"baseUrl": server.url, "apiKey": server.key, "batch": batch}
        search = {"provider": server.dialect, "remote": remote, "sync": {"watch": False}}
        home.configure({"agents": {"defaults": {"memorySearch": search}}})
        yield home


def test_batch_jobs_survive_a_killed_daemon_and_pay_for_nothing_twice(
    home: StateHome, server: ProviderServer
) -> None:
    assert server.batches is not None
    server.batches.looks_to_finish = None
    with DaemonProcess(home) as daemon:
        wait(lambda: status(daemon).jobs)
        wait(
            lambda: NEWEST <= status(daemon).vectors == server.texts_embedded.total()
        )  # no request is under way
        before = status(daemon)
        assert before.chunks_pending + before.vectors == NOTES
        assert sum(job.texts for job in before.jobs) >= NEWEST
        daemon.kill()
    assert before.filling is not None
    jobs = set(server.batches.jobs)
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        wait(lambda: status(daemon).jobs)
        assert {job.id for job in status(daemon).jobs} <= jobs
        server.batches.looks_to_finish = 1
        wait(lambda: status(daemon).chunks_pending == 0)
        assert client.search("the lamp of pier 3").mode == "hybrid"
        after = status(daemon)
    assert (after.vectors, after.jobs) == (NOTES, [])
    documents = {text: count for text, count in server.texts_embedded.items() if "entry" in text}
    assert len(documents) == NOTES
    assert set(documents.values()) == {1}
    assert server.complaints == []
