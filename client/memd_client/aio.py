"""The client for asyncio: one object, one connection, any number of tasks."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import TypeVar

from .async_client import AsyncClient
from .traffic import Traffic
from .unix_socket import READ_BYTES

T = TypeVar("T")


class Client(AsyncClient):
    """A client of the daemon for asyncio. Its tasks may share it; their requests run at the same time.

    It is used in an `async with` block, which owns what runs in the background. The connection is made at the first
    request, and again whenever it was lost: a request whose connection broke is sent once more where it may be.

    Args:
        socket_path: Where the daemon listens; None: found as `discovery.socket_path` says.
        agent: The agent of calls that name none; None: the daemon's default agent.
        autostart: Start the daemon if none answers; it must be installed on this machine.
        timeout_s: How long a request may take, in seconds; None: as long as the connection lives.
        connect_timeout_s: How long connecting and greeting may take, in seconds.

    Raises:
        SocketPathError: The path can't be a socket's.

    Every method raises `DaemonUnreachableError` (with `autostart` also `DaemonStartError`), `DeadlineExceededError`,
    `ConnectionLostError`, and the errors the daemon answers, as the class of their code.

    *Cancellation*: the daemon is told to stop the request, and the connection goes on.
    """

    async def close(self) -> None:
        """Close the connection. Requests of other tasks end with `ConnectionLostError`. Idempotent.

        *Cancellation*: what runs in the background ends all the same.
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

    def _attach(self, sock: socket.socket) -> Traffic:
        task: asyncio.Task[None] | None = None

        def hang_up() -> None:
            if task is not None and asyncio.current_task() is not task:  # itself it ends by what it reads
                task.cancel()

        def over(ended: asyncio.Task[None]) -> None:
            self._background.discard(ended)
            sock.close()

        traffic = Traffic(asyncio.Event, hang_up)
        task = asyncio.get_running_loop().create_task(_drive(sock, traffic), name="memd-client")
        self._background.add(task)
        task.add_done_callback(over)
        return traffic


async def _drive(sock: socket.socket, traffic: Traffic) -> None:
    """Read and write until the connection breaks, or this is cancelled."""
    loop = asyncio.get_running_loop()
    writing = loop.create_task(traffic.write(lambda data: loop.sock_sendall(sock, data)))
    try:
        await traffic.read(lambda: loop.sock_recv(sock, READ_BYTES))
    finally:
        writing.cancel()
        await asyncio.wait([writing])
