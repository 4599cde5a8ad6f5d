"""One connection of an event loop: waiting requests and unsent bytes, independent of the loop.

asyncio and trio run `read` and `write` as background tasks. A requesting task never sends, so cancelling it
leaves no partly sent frame, and the cancellation is sent without waiting.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from .errors import ConnectionLostError, MemdError
from .inbox import DAEMON_CLOSED, Inbox, copy_error, describe_break
from .session import CLIENT_NAME, ClientSession, Failure

MAX_UNSENT_BYTES = 64 * 1024 * 1024
"""Limit of unsent bytes: a daemon that accepts none of them hangs, and the connection is closed."""


class AsyncExchange(Inbox):
    """One request of a connection, and the task that waits for it.

    `event` is the loop's event that the task waits for. `sent`: its first byte may have been sent.
    """

    __slots__ = ("event", "id", "sent")

    def __init__(self) -> None:
        super().__init__()
        self.event: Any = None
        self.id = 0
        self.sent = False

    def wake(self) -> None:
        """Wake the waiting task."""
        if self.event is not None:
            self.event.set()


class AsyncConnection:
    """The requests of one connection and their unsent bytes.

    Args:
        new_event: Creates an event of the loop, with `set` and a coroutine `wait`.
        disconnect: Ends the tasks and the socket of this connection; called once, doesn't wait.
        client_name: The name sent in the greeting.

    `on_close` is called once after `disconnect`; `end_message` is the message of the error if the other end closes the
    connection.
    """

    def __init__(
        self, new_event: Callable[[], Any], disconnect: Callable[[], object], client_name: str = CLIENT_NAME
    ) -> None:
        self.session = ClientSession(client_name)
        self.broken: MemdError | None = None
        self.on_close: Callable[[], object] | None = None
        self.end_message = DAEMON_CLOSED
        self._new_event = new_event
        self._disconnect = disconnect
        self._waiting: dict[int, AsyncExchange] = {}
        self._unsent: deque[tuple[AsyncExchange | None, bytes]] = deque()
        self._unsent_bytes = 0
        self._posted: Any = None

    def __repr__(self) -> str:
        state = "broken" if self.broken else f"{len(self._waiting)} waiting"
        return f"<AsyncConnection {state}, {self.session!r}>"

    def greet(self, waiting: AsyncExchange, state_dir: str) -> None:
        """Send `hello`, the first request of a connection; an empty state folder means any."""
        self._begin(waiting, lambda: self.session.hello(state_dir))

    def begin(self, waiting: AsyncExchange, method: str, params: Mapping[str, Any]) -> None:
        """Send a request. The caller must call `end`, whether or not this succeeds.

        Args:
            waiting: An unused exchange.
            method: The request's name.
            params: Its parameters, ready for msgpack.

        Raises:
            ConnectionLostError: The connection is broken.
            FrameTooBigError, BadParamsError: It can't be sent.
        """
        self._begin(waiting, lambda: self.session.request(method, params))

    def end(self, waiting: AsyncExchange) -> None:
        """Forget a request; without a reply it is cancelled and its task woken. Idempotent."""
        waiting.stop()
        waiting.wake()
        if self._waiting.pop(waiting.id, None) is None or self.broken is not None:
            return
        for entry in self._unsent:
            if entry[0] is waiting and not waiting.sent:
                self._unsent.remove(entry)
                self._unsent_bytes -= len(entry[1])
                self.session.retract(waiting.id)
                return
        data = self.session.cancel(waiting.id)
        if data:
            self._post(None, data)

    def check(self, waiting: AsyncExchange) -> None:
        """Raise the reason the connection broke, if it did.

        Args:
            waiting: The caller's request; the error's `data` has `sent: False` if it was not sent.
        """
        if self.broken is not None:
            raise copy_error(self.broken, waiting.sent)

    def break_off(self, error: MemdError) -> None:
        """Close the connection: wake all tasks and keep the first reason."""
        if self.broken is not None:
            return
        self.broken = error
        self.session.close()
        self._unsent.clear()
        for waiting in self._waiting.values():
            waiting.wake()
        self._disconnect()
        if self.on_close is not None:
            self.on_close()

    async def read(self, receive: Callable[[], Awaitable[bytes]]) -> None:
        """Receive and deliver messages until the connection breaks.

        Args:
            receive: Waits for bytes; returns empty bytes at the end.
        """
        while self.broken is None:
            try:
                data = await receive()
            except OSError as error:
                self.break_off(ConnectionLostError(describe_break(error)))
                return
            if data:
                self._deliver(data)
            else:
                self.break_off(ConnectionLostError(self.end_message))

    async def write(self, send: Callable[[bytes], Awaitable[object]]) -> None:
        """Send posted bytes until the connection breaks.

        Args:
            send: Sends all of the given bytes.
        """
        while self.broken is None:
            while self._unsent:
                waiting, data = self._unsent[0]
                if waiting is not None:
                    waiting.sent = True
                try:
                    await send(data)
                except OSError:
                    return  # `read` gets the reason
                if self._unsent:  # otherwise the connection broke meanwhile
                    self._unsent.popleft()
                    self._unsent_bytes -= len(data)
            self._posted = self._new_event()
            await self._posted.wait()

    def _begin(self, waiting: AsyncExchange, encode: Callable[[], tuple[int, bytes]]) -> None:
        """Register a request and post its bytes."""
        self.check(waiting)
        waiting.id, data = encode()
        self._waiting[waiting.id] = waiting
        self._post(waiting, data)

    def _post(self, waiting: AsyncExchange | None, data: bytes) -> None:
        """Queue bytes for sending, without waiting."""
        self._unsent.append((waiting, data))
        self._unsent_bytes += len(data)
        if self._unsent_bytes > MAX_UNSENT_BYTES and len(self._unsent) > 1:
            self.break_off(ConnectionLostError("the daemon accepts no data: it hangs or is overloaded"))
        elif self._posted is not None:
            self._posted.set()

    def _deliver(self, data: bytes) -> None:
        """Add received messages to the exchanges they belong to."""
        try:
            for arrival in self.session.receive(data):
                if arrival.id == 0 and isinstance(arrival, Failure):
                    raise arrival.error
                waiting = self._waiting.get(arrival.id)
                if waiting is not None:
                    waiting.add(arrival)
                    waiting.wake()
        except MemdError as error:
            self.break_off(error)
