"""The conversation without I/O: every request gets exactly one outcome, of its own id."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from memd_client.errors import (
    AgentUnknownError,
    BadParamsError,
    ConnectionLostError,
    FrameInvalidError,
    HelloRequiredError,
    IdleTimeoutError,
    ProtocolMismatchError,
)
from memd_client.events import Event
from memd_client.framing import FrameDecoder, encode_frame
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


def test_hello_comes_first_and_tells_the_protocol() -> None:
    session = ClientSession()
    with pytest.raises(HelloRequiredError):
        session.request("status", {})
    _, data = session.hello()
    assert sent(data) == [0, 1, "hello", {"protocol": 1, "client": "memd-client", "version": CLIENT_VERSION}]
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


def test_an_error_without_a_request_concerns_the_connection() -> None:
    (event,) = greeted().receive(encode_frame([1, 0, IdleTimeoutError("silent").to_wire(), None]))
    assert isinstance(event, Failure)
    assert (event.id, type(event.error)) == (0, IdleTimeoutError)


def test_progress_reaches_only_those_who_wait() -> None:
    session = greeted()
    request_id, _ = session.request("index", {})
    told = {"id": request_id, "stage": "text", "done": 1, "total": 2, "detail": "", "new": 1}
    assert session.receive(encode_frame([2, "progress", told])) == [
        ProgressArrival(request_id, Progress(request_id, "text", 1, 2))
    ]
    assert session.receive(encode_frame([2, "progress", {**told, "id": 77}])) == []
    assert session.receive(encode_frame([2, "progress", {"id": request_id}])) == []
    assert session.receive(encode_frame([2, "progress", {**told, "id": [request_id]}])) == []
    assert session.receive(encode_frame([2, "news", {}])) == []


def test_an_event_reaches_only_a_subscription_that_is_open() -> None:
    session = greeted()
    request_id, _ = session.request("subscribe", {})
    told = {"id": request_id, "kind": "synced", "agent": "main", "at_ms": 5, "data": {"files": 1}, "new": 1}
    event = Event(request_id, "synced", "main", 5, {"files": 1})
    assert session.receive(encode_frame([2, "event", told])) == [EventArrival(request_id, event)]
    assert session.receive(encode_frame([2, "event", {**told, "id": 77}])) == []
    assert session.receive(encode_frame([2, "event", {**told, "id": [1]}])) == []
    assert session.receive(encode_frame([2, "event", {"id": request_id}])) == []
    session.cancel(request_id)
    assert session.receive(encode_frame([2, "event", told])) == []


def test_a_cancelled_request_is_swallowed_when_it_answers() -> None:
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
def test_what_is_not_the_protocol_closes_the_session(message: Any) -> None:
    session = greeted()
    with pytest.raises(FrameInvalidError):
        session.receive(encode_frame(message))
    assert session.state == "closed"
    with pytest.raises(ConnectionLostError):
        session.receive(b"")
    with pytest.raises(ConnectionLostError):
        session.request("status", {})


def test_what_cannot_be_sent_is_not_waited_for() -> None:
    session = greeted()
    with pytest.raises(BadParamsError):
        session.request("search", {"query": {1}})
    assert repr(session) == "<ClientSession ready, 0 waiting, 0 abandoned>"


def test_the_version_told_is_the_release() -> None:
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
