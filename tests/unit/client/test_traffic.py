"""What is on its way over a loop's connection, without a loop: no frame by half, no request given up in vain."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest

from memd_client.errors import ConnectionLostError, IdleTimeoutError
from memd_client.framing import FrameDecoder, encode_frame
from memd_client.traffic import MAX_UNSENT_BYTES, Traffic, Waiting

HELLO = {"protocol": 1, "version": "1", "pid": 2, "capabilities": [], "limits": {}}


class Paused:
    """Something to await that hands control back once."""

    def __await__(self) -> Any:
        yield


class FakeEvent:
    """An event of no loop: whoever waits for it hands control back."""

    def __init__(self) -> None:
        self.is_set = False

    def set(self) -> None:
        """Set it."""
        self.is_set = True

    async def wait(self) -> None:
        """Hand control back."""
        await Paused()


class Connection:
    """Traffic whose bytes go into a list, as many frames at a time as the test lets through."""

    def __init__(self) -> None:
        self.hung_up = 0
        self.traffic = Traffic(FakeEvent, self._hang_up)
        self.sent: list[Any] = []
        self._decoder = FrameDecoder()
        self._writing: Coroutine[Any, Any, None] = self.traffic.write(self._send)
        greeting = Waiting()
        self.traffic.greet(greeting)
        self.turn()
        self.arrive([1, greeting.id, None, HELLO])
        self.traffic.end(greeting)
        self.sent.clear()

    def _hang_up(self) -> None:
        self.hung_up += 1

    async def _send(self, data: bytes) -> None:
        await Paused()  # the first byte may be out
        self.sent += self._decoder.feed(data)

    def turn(self, times: int = 12) -> None:
        """Let the writing task go on a little."""
        for _ in range(times):
            try:
                self._writing.send(None)
            except StopIteration:
                return

    def arrive(self, *messages: Any) -> None:
        """Have the daemon say something, or hang up for none."""
        chunks = [b"".join(map(encode_frame, messages))]

        async def receive() -> bytes:
            if not chunks:
                await Paused()
            return chunks.pop()

        reading = self.traffic.read(receive)
        try:
            reading.send(None)
        except StopIteration:
            return
        reading.close()

    def ask(self, method: str = "status", **params: Any) -> Waiting:
        """Begin a request."""
        waiting = Waiting()
        self.traffic.begin(waiting, method, params)
        return waiting

    def close(self) -> None:
        """End the writing task."""
        self._writing.close()


@pytest.fixture
def connection() -> Any:
    made = Connection()
    yield made
    made.close()


def test_a_request_given_up_before_it_went_out_is_never_sent(connection: Connection) -> None:
    first, second = connection.ask(), connection.ask("search", query="never")
    connection.traffic.end(second)
    connection.turn()
    assert [message[1:3] for message in connection.sent] == [[first.id, "status"]]
    assert repr(connection.traffic) == "<Traffic 1 waiting, <ClientSession ready, 1 waiting, 0 abandoned>>"


def test_a_request_given_up_while_it_goes_out_is_sent_whole_and_cancelled(connection: Connection) -> None:
    asked = connection.ask("search", query="late")
    connection.turn(1)
    assert asked.sent
    assert connection.sent == []
    connection.traffic.end(asked)
    connection.turn()
    assert [message[2:] for message in connection.sent] == [
        ["search", {"query": "late"}],
        ["cancel", {"id": asked.id}],
    ]


def test_ending_twice_cancels_once(connection: Connection) -> None:
    asked = connection.ask()
    connection.turn()
    connection.traffic.end(asked)
    connection.traffic.end(asked)
    connection.turn()
    assert [message[2] for message in connection.sent] == ["status", "cancel"]


def test_an_answered_request_needs_no_cancelling(connection: Connection) -> None:
    asked = connection.ask()
    connection.turn()
    connection.arrive([1, asked.id, None, {"a": 1}])
    connection.traffic.end(asked)
    connection.turn()
    assert asked.result() == {"a": 1}
    assert [message[2] for message in connection.sent] == ["status"]


def test_a_daemon_that_takes_nothing_is_given_up_before_it_costs_much(connection: Connection) -> None:
    text = "x" * 15_000_000
    asked = [connection.ask("embed", texts=[text]) for _ in range(MAX_UNSENT_BYTES // len(text))]
    assert connection.traffic.broken is None
    connection.ask("embed", texts=[text])
    assert connection.hung_up == 1
    with pytest.raises(ConnectionLostError, match="takes no data"):
        connection.traffic.check(asked[0])


def test_a_broken_connection_wakes_all_and_tells_each_whether_its_request_went_out(
    connection: Connection,
) -> None:
    went_out = connection.ask()
    connection.turn()
    kept_back = connection.ask()
    went_out.event, kept_back.event = FakeEvent(), FakeEvent()
    connection.arrive([1, 0, IdleTimeoutError("silent").to_wire(), None])
    assert went_out.event.is_set
    assert kept_back.event.is_set
    for waiting, said in ((went_out, {}), (kept_back, {"sent": False})):
        with pytest.raises(IdleTimeoutError, match="silent") as caught:
            connection.traffic.check(waiting)
        assert caught.value.data == said
    with pytest.raises(IdleTimeoutError):
        connection.ask()
    connection.traffic.break_off(ConnectionLostError("later"))
    assert connection.hung_up == 1
