"""The contract of every client for progress, events and retries."""

from __future__ import annotations

import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memd_client import requests
from memd_client.errors import (
    AgentUnknownError,
    ConnectionLostError,
    DeadlineExceededError,
    RequestCancelledError,
    ShuttingDownError,
)
from memd_client.events import Event
from memd_client.inbox import MAX_STEPS
from memd_client.messages import GetParams, GetReply
from memd_client.prepared_request import PreparedRequest
from tests.contracts.client_served import ServedClient
from tests.support.scripted_daemon import ScriptedDaemon, ScriptedPeer
from tests.support.sockets import ServerThread, short_directory, wait_until


class StreamContract(ServedClient):
    """The contract, tested against a real server and against scripted servers."""

    # --- progress

    def test_streamed_request_yields_progress_and_then_its_reply(self, client: Any) -> None:
        with client.follow(requests.index("main", force=True)) as steps:
            told = [(step.stage, step.done) for step in steps]
        assert told == [("text", 1), ("vectors", 2)]
        assert steps.reply.agents[0].embedded == 4
        assert list(steps) == []

    def test_request_without_progress_can_be_streamed(self, client: Any) -> None:
        with client.follow(requests.search("x")) as steps:
            assert list(steps) == []
        assert steps.reply.hits[0].snippet == "x"

    def test_leaving_the_loop_early_cancels_the_request(self, client: Any, server: ServerThread) -> None:
        with client.follow(requests.search("wait")) as steps:
            server.wait_until(lambda: server.memory.main.waiting == 1)
        server.wait_until(lambda: server.memory.main.cancelled == 1)
        with pytest.raises(RequestCancelledError, match="search has no reply"):
            _ = steps.reply
        assert client.search("x").hits
        assert server.daemon.open_connections == 1

    def test_loop_ends_when_its_stream_is_closed(self, client: Any, server: ServerThread) -> None:
        with client.follow(requests.search("wait")) as steps, ThreadPoolExecutor(1) as pool:
            taking = pool.submit(list, steps)
            server.wait_until(lambda: server.memory.main.waiting == 1)
            steps.close()
            assert taking.result(20) == []
        server.wait_until(lambda: server.memory.main.cancelled == 1)

    def test_error_ends_the_loop_as_the_class_of_its_code(self, client: Any) -> None:
        with client.follow(requests.index("nobody")) as steps, pytest.raises(AgentUnknownError):
            list(steps)

    def test_unread_progress_does_not_block_other_requests(self, client: Any) -> None:
        with client.follow(requests.index("main")) as steps:
            next(steps)
            with ThreadPoolExecutor(4) as pool:
                replies = list(pool.map(client.search, [str(number) for number in range(40)]))
            assert [reply.hits[0].snippet for reply in replies] == [str(number) for number in range(40)]
            assert [step.stage for step in steps] == ["vectors"]

    # --- events of a scripted server

    def test_events_arrive_until_the_block_is_left(self) -> None:
        cancelled: list[Any] = []

        def tell(connection: socket.socket) -> None:
            peer = ScriptedPeer(connection).greet()
            _, request_id, method, params = peer.read()
            assert (method, params) == ("subscribe", {"agent": "main", "kinds": ["synced"]})
            for at_ms in (1, 2):
                fields = {
                    "id": request_id,
                    "kind": "synced",
                    "agent": "main",
                    "at_ms": at_ms,
                    "data": {"n": at_ms},
                }
                peer.tell("event", {**fields, "id": request_id + 70})  # of an unknown request
                peer.tell("event", {**fields, "new_field": 1})
                peer.tell("event", {"id": request_id})
                peer.tell("event", {**fields, "id": [request_id]})
            cancelled.append(peer.read()[2:])

        with (
            short_directory() as directory,
            ScriptedDaemon(directory / "s", tell),
            self.make_client(directory / "s") as client,
        ):
            with client.subscribe("main", ["synced"]) as events:
                first, second = next(events), next(events)
            assert [first, second] == [
                Event(first.id, "synced", "main", 1, {"n": 1}),
                Event(first.id, "synced", "main", 2, {"n": 2}),
            ]
            assert list(events) == []
            wait_until(lambda: cancelled)
        assert cancelled == [["cancel", {"id": first.id}]]

    def test_subscription_outlives_the_clients_timeout(self) -> None:
        def tell(connection: socket.socket) -> None:
            peer = ScriptedPeer(connection).greet()
            request_id = peer.read()[1]
            late = peer.read()[1]  # another request, which times out
            assert peer.read()[2:] == ["cancel", {"id": late}]
            peer.tell("event", {"id": request_id, "kind": "synced", "agent": "main", "at_ms": 1, "data": {}})
            peer.answer(request_id, {"events": 1, "dropped": 0})

        with (
            short_directory() as directory,
            ScriptedDaemon(directory / "s", tell),
            self.make_client(directory / "s", timeout_s=0.05) as client,
            client.subscribe() as events,
        ):
            with pytest.raises(DeadlineExceededError):
                client.search("x")
            assert [event.at_ms for event in events] == [1]
            assert events.reply.events == 1

    def test_subscription_is_not_renewed_silently(self) -> None:
        def tell(connection: socket.socket) -> None:
            peer = ScriptedPeer(connection).greet()
            request_id = peer.read()[1]
            peer.tell("event", {"id": request_id, "kind": "synced", "agent": "main", "at_ms": 1, "data": {}})
            peer.close()

        with (
            short_directory() as directory,
            ScriptedDaemon(directory / "s", tell),
            self.make_client(directory / "s") as client,
            client.subscribe() as events,
        ):
            assert next(events).at_ms == 1
            with pytest.raises(ConnectionLostError):
                next(events)
            assert list(events) == []

    def test_stopping_daemon_ends_a_subscription_with_an_error(self) -> None:
        def tell(connection: socket.socket) -> None:
            peer = ScriptedPeer(connection).greet()
            peer.refuse(peer.read()[1], "shutting_down")

        with (
            short_directory() as directory,
            ScriptedDaemon(directory / "s", tell),
            self.make_client(directory / "s") as client,
            client.subscribe() as events,
            pytest.raises(ShuttingDownError),
        ):
            next(events)

    def test_unread_events_are_dropped_oldest_first_and_counted(self) -> None:
        def tell(connection: socket.socket) -> None:
            peer = ScriptedPeer(connection).greet()
            request_id = peer.read()[1]
            other = peer.read()[1]
            for at_ms in range(MAX_STEPS + 3):
                peer.tell(
                    "event", {"id": request_id, "kind": "x", "agent": "main", "at_ms": at_ms, "data": {}}
                )
            peer.answer(
                other,
                {"agent": "main", "path": "a", "text": "", "from_line": 1, "lines": 0, "total_lines": 0},
            )
            peer.read()

        with (
            short_directory() as directory,
            ScriptedDaemon(directory / "s", tell),
            self.make_client(directory / "s") as client,
            client.subscribe() as events,
        ):
            client.get("a")
            assert next(events).at_ms == 3
            assert events.dropped == 3

    # --- retries

    def test_request_on_a_broken_connection_is_retried_once(self) -> None:
        asked: list[str] = []

        def break_at_request(connection: socket.socket) -> None:
            peer = ScriptedPeer(connection).greet()
            asked.append(peer.read()[2])
            peer.close()

        with (
            short_directory() as directory,
            ScriptedDaemon(directory / "s", break_at_request, break_at_request),
            self.make_client(directory / "s") as client,
        ):
            with pytest.raises(ConnectionLostError):
                client.search("x")
            assert asked == ["search", "search"]

    def test_non_idempotent_request_is_not_retried(self) -> None:
        asked: list[str] = []

        def break_at_request(connection: socket.socket) -> None:
            peer = ScriptedPeer(connection).greet()
            asked.append(peer.read()[2])
            peer.close()

        once = PreparedRequest("get", GetParams(path="a"), GetReply, repeatable=False)
        with (
            short_directory() as directory,
            ScriptedDaemon(directory / "s", break_at_request),
            self.make_client(directory / "s") as client,
        ):
            with pytest.raises(ConnectionLostError):
                client.request(once)
            assert asked == ["get"]

    def test_unsent_request_is_retried_even_if_not_idempotent(self) -> None:
        once = PreparedRequest("get", GetParams(path="a"), GetReply, repeatable=False)
        reply = {"agent": "main", "path": "a", "text": "t", "from_line": 1, "lines": 1, "total_lines": 1}
        closed = threading.Event()

        def leave(connection: socket.socket) -> None:
            peer = ScriptedPeer(connection).greet()
            peer.answer(peer.read()[1], reply)
            connection.shutdown(socket.SHUT_RDWR)
            closed.set()

        def serve(connection: socket.socket) -> None:
            peer = ScriptedPeer(connection).greet()
            peer.answer(peer.read()[1], reply)

        with (
            short_directory() as directory,
            ScriptedDaemon(directory / "s", leave, serve),
            self.make_client(directory / "s") as client,
        ):
            client.request(once)
            assert closed.wait(120)
            assert client.request(once).text == "t"
