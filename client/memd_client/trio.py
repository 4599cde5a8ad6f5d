"""The client for trio: one object, one connection, any number of tasks. It needs trio to be installed."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any, TypeVar

import trio

from .async_client import AsyncClient
from .errors import ConnectionLostError
from .traffic import Traffic
from .unix_socket import READ_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

T = TypeVar("T")


class Client(AsyncClient):
    """A client of the daemon for trio. Its tasks may share it; their requests run at the same time.

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

    The block around it holds a nursery of its own, so the block mustn't be left half-way by an asynchronous generator
    that yields inside it. What the block raises comes out as it is, in no group.
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
        # The nursery is not told of the block's exception, which goes on as it is instead of in a group. All it waits
        # for is cancelled, so it may be shielded: no cancellation from outside can take the exception's place.
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

    def _attach(self, sock: socket.socket) -> Traffic:
        scope = trio.CancelScope(shield=True)  # a task that cleans up while all is cancelled may still ask
        traffic = Traffic(trio.Event, scope.cancel)
        self._nursery.start_soon(_drive, trio.socket.from_stdlib_socket(sock), traffic, scope)
        return traffic


async def _drive(sock: trio.socket.SocketType, traffic: Traffic, scope: trio.CancelScope) -> None:
    """Read and write until the connection breaks or the client's block ends, then close the socket."""

    async def send(data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[await sock.send(view) :]

    try:
        with scope:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(traffic.write, send)
                await traffic.read(lambda: sock.recv(READ_BYTES))
                nursery.cancel_scope.cancel()
    finally:
        sock.close()
        traffic.break_off(ConnectionLostError("the connection was closed on this side"))
