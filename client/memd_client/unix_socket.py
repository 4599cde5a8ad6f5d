"""A Unix socket to the daemon: connected, its peer known, and waited for. What needs an event loop is not here."""

from __future__ import annotations

import errno
import os
import select
import threading
import time

# C's part of the standard library's sockets is all of one connection; the rest brings 0.7 MB of enums and selectors.
from socket import AF_UNIX, SOCK_STREAM, socket

from .discovery import peer_uid
from .errors import DaemonUnreachableError, DeadlineExceededError, PeerRefusedError

READ_BYTES = 256 * 1024
"""Bytes asked for at once: a large reply takes few calls."""

SIGNALS_S = 1.0
"""How long one wait lasts at most: a Ctrl-C that comes just before it, and a request that another thread
ends, don't end it by themselves."""

BUSY_WAIT_S = 0.005
"""Wait between tries while the daemon's queue of new connections is full (EAGAIN on Linux)."""


def try_connect(path: str) -> socket | None:
    """Return a connected, non-blocking socket without waiting; None while the daemon's queue is full.

    Raises:
        DaemonUnreachableError: Nobody listens there.
        PeerRefusedError: The daemon belongs to another user.
    """
    sock = socket(AF_UNIX, SOCK_STREAM)
    try:
        sock.setblocking(False)
        code = sock.connect_ex(path)
        if code == errno.EAGAIN:
            sock.close()
            return None
        if code:
            raise DaemonUnreachableError(
                f"nobody answers at {path}: {os.strerror(code)}", data={"path": path}
            )
        uid = peer_uid(sock)
        if uid not in (None, 0, os.geteuid()):
            raise PeerRefusedError(f"the daemon at {path} belongs to another user (uid {uid})")
    except BaseException:
        sock.close()
        raise
    return sock


def queue_full(path: str, timeout_s: float) -> DeadlineExceededError:
    """Return the error for a daemon whose queue of new connections stayed full."""
    return DeadlineExceededError(f"the daemon at {path} accepted no connection in {timeout_s:g} s")


def no_greeting(timeout_s: float) -> DeadlineExceededError:
    """Return the error for a daemon that took the connection and did not answer `hello`."""
    return DeadlineExceededError(
        f"the daemon took the connection and did not answer in {timeout_s:g} s",
        hint="The daemon is hung or overloaded: see its log, or end it and let it start anew.",
    )


def not_greeted(path: str) -> DaemonUnreachableError:
    """Return the error for a daemon that took the connection and ended, or was ended, before it answered `hello`."""
    return DaemonUnreachableError(
        f"the daemon at {path} ended before it answered `hello`", data={"path": path}
    )


def open_socket(path: str, timeout_s: float) -> socket:
    """Return a connected, non-blocking socket.

    Raises:
        DaemonUnreachableError: Nobody listens there.
        DeadlineExceededError: The daemon accepts no connection in time.
        PeerRefusedError: The daemon belongs to another user.
    """
    deadline = time.monotonic() + timeout_s
    while (sock := try_connect(path)) is None:
        if time.monotonic() >= deadline:
            raise queue_full(path, timeout_s)
        threading.Event().wait(BUSY_WAIT_S)
    return sock


def seconds_left(deadline: float | None) -> float | None:
    """Return the seconds left.

    Raises:
        DeadlineExceededError: None are.
    """
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise DeadlineExceededError("no reply in the time allowed")
    return left


def wait_for(sock: socket, event: int, timeout_s: float | None) -> bool:
    """Wait until a socket can be read or written (or is broken), but no longer than `SIGNALS_S`.

    Args:
        sock: The socket.
        event: `select.POLLIN` or `select.POLLOUT`.
        timeout_s: How long at most, in seconds.

    Returns:
        False: it can't yet. Whoever needs to goes on waiting.
    """
    number = sock.fileno()
    if number < 0:
        return True  # closed by another thread: the next call on it says so
    poll = select.poll()  # unlike select(), at home with descriptors above 1023
    poll.register(number, event)
    return bool(poll.poll((SIGNALS_S if timeout_s is None else min(timeout_s, SIGNALS_S)) * 1000))
