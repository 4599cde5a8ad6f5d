"""One HTTP/1.1 connection: parsing of requests, sending of replies, and limits on both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import h11
import trio

from memd.page.access import Head, PageLimits
from memd.page.answers import ALWAYS, NO_STORE, PageReply

T = TypeVar("T")

READ_BYTES = 16 * 1024
WRITE_BYTES = 64 * 1024
"""Bytes per read and per write. A browser that accepts one write within `send_s` is slow, not gone."""

LINGER_S, LINGER_BYTES = 1.0, 512 * 1024
"""Bytes still read from a rejected browser: if the connection closed at once, it would not see the reply."""


class PeerGoneError(Exception):
    """The other end left, or took too long."""


class BadRequestError(Exception):
    """The received bytes are not a valid request."""

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP status {status}")
        self.status = status


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Limit the time of a block; after it the other end counts as gone."""
    with trio.move_on_after(seconds) as scope:
        yield
    if scope.cancelled_caught:
        raise PeerGoneError


class HttpConnection:
    """The server's side of one connection. One task uses it.

    All methods raise `PeerGoneError`.
    """

    def __init__(self, stream: trio.SocketStream, limits: PageLimits) -> None:
        self._stream = stream
        self._limits = limits
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.header_bytes)

    async def receive_head(self, patience_s: float) -> Head | None:
        """Return the next request's head; None if the connection ended."""
        with _within(patience_s):
            event = await self._next_event()
        if isinstance(event, h11.ConnectionClosed):
            return None
        if not isinstance(event, h11.Request):
            raise BadRequestError(400)
        sizes = [len(event.target), *(len(name) + len(value) for name, value in event.headers)]
        if sum(sizes) > self._limits.header_bytes:  # h11 rejects them only if they arrive in several parts
            raise BadRequestError(431)
        headers: dict[str, str] = {}
        for name, value in event.headers:
            key, text = name.decode("ascii"), value.decode("latin-1")
            joint = "; " if key == "cookie" else ", "
            headers[key] = f"{headers[key]}{joint}{text}" if key in headers else text
        return Head(event.method.decode("ascii"), event.target.decode("ascii"), headers)

    async def receive_body(self) -> bytes:
        """Return the body of the request whose head was received."""
        body = bytearray()
        with _within(self._limits.request_s):
            while not isinstance(event := await self._next_event(), h11.EndOfMessage):
                if not isinstance(event, h11.Data):
                    raise BadRequestError(400)
                body += event.data
                if len(body) > self._limits.body_bytes:
                    raise BadRequestError(413)
        return bytes(body)

    async def send(self, answer: PageReply, *, last: bool = False) -> bool:
        """Send a reply; return whether another request may follow."""
        headers = answer.all_headers()
        if last:
            headers.append(("Connection", "close"))
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            raise PeerGoneError  # it was answered already
        waiting = self._http.send(h11.Response(status_code=int(answer.status), headers=headers)) or b""
        for start in range(0, len(answer.body), WRITE_BYTES):
            piece = self._http.send(h11.Data(data=answer.body[start : start + WRITE_BYTES])) or b""
            await self._send(waiting + piece)
            waiting = b""
        await self._send(waiting + (self._http.send(h11.EndOfMessage()) or b""))
        if last or not self._is_done():
            await self._linger()
            return False
        self._http.start_next_cycle()
        return True

    def _is_done(self) -> bool:
        """Return whether request and reply are complete and the connection stays open."""
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    async def begin_stream(self, kind: str) -> None:
        """Begin a streamed reply; `send_piece` continues it."""
        headers = [("Content-Type", kind), NO_STORE, *ALWAYS, ("Connection", "close")]
        await self._send(self._http.send(h11.Response(status_code=200, headers=headers)))

    async def send_piece(self, piece: bytes) -> None:
        """Send a part of a streamed reply."""
        await self._send(self._http.send(h11.Data(data=piece)))

    async def while_there(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run a function; cancel it if the other end disconnects."""
        done: list[T] = []

        async def do(scope: trio.CancelScope) -> None:
            done.append(await work())
            scope.cancel()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(do, nursery.cancel_scope)
            nursery.start_soon(self._watch, nursery.cancel_scope)
        if not done:
            raise PeerGoneError
        return done[0]

    async def _watch(self, scope: trio.CancelScope) -> None:
        """Cancel a scope when the other end disconnects. The start of its next request is kept."""
        try:
            data = await self._stream.receive_some(READ_BYTES)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            data = b""
        if not data:
            scope.cancel()
            return
        self._http.receive_data(bytes(data))

    async def _next_event(self) -> object:
        """Return the next event of h11, or its `PAUSED` before the last request has a reply."""
        while True:
            try:
                event = self._http.next_event()
                if event is not h11.NEED_DATA:
                    return event
                if self._http.they_are_waiting_for_100_continue:
                    go_on = h11.InformationalResponse(status_code=100, headers=[])
                    await self._send(self._http.send(go_on))
                self._http.receive_data(bytes(await self._stream.receive_some(READ_BYTES)))
            except h11.RemoteProtocolError as error:
                raise BadRequestError(error.error_status_hint) from None
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                raise PeerGoneError from None

    async def _send(self, data: bytes | None) -> None:
        """Send bytes; raise if the peer doesn't accept them in time."""
        if not data:
            return
        try:
            with _within(self._limits.send_s):
                await self._stream.send_all(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise PeerGoneError from None

    async def _linger(self) -> None:
        """Close the sending side, and read what the other end still sends for a moment."""
        with trio.move_on_after(LINGER_S):
            try:
                await self._stream.send_eof()
                left = LINGER_BYTES
                while left > 0 and (data := await self._stream.receive_some(READ_BYTES)):
                    left -= len(data)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                return
