"""The client for asyncio: one object, one connection, any number of tasks."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import TypeVar

from .async_client import AsyncClientBase
from .async_connection import AsyncConnection
from .unix_socket import READ_BYTES

T = TypeVar("T")


class AsyncioClient(AsyncClientBase):
    """A client of the daemon for asyncio. Tasks of one loop may share it; their requests run concurrently.

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
    """

    async def close(self) -> None:
        """Close the connection. Requests of other tasks fail with `ConnectionLostError`. Idempotent.

        *Cancellation*: the background tasks end nevertheless.
        """
        await super().close()
        if self._background:
            await asyncio.wait(self._background)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _new_lock(self) -> asyncio.Lock:
        return asyncio.Lock()

    def _new_event(self) -> asyncio.Event:
        return asyncio.Event()

    async def _wait_for(self, event: asyncio.Event, seconds: float | None) -> None:
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)

    def _attach(self, sock: socket.socket) -> AsyncConnection:
        task: asyncio.Task[None] | None = None

        def disconnect() -> None:
            if task is not None and asyncio.current_task() is not task:  # the task itself ends with its read
                task.cancel()

        def finish(ended: asyncio.Task[None]) -> None:
            self._background.discard(ended)
            sock.close()

        connection = AsyncConnection(asyncio.Event, disconnect, self._client_name)
        task = asyncio.get_running_loop().create_task(_drive(sock, connection), name="memd-client")
        self._background.add(task)
        task.add_done_callback(finish)
        return connection


async def _drive(sock: socket.socket, connection: AsyncConnection) -> None:
    """Read and write until the connection breaks, or the task is cancelled."""
    loop = asyncio.get_running_loop()
    writing = loop.create_task(connection.write(lambda data: loop.sock_sendall(sock, data)))
    try:
        await connection.read(lambda: loop.sock_recv(sock, READ_BYTES))
    finally:
        writing.cancel()
        await asyncio.wait([writing])
