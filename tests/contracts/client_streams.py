"""What every client promises of steps and events, and of what it sends twice."""

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
    """The promises, held against a real server and against scripts of what no server does yet."""

    # --- steps

    def test_following_a_request_gives_its_steps_and_then_its_reply(self, client: Any) -> None:
        with client.follow(requests.index("main", force=True)) as steps:
            told = [(step.stage, step.done) for step in steps]
        assert told == [("text", 1), ("vectors", 2)]
        assert steps.reply.agents[0].embedded == 4
        assert list(steps) == []

    def test_a_request_without_steps_may_be_followed(self, client: Any) -> None:
        with client.follow(requests.search("x")) as steps:
            assert list(steps) == []
        assert steps.reply.hits[0].snippet == "x"

    def test_leaving_the_loop_early_cancels_the_request_and_there_is_no_reply(
        self, client: Any, server: ServerThread
    ) -> None:
        with client.follow(requests.search("wait")) as steps:
            server.wait_until(lambda: server.memory.main.waiting == 1)
        server.wait_until(lambda: server.memory.main.cancelled == 1)
        with pytest.raises(RequestCancelledError, match="search has no reply"):
            _ = steps.reply
        assert client.search("x").hits
        assert server.daemon.open_connections == 1

    def test_a_loop_ends_when_its_steps_are_closed_from_elsewhere(
        self, client: Any, server: ServerThread
    ) -> None:
        with client.follow(requests.search("wait")) as steps, ThreadPoolExecutor(1) as pool:
            taking = pool.submit(list, steps)
            server.wait_until(lambda: server.memory.main.waiting == 1)
            steps.close()
            assert taking.result(20) == []
        server.wait_until(lambda: server.memory.main.cancelled == 1)

    def test_an_error_ends_the_loop_as_the_class_of_its_code(self, client: Any) -> None:
        with client.follow(requests.index("nobody")) as steps, pytest.raises(AgentUnknownError):
            list(steps)

    def test_steps_that_nobody_takes_hinder_no_other_request(self, client: Any) -> None:
        with client.follow(requests.index("main")) as steps:
            next(steps)
            with ThreadPoolExecutor(4) as pool:
                replies = list(pool.map(client.search, [str(number) for number in range(40)]))
            assert [reply.hits[0].snippet for reply in replies] == [str(number) for number in range(40)]
            assert [step.stage for step in steps] == ["vectors"]

    # --- events, told by a script

    def test_events_come_as_they_happen_until_the_block_is_left(self) -> None:
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
                peer.tell("event", {**fields, "id": request_id + 70})  # of a request nobody made
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

    def test_a_subscription_outlives_the_clients_patience(self) -> None:
        def tell(connection: socket.socket) -> None:
            peer = ScriptedPeer(connection).greet()
            request_id = peer.read()[1]
            late = peer.read()[1]  # a request beside it, which is late and given up
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

    def test_a_subscription_is_not_taken_up_again_in_silence(self) -> None:
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

    def test_a_stopping_daemon_says_so_to_a_subscriber(self) -> None:
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

    def test_events_nobody_takes_are_dropped_the_oldest_first_and_counted(self) -> None:
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

    # --- what may be sent twice

    def test_a_request_is_sent_again_once_after_its_connection_broke(self) -> None:
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

    def test_a_request_that_must_not_be_done_twice_is_not_sent_twice(self) -> None:
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

    def test_a_request_that_never_went_out_is_sent_again_even_so(self) -> None:
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
            assert closed.wait(20)
            assert client.request(once).text == "t"
