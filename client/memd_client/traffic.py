"""What is on its way over one connection of an event loop: requests that wait, bytes to send. No loop is known here.

asyncio and trio each run `read` and `write` as tasks of their own. A task that asks never sends itself, so that
cancelling it leaves no frame by half, and telling the daemon of it needs no waiting.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Mapping

from .errors import ConnectionLostError, MemdError
from .inbox import Inbox, lost, reason_again
from .session import ClientSession, Failure

TYPE_CHECKING = False  # typing's own costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from typing import Any

MAX_UNSENT_BYTES = 64 * 1024 * 1024
"""What waits to be sent at most: a daemon that takes nothing for so long hangs, and the connection is given up."""


class Waiting(Inbox):
    """One request of a connection, and the task that waits for it.

    event: What the task waits for, of its loop, with `set`. sent: The first byte of it may have gone out.
    """

    __slots__ = ("event", "id", "sent")

    def __init__(self) -> None:
        super().__init__()
        self.event: Any = None
        self.id = 0
        self.sent = False

    def wake(self) -> None:
        """Let the task that waits look again."""
        if self.event is not None:
            self.event.set()


class Traffic:
    """The requests of one connection, and the bytes they cost.

    Args:
        new_event: Makes an event of the loop: `set`, and a coroutine `wait`.
        hang_up: Ends the tasks and the socket of this connection; called once, doesn't wait.
    """

    def __init__(self, new_event: Callable[[], Any], hang_up: Callable[[], object]) -> None:
        self.session = ClientSession()
        self.broken: MemdError | None = None
        self._new_event = new_event
        self._hang_up = hang_up
        self._waiting: dict[int, Waiting] = {}
        self._unsent: deque[tuple[Waiting | None, bytes]] = deque()
        self._unsent_bytes = 0
        self._posted: Any = None

    def __repr__(self) -> str:
        state = "broken" if self.broken else f"{len(self._waiting)} waiting"
        return f"<Traffic {state}, {self.session!r}>"

    def greet(self, waiting: Waiting) -> None:
        """Send `hello`, the first of a connection."""
        self._begin(waiting, self.session.hello)

    def begin(self, waiting: Waiting, method: str, params: Mapping[str, Any]) -> None:
        """Send a request. Whatever comes of it, `end` is to be called.

        Args:
            waiting: Its place, which nothing was begun with yet.
            method: The request's name.
            params: Its parameters, ready for msgpack.

        Raises:
            ConnectionLostError: The connection is broken.
            FrameTooBigError, BadParamsError: It can't be sent.
        """
        self._begin(waiting, lambda: self.session.request(method, params))

    def end(self, waiting: Waiting) -> None:
        """Forget a request; one that wasn't answered is cancelled, and its task woken. Idempotent."""
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

    def check(self, waiting: Waiting) -> None:
        """Raise the reason the connection broke, if it did.

        Args:
            waiting: The request that is asked for; the error's `data` says `sent: False` where it never went out.
        """
        if self.broken is not None:
            raise reason_again(self.broken, waiting.sent)

    def break_off(self, error: MemdError) -> None:
        """End the connection once: wake every task and keep the first reason."""
        if self.broken is not None:
            return
        self.broken = error
        self.session.close()
        self._unsent.clear()
        for waiting in self._waiting.values():
            waiting.wake()
        self._hang_up()

    async def read(self, receive: Callable[[], Awaitable[bytes]]) -> None:
        """Take in what the daemon says until the connection breaks.

        Args:
            receive: Waits for bytes; none at the end.
        """
        while self.broken is None:
            try:
                data = await receive()
            except OSError as error:
                self.break_off(ConnectionLostError(lost(error)))
                return
            if data:
                self._take_in(data)
            else:
                self.break_off(ConnectionLostError("the daemon closed the connection"))

    async def write(self, send: Callable[[bytes], Awaitable[object]]) -> None:
        """Send what is to be sent until the connection breaks.

        Args:
            send: Sends all of the bytes.
        """
        while self.broken is None:
            while self._unsent:
                waiting, data = self._unsent[0]
                if waiting is not None:
                    waiting.sent = True
                try:
                    await send(data)
                except OSError:
                    return  # the reader learns why
                if self._unsent:  # else it broke meanwhile
                    self._unsent.popleft()
                    self._unsent_bytes -= len(data)
            self._posted = self._new_event()
            await self._posted.wait()

    def _begin(self, waiting: Waiting, encode: Callable[[], tuple[int, bytes]]) -> None:
        """Register a request and have it sent."""
        self.check(waiting)
        waiting.id, data = encode()
        self._waiting[waiting.id] = waiting
        self._post(waiting, data)

    def _post(self, waiting: Waiting | None, data: bytes) -> None:
        """Have bytes sent; never waits."""
        self._unsent.append((waiting, data))
        self._unsent_bytes += len(data)
        if self._unsent_bytes > MAX_UNSENT_BYTES and len(self._unsent) > 1:
            self.break_off(ConnectionLostError("the daemon takes no data: it hangs or is overloaded"))
        elif self._posted is not None:
            self._posted.set()

    def _take_in(self, data: bytes) -> None:
        """Put what arrived before the tasks it is for."""
        try:
            for arrival in self.session.receive(data):
                if arrival.id == 0 and isinstance(arrival, Failure):
                    raise arrival.error
                waiting = self._waiting.get(arrival.id)
                if waiting is not None:
                    waiting.take_in(arrival)
                    waiting.wake()
        except MemdError as error:
            self.break_off(error)
