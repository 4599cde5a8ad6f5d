"""One peer: every limit, every wrong word, and that no request harms another. In memory, time a parameter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
import trio
from trio.testing import MockClock, memory_stream_pair

from memd.agents.registry import AgentRegistry
from memd.rpc.call import DaemonContext
from memd.rpc.connection import Connection
from memd.rpc.limits import Limits
from memd_client.errors import QueryEmptyError
from memd_client.framing import FrameDecoder, encode_frame
from tests.support.registry import FakeRegistry


class Peer:
    """The far end of a connection under test."""

    def __init__(
        self, stream: trio.StapledStream[Any, Any], connection: Connection, registry: FakeRegistry
    ) -> None:
        self.stream = stream
        self.connection = connection
        self.registry = registry
        self._decoder = FrameDecoder()
        self._messages: list[Any] = []

    async def send(self, *message: Any) -> None:
        """Send one message."""
        await self.stream.send_all(encode_frame(list(message)))

    async def read(self) -> Any:
        """Return the next message, None when the connection was closed."""
        while not self._messages:
            data = await self.stream.receive_some()
            if not data:
                return None
            self._messages += self._decoder.feed(bytes(data))
        return self._messages.pop(0)

    async def greet(self) -> None:
        """Say hello."""
        await self.send(0, 9999, "hello", {"protocol": 1})
        reply = await self.read()
        assert reply[2] is None, reply

    async def settle(self) -> None:
        """Wait until nothing moves any more."""
        await trio.testing.wait_all_tasks_blocked()


@asynccontextmanager
async def connected(**limits: Any) -> AsyncIterator[Peer]:
    """Serve a peer over memory streams inside the block."""
    registry = FakeRegistry()
    ours, theirs = memory_stream_pair()
    daemon = DaemonContext(version="1", started=0.0, socket="/s", limits=Limits(**limits))
    connection = Connection(theirs, cast(AgentRegistry, registry), daemon)
    with trio.fail_after(100_000):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(connection.run)
            yield Peer(ours, connection, registry)
            await ours.aclose()


def code(message: Any) -> str:
    """Return the error code of a response."""
    assert message[0] == 1
    return str(message[2]["code"])


async def test_a_request_before_hello_is_refused_and_hello_may_follow(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        await peer.send(0, 1, "search", {"query": "x"})
        reply = await peer.read()
        assert (reply[1], code(reply)) == (1, "hello_required")
        await peer.greet()


async def test_hello_tells_versions_capabilities_and_limits(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        await peer.send(0, 1, "hello", {"protocol": 1, "client": "x", "version": "0", "from_the_future": 1})
        kind, request_id, error, result = await peer.read()
        assert (kind, request_id, error) == (1, 1, None)
        assert result["protocol"] == 1
        assert {"search", "get", "cancel", "progress"} <= set(result["capabilities"])
        assert result["limits"] == {"frame_bytes": 16777216, "requests_per_connection": 64, "idle_s": 600}


async def test_another_protocol_version_is_refused_with_both_named(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        await peer.send(0, 1, "hello", {"protocol": 7})
        reply = await peer.read()
        assert code(reply) == "protocol_mismatch"
        assert (reply[2]["data"]["client"], reply[2]["data"]["daemon"]) == (7, 1)
        await peer.send(0, 2, "status", {})
        assert code(await peer.read()) == "hello_required"


async def test_requests_sent_together_with_hello_are_served(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        hello = encode_frame([0, 1, "hello", {"protocol": 1}])
        await peer.stream.send_all(hello + encode_frame([0, 2, "search", {"query": "x"}]))
        assert [(await peer.read())[1] for _ in range(2)] == [1, 2]


@pytest.mark.parametrize(
    "data",
    [
        b"\0\0\0\1\xc1",
        b"GET / HTTP/1.1\r\n\r\n",
        (16 * 1024 * 1024 + 1).to_bytes(4, "big"),
        encode_frame("hello"),
        encode_frame([0, 1, "status"]),
        encode_frame([0, 0, "status", {}]),
        encode_frame([0, -1, "status", {}]),
        encode_frame([0, 2**32, "status", {}]),
        encode_frame([0, "1", "status", {}]),
        encode_frame([0, True, "status", {}]),
        encode_frame([0, 1, 2, {}]),
        encode_frame([1, 1, None, {}]),
        encode_frame({"method": "status"}),
    ],
    ids=str,
)
async def test_what_is_not_the_protocol_gets_an_error_and_the_end(
    data: bytes, autojump_clock: MockClock
) -> None:
    async with connected() as peer:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "wait"})
        await peer.settle()
        await peer.stream.send_all(data)
        replies = []
        while (message := await peer.read()) is not None:
            replies.append(message)
        whole = [message for message in replies if message[1] == 0]
        assert [code(message) in ("frame_invalid", "frame_too_big") for message in whole] == [True]
        assert peer.registry.main.cancelled == 1


async def test_an_id_in_use_is_not_the_protocol(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "wait"})
        await peer.send(0, 1, "search", {"query": "wait"})
        assert "frame_invalid" in {code(await peer.read()), code(await peer.read())}


async def test_a_notification_of_a_newer_client_is_ignored(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        await peer.send(2, "news", {})
        await peer.greet()


async def test_an_unknown_request_is_refused_without_repeating_it_at_length(
    autojump_clock: MockClock,
) -> None:
    async with connected() as peer:
        await peer.greet()
        await peer.send(0, 1, "x" * 5000, {})
        reply = await peer.read()
        assert code(reply) == "method_unknown"
        assert len(str(reply)) < 400


async def test_requests_run_at_the_same_time(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "wait"})
        await peer.send(0, 2, "search", {"query": "quick"})
        assert (await peer.read())[1] == 2
        assert repr(peer.connection) == "<Connection 0 greeted, 1 in flight, <Outbox 0 frames, 0 bytes>>"


async def test_cancel_stops_the_request_which_says_so_itself(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "wait"})
        await peer.settle()
        await peer.send(0, 2, "cancel", {"id": 1})
        replies = {message[1]: message for message in [await peer.read(), await peer.read()]}
        assert code(replies[1]) == "cancelled"
        assert replies[2][3] == {"cancelled": True}
        assert peer.registry.main.cancelled == 1
        for request_id in (1, 2, 3, 77):  # over, over, itself, never was
            await peer.send(0, 3, "cancel", {"id": request_id})
            assert (await peer.read())[3] == {"cancelled": False}


async def test_a_crash_is_internal_tells_nothing_and_harms_no_other_request(
    autojump_clock: MockClock,
) -> None:
    async with connected() as peer:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "wait"})
        await peer.send(0, 2, "search", {"query": "crash"})
        reply = await peer.read()
        assert (reply[1], code(reply)) == (2, "internal")
        assert "secret" not in str(reply)
        assert "Traceback" not in str(reply)
        await peer.send(0, 3, "search", {"query": "x"})
        assert (await peer.read())[1] == 3
        assert peer.registry.main.waiting == 1


async def test_a_group_of_one_error_is_that_error(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        peer.registry.main.failure = ExceptionGroup("from a nursery", [QueryEmptyError("nothing asked")])
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "x"})
        assert code(await peer.read()) == "query_empty"


async def test_requests_over_the_limit_are_rejected_until_one_is_cancelled(autojump_clock: MockClock) -> None:
    async with connected(requests_per_connection=2) as peer:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "wait"})
        await peer.send(0, 2, "search", {"query": "wait"})
        await peer.send(0, 3, "search", {"query": "x"})
        reply = await peer.read()
        assert (reply[1], code(reply)) == (3, "too_many_requests")
        await peer.send(0, 4, "cancel", {"id": 1})
        assert {(await peer.read())[1], (await peer.read())[1]} == {1, 4}
        await peer.send(0, 5, "search", {"query": "x"})
        assert (await peer.read())[1] == 5


async def test_progress_carries_the_requests_id_and_keeps_its_measure(autojump_clock: MockClock) -> None:
    async with connected() as peer:

        async def chatter(force: bool, progress: Any) -> Any:
            for done in range(1, 1001):
                progress("text", done, 1000, "x" * 1000)
            await trio.sleep(1)
            progress("vectors", 1, 0, "")
            return await original(force, lambda *_: None)

        original = peer.registry.main.index
        peer.registry.main.index = chatter  # type: ignore[method-assign]
        await peer.greet()
        await peer.send(0, 1, "index", {"agent": "main"})
        told = []
        while (message := await peer.read())[0] == 2:
            told.append(message)
        assert all(message[1] == "progress" and message[2]["id"] == 1 for message in told)
        assert [(m[2]["stage"], m[2]["done"]) for m in told] == [("text", 1), ("text", 1000), ("vectors", 1)]
        assert all(len(message[2]["detail"]) <= 300 for message in told)
        assert message[3]["agents"][0]["agent"] == "main"


async def test_the_requests_of_a_peer_that_left_are_cancelled(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "wait"})
        await peer.settle()
        await peer.stream.aclose()
        await peer.settle()
        assert (peer.registry.main.waiting, peer.registry.main.cancelled) == (0, 1)


async def test_a_peer_that_never_greets_gets_an_error_and_is_closed(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        start = trio.current_time()
        await trio.sleep(9)
        await peer.stream.send_all(b"\0\0")  # a byte now and then doesn't help
        reply = await peer.read()
        assert (reply[1], code(reply)) == (0, "idle_timeout")
        assert await peer.read() is None
        assert trio.current_time() - start == pytest.approx(10)


async def test_an_idle_peer_gets_an_error_and_is_closed(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        await peer.greet()
        await trio.sleep(400)
        await peer.send(0, 1, "search", {"query": "x"})
        await peer.read()
        start = trio.current_time()
        assert code(await peer.read()) == "idle_timeout"
        assert await peer.read() is None
        assert trio.current_time() - start == pytest.approx(600)


async def test_a_peer_that_waits_for_us_is_not_idle(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "wait"})
        await trio.sleep(5000)
        await peer.send(0, 2, "cancel", {"id": 1})
        assert {(await peer.read())[1], (await peer.read())[1]} == {1, 2}
        start = trio.current_time()
        assert code(await peer.read()) == "idle_timeout"
        assert trio.current_time() - start == pytest.approx(600)


async def test_a_draining_connection_lets_requests_end(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "pair"})
        await peer.settle()
        peer.connection.drain()
        await trio.sleep(3)
        peer.registry.main._paired.set()
        assert (await peer.read())[3]["hits"]
        assert await peer.read() is None


async def test_a_draining_connection_stops_what_takes_too_long(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        await peer.greet()
        await peer.send(0, 1, "search", {"query": "wait"})
        await peer.settle()
        start = trio.current_time()
        peer.connection.drain()
        reply = await peer.read()
        assert (reply[1], code(reply)) == (1, "shutting_down")
        assert trio.current_time() - start == pytest.approx(5)
        assert await peer.read() is None


async def test_a_reply_msgpack_cannot_carry_is_internal(autojump_clock: MockClock) -> None:
    async with connected() as peer:
        peer.registry.sqlite_vec = object()  # type: ignore[assignment]
        await peer.greet()
        await peer.send(0, 1, "status", {})
        assert code(await peer.read()) == "internal"
