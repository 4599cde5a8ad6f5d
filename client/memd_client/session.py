"""The protocol of one connection without I/O: bytes in, arrivals out; requests in, bytes out.

Every client (blocking, asyncio, trio) uses one `ClientSession` per connection. A session isn't thread-safe: its client
serializes the calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from .errors import (
    ConnectionLostError,
    FrameInvalidError,
    HelloRequiredError,
    MemdError,
    ProtocolMismatchError,
)
from .events import Event
from .framing import FrameDecoder, encode_frame
from .messages import PROTOCOL_VERSION, CancelParams, HelloParams, HelloReply, Progress
from .schema import from_wire, to_wire

State = Literal["new", "greeting", "ready", "closed"]

CLIENT_VERSION = "0.1.0"
"""The release of this client, sent in `hello`. A test compares it with pyproject.toml; reading the installed
metadata would slow down the import."""

CLIENT_NAME = "memd-client"
"""The default name of this client in the daemon's log."""

REQUEST, RESPONSE, NOTIFICATION = 0, 1, 2
"""The three kinds of message, as in MessagePack-RPC."""

LAST_ID = 2**32 - 1
"""Ids are unsigned 32-bit, as in MessagePack-RPC, and restart at 1. Id 0 means "no request": errors of the whole
connection carry it."""


class Reply(msgspec.Struct, frozen=True):
    """The reply to a request."""

    id: int
    result: Mapping[str, Any]


class Failure(msgspec.Struct, frozen=True):
    """The error of a request; with id 0, of the connection."""

    id: int
    error: MemdError


class ProgressArrival(msgspec.Struct, frozen=True):
    """A progress of a request."""

    id: int
    progress: Progress


class EventArrival(msgspec.Struct, frozen=True):
    """An event of a subscription."""

    id: int
    event: Event


Arrival = Reply | Failure | ProgressArrival | EventArrival


class ClientSession:
    """The client's side of one connection: ids, replies, progress, events, cancel, hello.

    Args:
        client: The client's name, sent in `hello`.
        first_id: The first id, so that tests can reach the wrap-around.
    """

    def __init__(self, client: str = CLIENT_NAME, first_id: int = 1) -> None:
        self.state: State = "new"
        self.daemon: HelloReply | None = None
        self._client = client
        self._decoder = FrameDecoder()
        self._next_id = first_id
        self._hello_id = 0
        self._waiting: set[int] = set()
        self._abandoned: set[int] = set()

    def __repr__(self) -> str:
        return f"<ClientSession {self.state}, {len(self._waiting)} waiting, {len(self._abandoned)} abandoned>"

    def hello(self, state_dir: str = "") -> tuple[int, bytes]:
        """Return the id and the bytes of the greeting; send nothing else before its reply.

        Args:
            state_dir: The state folder that the daemon must serve; empty: any.

        Raises:
            ConnectionLostError: The session has greeted already, or is closed.
        """
        if self.state != "new":
            raise ConnectionLostError(f"the session has greeted before; it is {self.state}")
        params = HelloParams(client=self._client, version=CLIENT_VERSION, state_dir=state_dir)
        self._hello_id, data = self._send("hello", to_wire(params))
        self.state = "greeting"
        return self._hello_id, data

    def request(self, method: str, params: Mapping[str, Any]) -> tuple[int, bytes]:
        """Return a new request's id and bytes.

        Args:
            method: The name of the request.
            params: Its parameters, ready for msgpack.

        Raises:
            HelloRequiredError: The reply to `hello` has not arrived yet.
            ConnectionLostError: The session is closed.
            FrameTooBigError: The parameters don't fit a frame.
            BadParamsError: A value in the parameters can't be encoded.
        """
        if self.state == "closed":
            raise ConnectionLostError("the connection is closed")
        if self.state != "ready":
            raise HelloRequiredError(f"`{method}` was sent before the reply to `hello`")
        return self._send(method, params)

    def cancel(self, request_id: int) -> bytes:
        """Abandon a request and return the bytes that cancel it at the daemon.

        The replies to the request and to the cancellation are ignored when they arrive. Returns empty bytes if the
        request is not waiting any more, or the session is closed.
        """
        if request_id not in self._waiting or self.state == "closed":
            return b""
        self._waiting.remove(request_id)
        self._abandoned.add(request_id)
        cancel_id, data = self._send("cancel", to_wire(CancelParams(id=request_id)))
        self._waiting.remove(cancel_id)
        self._abandoned.add(cancel_id)
        return data

    def retract(self, request_id: int) -> None:
        """Forget an unsent request."""
        self._waiting.discard(request_id)

    def receive(self, data: bytes) -> list[Arrival]:
        """Parse bytes from the daemon and return the arrivals in them, oldest first.

        Raises:
            FrameTooBigError, FrameInvalidError: The bytes don't follow the protocol; the session is closed then.
            ConnectionLostError: The session is closed.
        """
        if self.state == "closed":
            raise ConnectionLostError("the connection is closed")
        try:
            return [each for value in self._decoder.feed(data) if (each := self._read(value)) is not None]
        except MemdError:
            self.close()
            raise

    def close(self) -> None:
        """Close the session: it encodes and parses nothing any more."""
        self.state = "closed"
        self._waiting.clear()
        self._abandoned.clear()

    def _send(self, method: str, params: Mapping[str, Any]) -> tuple[int, bytes]:
        """Encode a request, then register its id: a request that can't be encoded must not wait."""
        request_id = self._next_id
        while request_id in self._waiting or request_id in self._abandoned:
            request_id = request_id % LAST_ID + 1
        data = encode_frame([REQUEST, request_id, method, params])
        self._next_id = request_id % LAST_ID + 1
        self._waiting.add(request_id)
        return request_id, data

    def _read(self, value: Any) -> Arrival | None:
        """Return the arrival of one message; None if no request waits for it."""
        match value:
            case [1, int(request_id), error, result]:
                return self._read_response(request_id, error, result)
            case [2, "progress", dict(params)]:
                return self._read_progress(params)
            case [2, "event", dict(params)]:
                return self._read_event(params)
            case [2, str(), _]:
                return None  # a notification of a newer daemon
        raise FrameInvalidError("the daemon sent something that is neither a response nor a notification")

    def _read_response(self, request_id: int, error: Any, result: Any) -> Arrival | None:
        """Match a response with its request."""
        if request_id == 0:
            return Failure(0, MemdError.from_wire(error))
        if request_id in self._abandoned:
            self._abandoned.remove(request_id)
            return None
        if request_id not in self._waiting:
            raise FrameInvalidError(f"the daemon replied to request {request_id}, which was not sent")
        self._waiting.remove(request_id)
        if error is None and not isinstance(result, dict):
            error = FrameInvalidError(f"the reply to request {request_id} is not a map").to_wire()
        if request_id == self._hello_id and self.state == "greeting":
            return self._read_greeting(request_id, error, result)
        if error is not None:
            return Failure(request_id, MemdError.from_wire(error))
        return Reply(request_id, result)

    def _read_greeting(self, request_id: int, error: Any, result: Any) -> Arrival:
        """Accept the daemon, or close the session."""
        failure: MemdError
        if error is not None:
            failure = MemdError.from_wire(error)
        elif result.get("protocol") != PROTOCOL_VERSION:
            failure = ProtocolMismatchError(
                f"the daemon speaks protocol {result.get('protocol')!r:.20}, this client {PROTOCOL_VERSION}"
            )
        else:
            try:
                self.daemon = from_wire(HelloReply, result)
            except ValueError as problem:
                failure = FrameInvalidError(f"the daemon's reply to hello is incomplete: {problem}")
            else:
                self.state = "ready"
                return Reply(request_id, result)
        self.close()
        return Failure(request_id, failure)

    def _read_progress(self, params: Mapping[str, Any]) -> Arrival | None:
        """Return the progress of a waiting request; None for any other, and for an incomplete one."""
        try:
            progress = from_wire(Progress, params)
            return ProgressArrival(progress.id, progress) if progress.id in self._waiting else None
        except ValueError:
            return None

    def _read_event(self, params: Mapping[str, Any]) -> Arrival | None:
        """Return an event of an open subscription; None for any other, and for an incomplete one."""
        try:
            event = from_wire(Event, params)
            return EventArrival(event.id, event) if event.id in self._waiting else None
        except ValueError:
            return None
