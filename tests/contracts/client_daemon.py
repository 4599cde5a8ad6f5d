"""The contract of every client with a complete daemon."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memd_client import requests
from memd_client.errors import (
    AgentUnknownError,
    BadParamsError,
    ConnectionLostError,
    DaemonUnreachableError,
    DeadlineExceededError,
    PathRefusedError,
    RequestCancelledError,
)
from tests.support.daemon import DaemonProcess
from tests.support.sockets import wait_until
from tests.support.state_homes import StateHome, agents_config

NOTES = 120
"""Number of notes of the daemon: enough that reading all of them again takes a while."""


@contextmanager
def contract_daemon() -> Iterator[DaemonProcess]:
    """Run a complete daemon with the notes of the contract, all of them indexed."""
    with StateHome(agents_config(Path("/nowhere"))) as home:
        home.note("MEMORY.md", "# Gateway\n\nThe staging gateway listens on port 4711.\n")
        for number in range(NOTES):
            home.note(f"memory/note-{number}.md", f"# Note {number}\n\n" + f"Word{number} here.\n" * 40)
        with DaemonProcess(home) as running:
            with running.client() as client:
                client.index()  # on a busy machine a search of a fresh daemon doesn't wait for all of it
            yield running


class DaemonContract:
    """The part of the contract that needs a complete daemon."""

    def make_client(self, path: Path, **options: Any) -> Any:
        """Return a client with the methods of `blocking.Client`."""
        raise NotImplementedError

    @pytest.fixture
    def client(self, daemon: DaemonProcess) -> Iterator[Any]:
        """A client of that daemon."""
        with self.make_client(daemon.home.socket) as client:
            yield client

    def test_daemon_answers_every_request(self, client: Any) -> None:
        assert client.index().agents[0].files == NOTES + 1
        assert client.search("staging gateway port").hits[0].path == "MEMORY.md"
        assert client.get("MEMORY.md", from_line=3, lines=1).text.startswith("The staging gateway")
        assert [row.files for row in client.status().agents] == [NOTES + 1]
        assert "search" in client.hello().capabilities

    def test_indexing_reports_progress_and_its_reply(self, client: Any) -> None:
        with client.follow(requests.index(force=True)) as steps:
            stages = {step.stage for step in steps}
        assert "text" in stages
        assert steps.reply.agents[0].files_changed == NOTES + 1

    def test_abandoned_request_leaves_the_connection_usable(self, client: Any) -> None:
        with client.follow(requests.index(force=True)) as steps:
            next(steps)
        with pytest.raises(RequestCancelledError):
            _ = steps.reply
        assert client.search("staging gateway port").hits
        assert client.status().connections == 1

    def test_stopped_daemon_costs_only_a_deadline(self, daemon: DaemonProcess) -> None:
        with self.make_client(daemon.home.socket, timeout_s=0.2) as client:
            client.hello()
            os.kill(daemon.pid, signal.SIGSTOP)
            try:
                with pytest.raises(DeadlineExceededError):
                    client.search("gateway")
            finally:
                os.kill(daemon.pid, signal.SIGCONT)
            wait_until(lambda: _answers(client))
            assert client.search("gateway").hits

    def test_errors_are_raised_as_the_class_of_their_code(self, client: Any) -> None:
        with pytest.raises(AgentUnknownError):
            client.search("x", agent="nobody")
        with pytest.raises(PathRefusedError):
            client.get("../openclaw.json")
        with pytest.raises(BadParamsError, match="max_results"):
            client.search("x", max_results=0)

    def test_two_requests_can_run_concurrently(self, client: Any) -> None:
        with ThreadPoolExecutor(2) as pool:
            replies = list(pool.map(client.search, ["staging gateway", "Word7"]))
        assert [reply.hits[0].path for reply in replies] == ["MEMORY.md", "memory/note-7.md"]

    def test_client_reconnects_after_the_daemon_was_killed(self, daemon: DaemonProcess) -> None:
        with self.make_client(daemon.home.socket) as client:
            before = client.hello().pid
            daemon.kill()
            with pytest.raises((DaemonUnreachableError, ConnectionLostError)):
                client.hello()
            daemon.start()
            assert client.search("staging gateway port").hits
            assert client.hello().pid == daemon.pid != before

    def test_closed_client_sends_no_requests(self, client: Any) -> None:
        client.hello()
        client.close()
        assert repr(client).endswith("closed>")


def _answers(client: Any) -> bool:
    """Return whether the daemon answers in time."""
    try:
        client.hello()
    except DeadlineExceededError:
        return False
    return True
