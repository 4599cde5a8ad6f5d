"""What every client of memd promises, whichever loop it runs on.

A test module subclasses `ClientContract` and says how its client is made; a client that isn't blocking
is driven through a small blocking shell there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client.errors import (
    AgentUnknownError,
    BadParamsError,
    DaemonUnreachableError,
    DeadlineExceededError,
    MemdError,
    MemoryDisabledError,
    PathRefusedError,
)
from memd_client.messages import Progress
from tests.support.sockets import ServerThread, short_directory


class ClientContract:
    """The promises."""

    def make_client(self, path: Path, **options: Any) -> Any:
        """Return a client with the methods of `blocking.Client`."""
        raise NotImplementedError

    @pytest.fixture
    def server(self) -> Iterator[ServerThread]:
        """A real server over a fake memory."""
        with short_directory() as directory, ServerThread(directory / "s") as server:
            yield server

    @pytest.fixture
    def client(self, server: ServerThread) -> Iterator[Any]:
        """A client of that server."""
        with self.make_client(server.path) as client:
            yield client

    def test_every_request_answers_its_type(self, client: Any) -> None:
        assert client.hello().version == "9.9"
        status = client.status(deep=True)
        assert [row.agent for row in status.agents] == ["main", "other"]
        assert status.models[0].state == "ready"
        assert "memd_requests_total" in {metric.name for metric in client.metrics().metrics}
        assert client.search("a question", max_results=3).hits[0].snippet == "a question"
        assert client.get("MEMORY.md").text == "one\n"
        assert client.embed(["a", "b"]).count == 2
        assert client.model("minilm").path == "/models/minilm"
        assert [row.agent for row in client.index(force=True).agents] == ["main", "other"]

    def test_the_clients_agent_is_meant_where_none_is_named(self, server: ServerThread) -> None:
        with self.make_client(server.path, agent="other") as client:
            assert client.search("x").agent == "other"
            assert client.search("x", agent="main").agent == "main"
            assert client.get("MEMORY.md").agent == "other"
            assert [row.agent for row in client.index().agents] == ["other"]

    def test_an_error_is_raised_as_the_class_of_its_code(self, client: Any) -> None:
        with pytest.raises(AgentUnknownError, match="nobody") as caught:
            client.search("x", agent="nobody")
        assert caught.value.hint == AgentUnknownError.hint
        with pytest.raises(MemoryDisabledError):
            client.search("x", agent="off")
        with pytest.raises(PathRefusedError):
            client.get("../secret")
        with pytest.raises(BadParamsError, match="max_results"):
            client.search("x", max_results=0)
        with pytest.raises(BadParamsError, match="`query` must be str, not int"):
            client.search(3)

    def test_a_crash_in_the_daemon_is_internal_and_tells_nothing(self, client: Any) -> None:
        with pytest.raises(MemdError) as caught:
            client.search("crash")
        assert caught.value.code == "internal"
        assert "secret" not in str(caught.value.to_wire())
        assert client.search("x").hits

    def test_progress_is_told_while_a_request_runs(self, client: Any) -> None:
        told: list[Progress] = []
        client.index("main", on_progress=told.append)
        assert [(item.stage, item.done, item.total, item.detail) for item in told] == [
            ("text", 1, 2, "a.md"),
            ("vectors", 2, 2, ""),
        ]

    def test_a_deadline_stops_the_request_and_keeps_the_connection(self, server: ServerThread) -> None:
        with self.make_client(server.path, timeout_s=0.2) as client:
            client.search("x")
            with pytest.raises(DeadlineExceededError):
                client.search("wait")
            server.wait_until(lambda: server.memory.main.cancelled == 1)
            assert client.search("x").hits
            assert server.facts.connections() == 1

    def test_nobody_listening_is_named(self) -> None:
        with (
            short_directory() as directory,
            self.make_client(directory / "s") as client,
            pytest.raises(DaemonUnreachableError, match=str(directory)),
        ):
            client.status()

    def test_a_client_survives_the_daemons_restart(self) -> None:
        with short_directory() as directory:
            with ServerThread(directory / "s"):
                client = self.make_client(directory / "s")
                assert client.search("before").hits
            with pytest.raises(DaemonUnreachableError):
                client.search("between")
            with ServerThread(directory / "s"):
                assert client.search("after").hits
                client.close()
