"""What the asyncio and the trio client share: all but the loop."""

from __future__ import annotations

import os
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from . import discovery, requests
from .ask import Ask
from .async_methods import AsyncMethods
from .async_stream import AsyncStream
from .errors import (
    ConnectionLostError,
    DaemonUnreachableError,
    DeadlineExceededError,
    MemdError,
    RequestCancelledError,
)
from .events import Event, SubscribeReply
from .link import Link
from .messages import Progress
from .traffic import Traffic, Waiting
from .unix_socket import BUSY_WAIT_S, no_greeting, not_greeted, open_socket, queue_full, try_connect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self, TypeVar

    T = TypeVar("T")


class AsyncClient(AsyncMethods, ABC):
    """The base of `aio.Client` and `trio.Client`, whose docstrings are its contract."""

    def __init__(
        self,
        socket_path: str | os.PathLike[str] | None = None,
        *,
        agent: str | None = None,
        autostart: bool = False,
        timeout_s: float | None = 30.0,
        connect_timeout_s: float = 5.0,
    ) -> None:
        given = discovery.socket_path() if socket_path is None else discovery.check_socket_path(socket_path)
        self.socket_path = given
        self.agent = agent
        self.timeout_s = timeout_s
        self._autostart = autostart
        self._connect_timeout_s = connect_timeout_s
        self._traffic: Traffic | None = None
        self._greeting: Traffic | None = None
        self._background: set[Any] = set()
        self._connecting: Any = None
        self._is_open = self._was_closed = False

    def __repr__(self) -> str:
        state = (
            self._traffic or "not connected"
            if self._is_open
            else "closed"
            if self._was_closed
            else "not open"
        )
        return f"<{type(self).__module__}.Client {self.socket_path}, {state}>"

    async def __aenter__(self) -> Self:
        if self._is_open or self._was_closed:
            raise ConnectionLostError("a Client is opened once", hint="Make a new Client.")
        self._connecting = self._new_lock()
        self._is_open = True
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connection. Requests of other tasks end with `ConnectionLostError`. Idempotent."""
        self._was_closed, self._is_open = True, False
        for traffic in (self._traffic, self._greeting):
            if traffic is not None:
                traffic.break_off(ConnectionLostError("the connection was closed on this side"))
        self._traffic = self._greeting = None

    async def call(self, ask: Ask[T]) -> T:
        """Send a request of `requests` and return its reply.

        `client.call(requests.search("x"))` is `client.search("x")`.

        Args:
            ask: The request.
        """
        async with self.follow(ask) as steps:
            async for step in steps:
                if ask.on_progress is not None:
                    ask.on_progress(step)
        return steps.reply

    def follow(self, ask: Ask[T]) -> AsyncStream[Progress, T]:
        """Return a request as an iterator over its progress, to be used in an `async with` block.

        After the loop its `reply` is there; leaving the block early cancels the request.

        Args:
            ask: The request: `requests.index(force=True)`.
        """
        return AsyncStream(self._connected, self._until, self._news, ask, self.agent, self.timeout_s)

    def subscribe(
        self, agent: str | None = None, kinds: Sequence[str] | None = None
    ) -> AsyncStream[Event, SubscribeReply]:
        """Return an iterator over the daemon's events from now on.

        To be used in an `async with` block. It has no deadline, and ends with `close` or with the connection
        (`ConnectionLostError`). Events between two subscriptions are not repeated.

        Args:
            agent: Only events of this agent; None: of all. The client's own agent is not filled in.
            kinds: Only events of these kinds, as docs/protocol.md lists them: `["sync", "note"]`; None: of all.

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: There is no such kind.
            DaemonUnreachableError, ShuttingDownError, ConnectionLostError: As with every request.
        """
        ask = requests.subscribe(agent, kinds)
        return AsyncStream(self._connected, self._until, self._news, ask, self.agent, self.timeout_s)

    # --- what a loop does in its own way

    @abstractmethod
    def _now(self) -> float:
        """Return the loop's clock, in seconds."""

    @abstractmethod
    def _new_lock(self) -> Any:
        """Return a lock of the loop."""

    @abstractmethod
    def _new_event(self) -> Any:
        """Return an event of the loop."""

    @abstractmethod
    async def _wait_for(self, event: Any, seconds: float | None) -> None:
        """Wait until an event is set, for so many seconds at most; None: without end."""

    @abstractmethod
    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Do something that blocks; where the task is cancelled it is left to end by itself."""

    @abstractmethod
    def _attach(self, sock: socket.socket) -> Traffic:
        """Run a connected socket's traffic in the background until it breaks, then close the socket."""

    # --- what they share

    def _until(self, seconds: float | None) -> float | None:
        """Return the moment that is so many seconds away."""
        return None if seconds is None else self._now() + seconds

    async def _news(self, traffic: Traffic, waiting: Waiting, deadline: float | None) -> None:
        """Wait for a step or the outcome of a request.

        Raises:
            DeadlineExceededError: None came in time.
            ConnectionLostError: The connection broke.
        """
        while not waiting.has_news:
            traffic.check(waiting)
            left_s = None if deadline is None else deadline - self._now()
            if left_s is not None and left_s <= 0:
                raise DeadlineExceededError("no reply in the time allowed")
            waiting.event = self._new_event()
            await self._wait_for(waiting.event, left_s)

    def _check_open(self) -> None:
        """Raise unless requests may be made."""
        if self._was_closed:
            raise ConnectionLostError("this Client is closed", hint="Make a new Client.")
        if not self._is_open:
            raise ConnectionLostError(
                "this Client is not open yet", hint="Use it in a block: `async with Client() as client:`."
            )

    async def _connected(self) -> Traffic:
        """Return the connection, a new one where there is none or it broke."""
        self._check_open()
        if self._traffic is not None and self._traffic.broken is None:
            return self._traffic
        async with self._connecting:
            self._check_open()
            if self._traffic is None or self._traffic.broken is not None:
                self._traffic = None
                traffic = await self._connect()
                if not self._is_open:  # closed by another task, meanwhile
                    traffic.break_off(ConnectionLostError("the connection was closed on this side"))
                    self._check_open()
                self._traffic = traffic
            return self._traffic

    async def _connect(self) -> Traffic:
        """Connect and greet; start the daemon where allowed and needed."""
        try:
            return await self._try_connect()
        except DaemonUnreachableError:
            if not self._autostart:
                raise
        await self._start_daemon()
        return await self._try_connect()

    async def _try_connect(self) -> Traffic:
        """Connect and greet once."""
        deadline = self._now() + self._connect_timeout_s
        while (sock := try_connect(self.socket_path)) is None:
            if self._now() >= deadline:
                raise queue_full(self.socket_path, self._connect_timeout_s)
            await self._wait_for(self._new_event(), BUSY_WAIT_S)
        try:
            self._check_open()
        except BaseException:
            sock.close()
            raise
        # Event loops want the standard library's sockets, which they have imported anyway.
        wrapped = socket.socket(fileno=sock.detach())
        wrapped.setblocking(False)
        traffic = self._greeting = self._attach(wrapped)
        greeting = Waiting()
        try:
            traffic.greet(greeting)
            await self._news(traffic, greeting, deadline)
            greeting.result()
        except BaseException as error:
            traffic.break_off(error if isinstance(error, MemdError) else ConnectionLostError("not greeted"))
            if isinstance(error, DeadlineExceededError):
                raise no_greeting(self._connect_timeout_s) from None
            if isinstance(error, ConnectionLostError) and self._is_open:
                raise not_greeted(self.socket_path) from None
            raise
        finally:
            self._greeting = None
        traffic.end(greeting)
        return traffic

    async def _start_daemon(self) -> None:
        """Start the daemon in a thread, which gives up when the task is cancelled."""
        given_up = threading.Event()

        def greet() -> None:
            if given_up.is_set():
                raise RequestCancelledError("nobody waits for the daemon any more")
            sock = open_socket(self.socket_path, self._connect_timeout_s)
            Link(sock, self._connect_timeout_s).close()

        try:
            await self._in_thread(lambda: discovery.start_and_wait(self.socket_path, greet))
        finally:
            given_up.set()
