"""The contract of every client of memd, for all event loops.

A test module subclasses `ClientContract` and implements how its client is created; an asynchronous client is driven
through a blocking wrapper of `tests.support.blocking_clients`.
"""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memd.rpc.limits import Limits
from memd_client.errors import (
    AgentUnknownError,
    BadParamsError,
    ConnectionLostError,
    DaemonUnreachableError,
    DeadlineExceededError,
    MemdError,
    MemoryDisabledError,
    PathRefusedError,
    TooManyConnectionsError,
)
from memd_client.messages import Progress
from tests.contracts.client_served import ServedClient
from tests.support.scripted_daemon import ScriptedDaemon, ScriptedPeer
from tests.support.sockets import ServerThread, short_directory


class ClientContract(ServedClient):
    """The contract, tested against a real server over a fake memory."""

    def test_every_request_returns_its_reply_type(self, client: Any) -> None:
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

    def test_default_agent_of_the_client_is_used(self, server: ServerThread) -> None:
        with self.make_client(server.path, agent="other") as client:
            assert client.search("x").agent == "other"
            assert client.search("x", agent="main").agent == "main"
            assert client.get("MEMORY.md").agent == "other"
            assert [row.agent for row in client.index().agents] == ["other"]

    def test_search_of_several_agents_covers_all_by_default(self, server: ServerThread) -> None:
        with self.make_client(server.path, agent="other") as client:
            reply = client.search_agents("x", max_results=5)
            assert [(hit.agent, hit.snippet) for hit in reply.hits] == [("main", "x"), ("other", "x")]
            assert [row.agent for row in client.search_agents("x", agents=["main"]).agents] == ["main"]

    def test_error_is_raised_as_the_class_of_its_code(self, client: Any) -> None:
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

    def test_exception_in_the_daemon_raises_an_internal_error_without_details(self, client: Any) -> None:
        with pytest.raises(MemdError) as caught:
            client.search("crash")
        assert caught.value.code == "internal"
        assert "secret" not in str(caught.value.to_wire())
        assert client.search("x").hits

    def test_progress_is_reported_while_a_request_runs(self, client: Any) -> None:
        told: list[Progress] = []
        client.index("main", on_progress=told.append)
        assert [(item.stage, item.done, item.total, item.detail) for item in told] == [
            ("text", 1, 2, "a.md"),
            ("vectors", 2, 2, ""),
        ]

    def test_deadline_cancels_the_request_and_keeps_the_connection(self, server: ServerThread) -> None:
        with self.make_client(server.path, timeout_s=0.2) as client:
            client.search("x")
            with pytest.raises(DeadlineExceededError):
                client.search("wait")
            server.wait_until(lambda: server.memory.main.cancelled == 1)
            assert client.search("x").hits
            assert server.daemon.open_connections == 1

    def test_missing_daemon_is_reported(self) -> None:
        with (
            short_directory() as directory,
            self.make_client(directory / "s") as client,
            pytest.raises(DaemonUnreachableError, match=str(directory)),
        ):
            client.status()

    def test_daemon_that_exits_during_hello_is_reported_as_missing(self) -> None:
        def die(connection: socket.socket) -> None:
            ScriptedPeer(connection).read()
            daemon.listener.close()
            connection.shutdown(socket.SHUT_RDWR)

        with (
            short_directory() as directory,
            ScriptedDaemon(directory / "s", die) as daemon,
            self.make_client(directory / "s") as client,
            pytest.raises(DaemonUnreachableError),
        ):
            client.status()

    def test_client_reconnects_after_a_restart_of_the_daemon(self) -> None:
        with short_directory() as directory:
            with ServerThread(directory / "s"):
                client = self.make_client(directory / "s")
                assert client.search("before").hits
            with pytest.raises(DaemonUnreachableError):
                client.search("between")
            with ServerThread(directory / "s"):
                assert client.search("after").hits
                client.close()

    def test_requests_run_concurrently_on_one_connection(self, client: Any, server: ServerThread) -> None:
        with ThreadPoolExecutor(2) as pool:
            replies = list(pool.map(client.search, ["pair", "pair"]))  # each waits for the other
        assert [reply.hits[0].snippet for reply in replies] == ["pair", "pair"]
        assert server.daemon.open_connections == 1

    def test_each_request_gets_its_own_reply(self, client: Any, server: ServerThread) -> None:
        def ask(number: int) -> None:
            for turn in range(15):
                query = f"big {number * 700 + turn + 1}" if turn % 5 == 0 else f"{number} {turn}"
                snippet = client.search(query).hits[0].snippet
                assert snippet == query or len(snippet) == number * 700 + turn + 1

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(ask, range(8)))
        assert server.daemon.open_connections == 1

    def test_large_frames_pass_both_ways(self, client: Any) -> None:
        assert client.embed(["x" * 4_000_000]).count == 1
        assert len(client.search("big 4000000").hits[0].snippet) == 4_000_000

    def test_client_reconnects_after_an_idle_connection_was_closed(self) -> None:
        with (
            short_directory() as directory,
            ServerThread(directory / "s", limits=Limits(idle_s=0.05)) as server,
            self.make_client(server.path) as client,
        ):
            client.search("x")
            server.wait_until(lambda: server.daemon.open_connections == 0)
            assert client.search("y").hits

    def test_error_of_a_refused_connection_is_raised(self) -> None:
        with (
            short_directory() as directory,
            ServerThread(directory / "s", limits=Limits(connections=1)) as server,
            self.make_client(server.path) as first,
            self.make_client(server.path) as second,
        ):
            first.search("x")
            with pytest.raises(TooManyConnectionsError, match="1 connections"):
                second.search("x")
            assert first.search("x").hits

    def test_closing_ends_running_requests_and_refuses_new_ones(self, server: ServerThread) -> None:
        client = self.make_client(server.path)
        with ThreadPoolExecutor(2) as pool:
            under_way = [pool.submit(client.search, "wait") for _ in range(2)]
            server.wait_until(lambda: server.memory.main.waiting == 2)
            client.close()
            client.close()
            for future in under_way:
                with pytest.raises(ConnectionLostError):
                    future.result(20)
        assert repr(client).endswith("closed>")
        server.wait_until(lambda: server.memory.main.cancelled == 2)

    def test_daemon_that_hangs_at_hello_is_reported_in_time(self) -> None:
        with (
            short_directory() as directory,
            ScriptedDaemon(directory / "s", lambda connection: None),
            self.make_client(directory / "s", connect_timeout_s=0.1) as client,
            pytest.raises(DeadlineExceededError, match="accepted the connection but did not reply"),
        ):
            client.status()
