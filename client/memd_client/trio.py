"""The client for trio: one object, one connection, any number of tasks. Requires trio."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any, Self, TypeVar

import trio

from .async_client import AsyncClientBase
from .async_connection import AsyncConnection
from .errors import ConnectionLostError
from .unix_socket import READ_BYTES

T = TypeVar("T")


class TrioClient(AsyncClientBase):
    """A client of the daemon for trio. Tasks of one run may share it; their requests run concurrently.

    Use it in an `async with` block, which owns the background tasks. The client connects with the first request, and
    reconnects with the next request after the connection broke. If a connection breaks before the reply, the client
    sends the request again, unless executing it twice would do more than executing it once.

    Args:
        socket_path: The daemon's socket; None: found as `discovery.socket_path` describes.
        host: The machine of the daemon, as ssh takes it (`user@server`); None: this one. It needs `memctl`, and a login
            that asks for nothing.
        agent: The agent of calls that name none; None: the daemon's default agent.
        autostart: Start the daemon if none listens; it must be installed on this machine.
        timeout_s: The longest time a request may take, in seconds; None: until the connection breaks.
        connect_timeout_s: The longest time connecting and greeting may take, in seconds; None: 5, for a host 20.
        daemon_command: The command that `autostart` runs; None: found by `discovery.daemon_command`.
        state_dir: The state folder of the agents, such as `~/.openclaw-work`; None: found as `discovery.state_folder`
            describes; empty: any. A daemon of another folder refuses this client.
        client_name: The name of this client in the daemon's log.

    Raises:
        SocketPathError: The path can't be a socket's.
        ConfigInvalidError: The host can't be one, or is combined with `socket_path`, `autostart`, `daemon_command` or
            `state_dir`.

    Every method raises `DaemonUnreachableError` (with `autostart` also `DaemonStartError`), `DeadlineExceededError`,
    `ConnectionLostError`, and the errors of the daemon, as the class of their code; with `host` also
    `HostUnreachableError`, `HostAuthError`, `HostCommandError` and `DaemonStartError`.

    *Cancellation*: the request is cancelled at the daemon, and the client stays usable.

    The block opens a nursery, so an asynchronous generator must not yield inside it. An exception raised in the block
    leaves it unchanged, not wrapped in an exception group.
    """

    _nursery: trio.Nursery
    _nursery_block: Any

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self._nursery_block = trio.open_nursery()
        self._nursery = await self._nursery_block.__aenter__()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()
        # The block's exception isn't passed to the nursery, which would wrap it in a group. All tasks in the nursery
        # are cancelled, so shielding it is safe, and no outer cancellation can replace the exception.
        self._nursery.cancel_scope.shield = True
        self._nursery.cancel_scope.cancel()
        await self._nursery_block.__aexit__(None, None, None)

    def _now(self) -> float:
        return trio.current_time()

    def _new_lock(self) -> trio.Lock:
        return trio.Lock()

    def _new_event(self) -> trio.Event:
        return trio.Event()

    async def _wait_for(self, event: trio.Event, seconds: float | None) -> None:
        with trio.CancelScope() as scope:
            if seconds is not None:
                scope.deadline = trio.current_time() + seconds
            await event.wait()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(work, abandon_on_cancel=True)

    def _attach(self, sock: socket.socket) -> AsyncConnection:
        scope = trio.CancelScope(
            shield=True
        )  # a task may send requests while it cleans up after cancellation
        connection = AsyncConnection(trio.Event, scope.cancel, self._client_name)
        self._nursery.start_soon(_drive, trio.socket.from_stdlib_socket(sock), connection, scope)
        return connection


async def _drive(sock: trio.socket.SocketType, connection: AsyncConnection, scope: trio.CancelScope) -> None:
    """Read and write until the connection breaks or the client's block ends, then close the socket."""

    async def send(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[await sock.send(view) :]

    try:
        with scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(connection.write, send)
                await connection.read(lambda: sock.recv(READ_BYTES))
                nursery.cancel_scope.cancel()
    finally:
        sock.close()
        connection.break_off(ConnectionLostError("the client closed the connection"))
