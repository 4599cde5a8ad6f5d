"""The base of the asyncio and the trio client: everything but the event loop."""

from __future__ import annotations

import os
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

from . import discovery, requests
from .async_connection import AsyncConnection, AsyncExchange
from .async_methods import AsyncMethods
from .async_stream import AsyncStream
from .destination import Destination
from .errors import (
    ConnectionLostError,
    DaemonUnreachableError,
    DeadlineExceededError,
    MemdError,
    RequestCancelledError,
)
from .events import Event, SubscribeReply
from .inbox import DAEMON_CLOSED
from .messages import HelloReply, Progress
from .prepared_request import PreparedRequest
from .session import CLIENT_NAME
from .threaded_connection import ThreadedConnection
from .unix_socket import (
    BUSY_RETRY_INTERVAL_S,
    UNGREETED_ERRORS,
    backlog_full_error,
    ended_before_greeting_error,
    greeting_timeout_error,
    open_socket,
    try_connect,
)

if TYPE_CHECKING:
    from .ssh_host import SshHost, SshProcess

T = TypeVar("T")


class AsyncClientBase(AsyncMethods, ABC):
    """The base of `AsyncioClient` and `TrioClient`, whose docstrings are its contract."""

    def __init__(
        self,
        socket_path: str | os.PathLike[str] | None = None,
        *,
        host: str | None = None,
        agent: str | None = None,
        autostart: bool = False,
        timeout_s: float | None = 30.0,
        connect_timeout_s: float | None = None,
        daemon_command: Sequence[str] | None = None,
        state_dir: str | os.PathLike[str] | None = None,
        client_name: str = CLIENT_NAME,
    ) -> None:
        self._destination = Destination(
            socket_path,
            host,
            connect_timeout_s,
            autostart=autostart,
            daemon_command=daemon_command,
            state_dir=state_dir,
        )
        self.socket_path = self._destination.path
        self.host = host
        self.agent = agent
        self.timeout_s = timeout_s
        self._autostart = autostart
        self._connect_timeout_s = self._destination.connect_timeout_s
        self._daemon_command = daemon_command
        self._client_name = client_name
        self._connection: AsyncConnection | None = None
        self._greeting: AsyncConnection | None = None
        self._background: set[Any] = set()
        self._connecting: Any = None
        self._is_open = self._was_closed = False

    def __repr__(self) -> str:
        state = (
            self._connection or "not connected"
            if self._is_open
            else "closed"
            if self._was_closed
            else "not open"
        )
        return f"<{type(self).__name__} {self._destination}, {state}>"

    async def __aenter__(self) -> Self:
        if self._is_open or self._was_closed:
            raise ConnectionLostError("this client was opened before", hint="create a new client")
        self._connecting = self._new_lock()
        self._is_open = True
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()

    @property
    def daemon(self) -> HelloReply | None:
        """The daemon's reply to the greeting; None while there is no connection."""
        connection = self._connection
        return None if connection is None or connection.broken is not None else connection.session.daemon

    async def close(self) -> None:
        """Close the connection. Requests of other tasks fail with `ConnectionLostError`. Idempotent."""
        self._was_closed, self._is_open = True, False
        for connection in (self._connection, self._greeting):
            if connection is not None:
                connection.break_off(ConnectionLostError("the client closed the connection"))
        self._connection = self._greeting = None

    async def request(self, request: PreparedRequest[T]) -> T:
        """Send a request of `requests` and return its reply.

        `client.request(requests.search("x"))` is the same as `client.search("x")`.

        Args:
            request: The request.
        """
        async with self.follow(request) as steps:
            async for step in steps:
                if request.on_progress is not None:
                    request.on_progress(step)
        return steps.reply

    def follow(self, request: PreparedRequest[T]) -> AsyncStream[Progress, T]:
        """Return an iterator over a request's progress, to be used in an `async with` block.

        After the loop its `reply` is available; leaving the block early cancels the request.

        Args:
            request: The request, such as `requests.index(force=True)`.
        """
        return AsyncStream(
            self._connected, self._until, self._wait_for_step, request, self.agent, self.timeout_s
        )

    def subscribe(
        self, agent: str | None = None, kinds: Sequence[str] | None = None
    ) -> AsyncStream[Event, SubscribeReply]:
        """Return an iterator over the daemon's events from now on.

        Use it in an `async with` block. It has no deadline, and ends with `close` or with the connection
        (`ConnectionLostError`). Events between two subscriptions are not repeated.

        Args:
            agent: Only events of this agent; None: of all. The client's own agent is not filled in.
            kinds: Only events of these kinds, as listed in docs/protocol.md: `["sync", "note"]`; None: of all.

        Raises:
            AgentUnknownError: No agent has that id.
            BadParamsError: There is no such kind.
            DaemonUnreachableError, ShuttingDownError, ConnectionLostError: As with every request.
        """
        request = requests.subscribe(agent, kinds)
        return AsyncStream(
            self._connected, self._until, self._wait_for_step, request, self.agent, self.timeout_s
        )

    # --- implemented for each event loop

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
        """Wait until an event is set, at most `seconds`; None: no limit."""

    @abstractmethod
    async def _in_thread(self, work: Callable[[], T]) -> T:
        """Run a blocking function in a thread; if the task is cancelled, the thread is abandoned."""

    @abstractmethod
    def _attach(self, sock: socket.socket) -> AsyncConnection:
        """Run a connection over a connected socket in the background until it breaks, then close the socket."""

    # --- shared

    def _until(self, seconds: float | None) -> float | None:
        """Return the time on the loop's clock in so many seconds."""
        return None if seconds is None else self._now() + seconds

    async def _wait_for_step(
        self, connection: AsyncConnection, waiting: AsyncExchange, deadline: float | None
    ) -> None:
        """Wait for a step or the outcome of a request.

        Raises:
            DeadlineExceededError: None arrived within the deadline.
            ConnectionLostError: The connection broke.
        """
        while not waiting.is_ready:
            connection.check(waiting)
            left_s = None if deadline is None else deadline - self._now()
            if left_s is not None and left_s <= 0:
                raise DeadlineExceededError("no reply within the deadline")
            waiting.event = self._new_event()
            await self._wait_for(waiting.event, left_s)

    def _check_open(self) -> None:
        """Raise if the client is closed or not open yet."""
        if self._was_closed:
            raise ConnectionLostError("this client is closed", hint="create a new client")
        if not self._is_open:
            raise ConnectionLostError(
                "this client is not open yet", hint=f"use `async with {type(self).__name__}() as client:`"
            )

    async def _connected(self) -> AsyncConnection:
        """Return the connection, a new one if there is none or it broke."""
        self._check_open()
        if self._connection is not None and self._connection.broken is None:
            return self._connection
        async with self._connecting:
            self._check_open()
            if self._connection is None or self._connection.broken is not None:
                self._connection = None
                connection = await self._connect()
                if not self._is_open:  # closed by another task, meanwhile
                    connection.break_off(ConnectionLostError("the client closed the connection"))
                    self._check_open()
                self._connection = connection
            return self._connection

    async def _connect(self) -> AsyncConnection:
        """Connect and greet; start the daemon if that is allowed and necessary."""
        try:
            return await self._try_connect()
        except DaemonUnreachableError:
            if not self._autostart:
                raise
        await self._start_daemon()
        return await self._try_connect()

    async def _try_connect(self) -> AsyncConnection:
        """Connect and greet once."""
        if self._destination.ssh is not None:
            return await self._connect_to_host(self._destination.ssh)
        deadline = self._now() + self._connect_timeout_s
        while (sock := try_connect(self.socket_path)) is None:
            if self._now() >= deadline:
                raise backlog_full_error(self.socket_path, self._connect_timeout_s)
            await self._wait_for(self._new_event(), BUSY_RETRY_INTERVAL_S)
        try:
            return await self._greet(sock, deadline)
        except DeadlineExceededError:
            raise greeting_timeout_error(self._connect_timeout_s) from None
        except ConnectionLostError:
            if not self._is_open:
                raise
            raise ended_before_greeting_error(self.socket_path) from None

    async def _connect_to_host(self, host: SshHost) -> AsyncConnection:
        """Connect and greet over ssh, which ends with the connection."""
        deadline = self._now() + self._connect_timeout_s
        process = host.start(self._connect_timeout_s)  # starting a process takes about a millisecond
        try:
            connection = await self._greet(process.sock, deadline, f"the connection to {host.name} ended")
            connection.on_close = process.end
            if connection.broken is not None:
                process.end()
        except BaseException as error:
            if isinstance(error, UNGREETED_ERRORS) and self._is_open:
                raise await self._failure_of(process, error) from None
            process.end()
            raise
        return connection

    async def _failure_of(self, process: SshProcess, error: MemdError) -> MemdError:
        """Return why no greeting came from a host; ssh has ended then."""
        try:
            return await self._in_thread(lambda: process.failure(error))
        except BaseException:  # cancelled, perhaps before the thread has begun
            process.end()
            raise

    async def _greet(
        self, sock: socket.socket, deadline: float, end_message: str = DAEMON_CLOSED
    ) -> AsyncConnection:
        """Return a greeted connection over a connected socket, which it owns."""
        try:
            self._check_open()
        except BaseException:
            sock.close()
            raise
        # Event loops take sockets of the module `socket`, which they have imported anyway.
        wrapped = socket.socket(fileno=sock.detach())
        wrapped.setblocking(False)
        connection = self._greeting = self._attach(wrapped)
        connection.end_message = end_message
        greeting = AsyncExchange()
        try:
            connection.greet(greeting, self._destination.required_state_dir())
            await self._wait_for_step(connection, greeting, deadline)
            greeting.result()
        except BaseException as error:
            connection.break_off(
                error if isinstance(error, MemdError) else ConnectionLostError("not greeted")
            )
            raise
        finally:
            self._greeting = None
        connection.end(greeting)
        return connection

    async def _start_daemon(self) -> None:
        """Start the daemon in a thread, which stops waiting when the task is cancelled."""
        cancelled = threading.Event()

        def greet() -> None:
            if cancelled.is_set():
                raise RequestCancelledError("the request that started the daemon was cancelled")
            state_dir = self._destination.required_state_dir()
            sock = open_socket(self.socket_path, self._connect_timeout_s)
            ThreadedConnection(sock, self._connect_timeout_s, self._client_name, state_dir=state_dir).close()

        try:
            await self._in_thread(
                lambda: discovery.start_and_wait(
                    self.socket_path,
                    greet,
                    command=self._daemon_command,
                    state_dir=self._destination.state_dir,
                )
            )
        finally:
            cancelled.set()
