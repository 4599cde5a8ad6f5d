"""The accept loop: checks of peers, the limit of connections, and stopping."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from pathlib import Path
from typing import Any

import trio

from memd.agents.registry import AgentRegistry
from memd.rpc.call import DaemonContext
from memd.rpc.connection import LAST_FRAMES_TIMEOUT_S, Connection
from memd.rpc.dispatch import error_shape
from memd.system.log import log
from memd_client.discovery import check_socket_path, ensure_private_directory, peer_uid
from memd_client.errors import (
    MemdError,
    PeerRefusedError,
    ShuttingDownError,
    SocketPathError,
    TooManyConnectionsError,
)
from memd_client.framing import encode_frame
from memd_client.session import RESPONSE

BACKLOG = 1024
"""Connections that the system queues until they are accepted, for a burst of clients at start-up."""

SOCKET_CHECK_INTERVAL_S = 10.0
"""Interval of the check that the socket file still exists."""

Identity = tuple[int, int]
"""Device and inode of a file, to detect that a path names another file."""


def bind_socket(path: str | Path) -> socket.socket:
    """Return a listening socket at a path, in a directory that only the user can enter.

    A stale socket file is removed: the caller holds the lock (`service.lock`), so no daemon listens there. Any other
    file is kept.
    """
    name = check_socket_path(path)
    ensure_private_directory(os.path.dirname(name))
    try:
        if not stat.S_ISSOCK(os.lstat(name).st_mode):
            raise SocketPathError(f"can't create the socket {name}: a file that is not a socket exists there")
        os.unlink(name)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise SocketPathError(f"can't remove the stale socket {name}: {error.strerror}") from error
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(name)
        os.chmod(name, 0o600)  # until then, the mode 0700 of the directory protects it
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise SocketPathError(f"can't listen at {name}: {error.strerror} (errno {error.errno})") from error
    return sock


async def serve(
    source: str | Path | socket.socket,
    registry: AgentRegistry,
    daemon: DaemonContext,
    *,
    task_status: trio.TaskStatus[str] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Accept and serve clients until cancelled. `task_status` gets the socket's path when it listens.

    *Cancellation*: no more connections are accepted, the socket file is removed if it is still this server's, and
    requests in flight get `limits.drain_s` before they fail with `shutting_down`. *When it fails*: without descriptors
    or RAM, accepting waits and tries again; one connection's failure is logged and doesn't affect others.
    """
    sock = source if isinstance(source, socket.socket) else bind_socket(source)
    path = str(sock.getsockname())
    identity = None if isinstance(source, socket.socket) else _identity(path)
    clients = _Connections(registry, daemon)
    hold = trio.CancelScope()
    async with trio.open_nursery() as outer:
        try:
            connections = await outer.start(_host_connections, hold)
            hold.shield = True  # from here on, connections end by draining instead of cancellation
            log.info("rpc.listening", socket=path)
            task_status.started(path)
            listener = trio.SocketListener(trio.socket.from_stdlib_socket(sock))
            await _accept(listener, clients, connections, path, identity)
        finally:
            sock.close()
            if identity is not None:
                _remove(path, identity)
            with trio.CancelScope(shield=True):
                await clients.drain()
            hold.cancel()
            log.info("rpc.stopped", socket=path)
    # Without cancellation, only a lost socket file ends the accept loop.
    raise SocketPathError(
        f"the socket file {path} was removed or replaced while the daemon listened on it",
        hint="restart the daemon, and keep other programs out of its directory",
    )


async def _accept(
    listener: trio.SocketListener,
    clients: _Connections,
    connections: trio.Nursery,
    path: str,
    identity: Identity | None,
) -> None:
    """Accept until cancelled, or until the socket file at `path` is lost."""
    async with trio.open_nursery() as accepting:
        if identity is not None:
            accepting.start_soon(_watch, path, identity, accepting.cancel_scope)
        await trio.serve_listeners(clients.admit, [listener], handler_nursery=connections)


async def _host_connections(
    hold: trio.CancelScope, *, task_status: trio.TaskStatus[trio.Nursery] = trio.TASK_STATUS_IGNORED
) -> None:
    """Keep the nursery of all connections open until `hold` is cancelled."""
    with hold:
        async with trio.open_nursery() as connections:
            task_status.started(connections)
            await trio.sleep_forever()


class _Connections:
    """The open connections: admitted, counted, and drained."""

    def __init__(self, registry: AgentRegistry, daemon: DaemonContext) -> None:
        self._registry = registry
        self._daemon = daemon
        self._open: dict[Connection, None] = {}
        self._dismissed: set[Connection] = set()
        self._admitted = 0
        self._closing = False
        self._left = trio.lowlevel.ParkingLot()

    async def admit(self, stream: trio.SocketStream) -> None:
        """Serve one connection until it ends. Raises nothing but cancellation."""
        try:
            self._check(stream)
        except MemdError as error:
            log.info("rpc.connection_refused", code=error.wire_code)
            self._daemon.meter.count("memd_connections_refused_total", error.wire_code)
            await _refuse(stream, error)
            return
        self._admitted += 1
        self._daemon.meter.count("memd_connections_total")
        connection = Connection(stream, self._registry, self._daemon, self._admitted)
        self._open[connection] = None
        self._daemon.open_connections = len(self._open)
        try:
            await connection.run()
        except Exception:
            log.exception("rpc.connection_crashed", connection=self._admitted)
        finally:
            del self._open[connection]
            self._dismissed.discard(connection)
            self._daemon.open_connections = len(self._open)
            self._left.unpark_all()

    def _check(self, stream: trio.SocketStream) -> None:
        """Raise the error of a connection that must be rejected."""
        check_peer(stream.socket)
        if self._closing:
            raise ShuttingDownError("the daemon is stopping")
        limit = self._daemon.limits.connections
        if len(self._open) - len(self._dismissed) >= limit:
            self._evict_ungreeted(TooManyConnectionsError(f"{limit} connections are open"))

    def _evict_ungreeted(self, error: MemdError) -> None:
        """Close the oldest connection without a greeting; raise the error if all have greeted.

        Otherwise, connections that never greet would block new ones until `hello_s`.
        """
        for connection in self._open:
            if not connection.greeted and connection not in self._dismissed:
                self._dismissed.add(connection)
                connection.dismiss(error)
                return
        raise error

    async def drain(self) -> None:
        """Wait until all connections have ended their requests, at most for the drain time."""
        self._closing = True
        for connection in self._open:
            connection.drain()
        with trio.move_on_after(self._daemon.limits.drain_s + 2 * LAST_FRAMES_TIMEOUT_S):
            while self._open:
                await self._left.park()


def check_peer(sock: Any) -> None:
    """Raise `PeerRefusedError` unless the peer's process runs as the daemon's user.

    On systems that don't report the peer's user (neither Linux nor macOS), the socket's private directory protects it.
    """
    try:
        uid = peer_uid(sock)
    except OSError as error:
        raise PeerRefusedError(f"the system does not report the peer's user id: {error.strerror}") from error
    except ValueError as error:
        raise PeerRefusedError("the system does not report the peer's user id: incomplete data") from error
    if uid not in (None, os.geteuid()):
        raise PeerRefusedError(f"the daemon serves uid {os.geteuid()} only; the peer is uid {uid}")


async def _refuse(stream: trio.SocketStream, error: MemdError) -> None:
    """Send the reason to a rejected client, and close."""
    frame = encode_frame([RESPONSE, 0, error_shape(error), None])
    async with stream:
        with trio.move_on_after(LAST_FRAMES_TIMEOUT_S), contextlib.suppress(trio.BrokenResourceError):
            await stream.send_all(frame)


async def _watch(path: str, identity: Identity, accepting: trio.CancelScope) -> None:
    """Stop accepting when the socket file is not this server's any more."""
    while _identity(path) == identity:  # noqa: ASYNC110 - there is no event for it
        await trio.sleep(SOCKET_CHECK_INTERVAL_S)
    log.error("rpc.socket_lost", socket=path)
    accepting.cancel()


def _identity(path: str) -> Identity | None:
    """Return the identity of the file at a path; None if there is none."""
    try:
        facts = os.lstat(path)
    except OSError:
        return None
    return facts.st_dev, facts.st_ino


def _remove(path: str, identity: Identity) -> None:
    """Remove the socket file if it is still this server's."""
    if _identity(path) == identity:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
