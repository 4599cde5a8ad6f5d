"""The protocol of a client without a socket: greeting, replies, events, and bytes in both directions."""

from __future__ import annotations

import tomllib
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from memd_client.async_connection import MAX_UNSENT_BYTES, AsyncConnection, AsyncExchange
from memd_client.errors import (
    AgentUnknownError,
    BadParamsError,
    ConnectionLostError,
    FrameInvalidError,
    HelloRequiredError,
    IdleTimeoutError,
    ProtocolMismatchError,
    RequestCancelledError,
)
from memd_client.events import Event
from memd_client.framing import FrameDecoder, encode_frame
from memd_client.inbox import MAX_STEPS, Inbox, copy_error, describe_break
from memd_client.messages import Progress
from memd_client.session import (
    CLIENT_VERSION,
    LAST_ID,
    ClientSession,
    EventArrival,
    Failure,
    ProgressArrival,
    Reply,
)

HELLO = {"protocol": 1, "version": "1", "pid": 2, "capabilities": [], "limits": {}}


def greeted(first_id: int = 1) -> ClientSession:
    session = ClientSession(first_id=first_id)
    request_id, _ = session.hello()
    assert session.receive(encode_frame([1, request_id, None, HELLO])) == [Reply(request_id, HELLO)]
    return session


def sent(data: bytes) -> Any:
    (message,) = FrameDecoder().feed(data)
    return message


def test_hello_comes_first_and_sends_the_protocol_version() -> None:
    session = ClientSession()
    with pytest.raises(HelloRequiredError):
        session.request("status", {})
    _, data = session.hello("/state")
    params = {"protocol": 1, "client": "memd-client", "version": CLIENT_VERSION, "state_dir": "/state"}
    assert sent(data) == [0, 1, "hello", params]
    assert repr(session) == "<ClientSession greeting, 1 waiting, 0 abandoned>"
    with pytest.raises(HelloRequiredError):
        session.request("status", {})
    session.receive(encode_frame([1, 1, None, HELLO]))
    assert session.daemon is not None
    assert session.daemon.pid == 2
    with pytest.raises(ConnectionLostError):
        session.hello()


@pytest.mark.parametrize(
    ("response", "kind"),
    [
        ([1, 1, None, {**HELLO, "protocol": 2}], ProtocolMismatchError),
        ([1, 1, ProtocolMismatchError("no").to_wire(), None], ProtocolMismatchError),
        ([1, 1, None, {"protocol": 1}], FrameInvalidError),
        ([1, 1, None, None], FrameInvalidError),
    ],
)
def test_a_greeting_that_fails_closes_the_session(response: Any, kind: type[Exception]) -> None:
    session = ClientSession()
    session.hello()
    (event,) = session.receive(encode_frame(response))
    assert isinstance(event, Failure)
    assert type(event.error) is kind
    assert session.state == "closed"


def test_an_error_comes_back_as_the_class_of_its_code() -> None:
    session = greeted()
    request_id, _ = session.request("search", {"query": "x"})
    error = AgentUnknownError("no agent x").to_wire()
    (event,) = session.receive(encode_frame([1, request_id, error, None]))
    assert isinstance(event, Failure)
    assert type(event.error) is AgentUnknownError
    assert event.error.hint == AgentUnknownError.hint


def test_an_error_with_id_0_is_of_the_connection() -> None:
    (event,) = greeted().receive(encode_frame([1, 0, IdleTimeoutError("silent").to_wire(), None]))
    assert isinstance(event, Failure)
    assert (event.id, type(event.error)) == (0, IdleTimeoutError)


def test_progress_reaches_only_waiting_requests() -> None:
    session = greeted()
    request_id, _ = session.request("index", {})
    progress_of = {"id": request_id, "stage": "text", "done": 1, "total": 2, "detail": "", "new": 1}
    assert session.receive(encode_frame([2, "progress", progress_of])) == [
        ProgressArrival(request_id, Progress(request_id, "text", 1, 2))
    ]
    assert session.receive(encode_frame([2, "progress", {**progress_of, "id": 77}])) == []
    assert session.receive(encode_frame([2, "progress", {"id": request_id}])) == []
    assert session.receive(encode_frame([2, "progress", {**progress_of, "id": [request_id]}])) == []
    assert session.receive(encode_frame([2, "news", {}])) == []


def test_an_event_reaches_only_an_open_subscription() -> None:
    session = greeted()
    request_id, _ = session.request("subscribe", {})
    progress_of = {
        "id": request_id,
        "kind": "synced",
        "agent": "main",
        "at_ms": 5,
        "data": {"files": 1},
        "new": 1,
    }
    event = Event(request_id, "synced", "main", 5, {"files": 1})
    assert session.receive(encode_frame([2, "event", progress_of])) == [EventArrival(request_id, event)]
    assert session.receive(encode_frame([2, "event", {**progress_of, "id": 77}])) == []
    assert session.receive(encode_frame([2, "event", {**progress_of, "id": [1]}])) == []
    assert session.receive(encode_frame([2, "event", {"id": request_id}])) == []
    session.cancel(request_id)
    assert session.receive(encode_frame([2, "event", progress_of])) == []


def test_the_reply_to_a_cancelled_request_is_ignored() -> None:
    session = greeted()
    request_id, _ = session.request("index", {})
    kind, cancel_id, method, params = sent(session.cancel(request_id))
    assert (kind, method, params) == (0, "cancel", {"id": request_id})
    assert session.cancel(request_id) == b""
    assert repr(session) == "<ClientSession ready, 0 waiting, 2 abandoned>"
    assert session.receive(encode_frame([1, cancel_id, None, {"cancelled": True}])) == []
    assert session.receive(encode_frame([1, request_id, {"code": "cancelled"}, None])) == []
    assert repr(session) == "<ClientSession ready, 0 waiting, 0 abandoned>"


@pytest.mark.parametrize(
    "message", [1, [], [1, 99, None, {}], [1, "a", None, {}], [0, 1, "x", {}], [2, 3, {}], [3, 1]]
)
def test_bytes_outside_the_protocol_close_the_session(message: Any) -> None:
    session = greeted()
    with pytest.raises(FrameInvalidError):
        session.receive(encode_frame(message))
    assert session.state == "closed"
    with pytest.raises(ConnectionLostError):
        session.receive(b"")
    with pytest.raises(ConnectionLostError):
        session.request("status", {})


def test_an_unencodable_request_is_not_registered() -> None:
    session = greeted()
    with pytest.raises(BadParamsError):
        session.request("search", {"query": {1}})
    assert repr(session) == "<ClientSession ready, 0 waiting, 0 abandoned>"


def test_the_version_in_hello_is_the_release() -> None:
    project = Path(__file__).parents[3] / "client" / "pyproject.toml"
    assert tomllib.loads(project.read_text())["project"]["version"] == CLIENT_VERSION


class Ids(RuleBasedStateMachine):
    """No id is used twice at a time, and every request gets its own outcome once."""

    requests = Bundle("requests")

    def __init__(self) -> None:
        super().__init__()
        self.session = greeted(first_id=LAST_ID - 3)
        self.open: set[int] = set()
        self.swallowed: set[int] = set()

    @rule(target=requests)
    def request(self) -> int:
        request_id, data = self.session.request("status", {})
        assert sent(data)[1] == request_id
        assert 1 <= request_id <= LAST_ID
        assert request_id not in self.open | self.swallowed
        self.open.add(request_id)
        return request_id

    @rule(target=requests, request_id=consumes(requests))
    def cancel(self, request_id: int) -> Any:
        data = self.session.cancel(request_id)
        if request_id not in self.open:
            assert data == b""
            return request_id
        cancel_id = sent(data)[1]
        assert cancel_id not in self.open | self.swallowed
        self.open.remove(request_id)
        self.swallowed |= {request_id, cancel_id}
        return multiple(request_id, cancel_id)

    @rule(request_id=consumes(requests), fails=st.booleans())
    def answer(self, request_id: int, fails: bool) -> None:
        error = AgentUnknownError("x").to_wire() if fails else None
        events = self.session.receive(encode_frame([1, request_id, error, None if fails else {}]))
        if request_id in self.swallowed:
            assert events == []
            self.swallowed.remove(request_id)
        else:
            (event,) = events
            assert event.id == request_id
            assert isinstance(event, Failure if fails else Reply)
            self.open.remove(request_id)

    @invariant()
    def the_repr_tells_the_state(self) -> None:
        expected = f"<ClientSession ready, {len(self.open)} waiting, {len(self.swallowed)} abandoned>"
        assert repr(self.session) == expected


TestIds = Ids.TestCase
TestIds.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def progress_of(done: int) -> ProgressArrival:
    return ProgressArrival(1, Progress(1, "text", done, 0))


def test_steps_are_returned_in_order_before_the_outcome() -> None:
    inbox = Inbox()
    for arrival in (progress_of(1), progress_of(2), Reply(1, {"a": 1})):
        inbox.add(arrival)
    assert inbox.is_ready
    assert [step.done for step in iter(inbox.pop_step, None) if isinstance(step, Progress)] == [1, 2]
    assert inbox.result() == {"a": 1}


def test_without_an_outcome_there_is_no_result() -> None:
    inbox = Inbox()
    assert not inbox.is_ready
    with pytest.raises(ConnectionLostError):
        inbox.result()


def test_the_first_outcome_counts() -> None:
    inbox = Inbox()
    inbox.add(Failure(1, AgentUnknownError("nobody")))
    inbox.add(Reply(1, {}))
    inbox.stop()
    with pytest.raises(AgentUnknownError, match="nobody"):
        inbox.result()


def test_an_abandoned_request_raises_request_cancelled() -> None:
    inbox = Inbox()
    inbox.stop()
    inbox.add(Reply(1, {}))
    with pytest.raises(RequestCancelledError):
        inbox.result()


def test_the_oldest_steps_are_dropped_beyond_the_limit() -> None:
    inbox = Inbox()
    for done in range(MAX_STEPS + 2):
        inbox.add(progress_of(done))
    first = inbox.pop_step()
    assert isinstance(first, Progress)
    assert (first.done, inbox.dropped, len(inbox.steps)) == (2, 2, MAX_STEPS - 1)


def test_each_waiter_gets_its_own_copy_of_the_error() -> None:
    broken = ConnectionLostError(describe_break(BrokenPipeError(32, "Broken pipe")), hint="a hint")
    first, second = copy_error(broken, True), copy_error(broken, False)
    assert (type(first), str(first), first.hint) == (ConnectionLostError, str(broken), "a hint")
    assert "Broken pipe" in str(first)
    assert first is not broken
    assert (first.data, second.data, broken.data) == ({}, {"sent": False}, {})
    assert describe_break(KeyboardInterrupt()).endswith("KeyboardInterrupt")


HELLO_FRAME = {"protocol": 1, "version": "1", "pid": 2, "capabilities": [], "limits": {}}


class Paused:
    """Something to await that hands control back once."""

    def __await__(self) -> Any:
        yield


class FakeEvent:
    """An event without a loop: a waiting coroutine yields control."""

    def __init__(self) -> None:
        self.is_set = False

    def set(self) -> None:
        """Set it."""
        self.is_set = True

    async def wait(self) -> None:
        """Hand control back."""
        await Paused()


class FakeTransport:
    """A connection whose bytes go into a list, as many frames at a time as the test lets through."""

    def __init__(self) -> None:
        self.hung_up = 0
        self.traffic = AsyncConnection(FakeEvent, self._hang_up)
        self.sent: list[Any] = []
        self._decoder = FrameDecoder()
        self._writing: Coroutine[Any, Any, None] = self.traffic.write(self._send)
        greeting = AsyncExchange()
        self.traffic.greet(greeting, "")
        self.turn()
        self.arrive([1, greeting.id, None, HELLO_FRAME])
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

    def ask(self, method: str = "status", **params: Any) -> AsyncExchange:
        """Begin a request."""
        waiting = AsyncExchange()
        self.traffic.begin(waiting, method, params)
        return waiting

    def close(self) -> None:
        """End the writing task."""
        self._writing.close()


@pytest.fixture
def connection() -> Any:
    made = FakeTransport()
    yield made
    made.close()


def test_a_request_cancelled_before_sending_is_not_sent(connection: FakeTransport) -> None:
    first, second = connection.ask(), connection.ask("search", query="never")
    connection.traffic.end(second)
    connection.turn()
    assert [message[1:3] for message in connection.sent] == [[first.id, "status"]]
    assert (
        repr(connection.traffic)
        == "<AsyncConnection 1 waiting, <ClientSession ready, 1 waiting, 0 abandoned>>"
    )


def test_a_request_cancelled_during_sending_is_sent_completely_and_cancelled(
    connection: FakeTransport,
) -> None:
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


def test_ending_twice_cancels_once(connection: FakeTransport) -> None:
    asked = connection.ask()
    connection.turn()
    connection.traffic.end(asked)
    connection.traffic.end(asked)
    connection.turn()
    assert [message[2] for message in connection.sent] == ["status", "cancel"]


def test_a_request_with_a_reply_is_not_cancelled(connection: FakeTransport) -> None:
    asked = connection.ask()
    connection.turn()
    connection.arrive([1, asked.id, None, {"a": 1}])
    connection.traffic.end(asked)
    connection.turn()
    assert asked.result() == {"a": 1}
    assert [message[2] for message in connection.sent] == ["status"]


def test_a_connection_is_closed_when_unsent_bytes_exceed_the_limit(connection: FakeTransport) -> None:
    text = "x" * 15_000_000
    asked = [connection.ask("embed", texts=[text]) for _ in range(MAX_UNSENT_BYTES // len(text))]
    assert connection.traffic.broken is None
    connection.ask("embed", texts=[text])
    assert connection.hung_up == 1
    with pytest.raises(ConnectionLostError, match="accepts no data"):
        connection.traffic.check(asked[0])


def test_a_broken_connection_wakes_all_waiters_with_whether_their_request_was_sent(
    connection: FakeTransport,
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
