"""Unix sockets to the daemon: connecting, checking the peer and waiting, without an event loop."""

from __future__ import annotations

import errno
import os
import select
import threading
import time

# `_socket` of C is all that one connection needs; the Python part of `socket` would load enums and selectors.
from socket import AF_UNIX, SOCK_STREAM, socket

from .discovery import peer_uid
from .errors import (
    ConnectionLostError,
    DaemonUnreachableError,
    DeadlineExceededError,
    FrameInvalidError,
    FrameTooBigError,
    PeerRefusedError,
)

READ_BYTES = 256 * 1024
"""Bytes received per call, so that a large reply takes few calls."""

MAX_POLL_S = 1.0
"""Longest single wait: a Ctrl-C just before it, or a request ended by another thread, doesn't interrupt it."""

BUSY_RETRY_INTERVAL_S = 0.005
"""Pause between attempts while the daemon's accept backlog is full (EAGAIN on Linux)."""

UNGREETED_ERRORS = (ConnectionLostError, DeadlineExceededError, FrameInvalidError, FrameTooBigError)
"""Errors of a greeting whose peer may not be a daemon: a program between the client and the daemon has failed."""


def try_connect(path: str) -> socket | None:
    """Return a connected, non-blocking socket without waiting; None while the accept backlog is full.

    Raises:
        DaemonUnreachableError: No daemon listens there.
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
                f"no daemon listens at {path}: {os.strerror(code)}", data={"path": path}
            )
        uid = peer_uid(sock)
        if uid not in (None, 0, os.geteuid()):
            raise PeerRefusedError(f"the daemon at {path} belongs to another user (uid {uid})")
    except BaseException:
        sock.close()
        raise
    return sock


def backlog_full_error(path: str, timeout_s: float) -> DeadlineExceededError:
    """Return the error for a daemon whose accept backlog stayed full."""
    return DeadlineExceededError(f"the daemon at {path} accepted no connection in {timeout_s:g} s")


def greeting_timeout_error(timeout_s: float) -> DeadlineExceededError:
    """Return the error for a daemon that accepted the connection and did not reply to `hello`."""
    return DeadlineExceededError(
        f"the daemon accepted the connection but did not reply in {timeout_s:g} s",
        hint="see the daemon's log, or restart it: it hangs or is overloaded",
    )


def ended_before_greeting_error(path: str) -> DaemonUnreachableError:
    """Return the error for a daemon that accepted the connection and ended before it replied to `hello`."""
    return DaemonUnreachableError(
        f"the daemon at {path} ended before it replied to `hello`", data={"path": path}
    )


def open_socket(path: str, timeout_s: float) -> socket:
    """Return a connected, non-blocking socket.

    Raises:
        DaemonUnreachableError: No daemon listens there.
        DeadlineExceededError: The daemon accepts no connection in time.
        PeerRefusedError: The daemon belongs to another user.
    """
    deadline = time.monotonic() + timeout_s
    while (sock := try_connect(path)) is None:
        if time.monotonic() >= deadline:
            raise backlog_full_error(path, timeout_s)
        threading.Event().wait(BUSY_RETRY_INTERVAL_S)
    return sock


def seconds_left(deadline: float | None) -> float | None:
    """Return the seconds until a monotonic deadline; None without one.

    Raises:
        DeadlineExceededError: The deadline has passed.
    """
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise DeadlineExceededError("no reply within the deadline")
    return left


def wait_for(sock: socket, event: int, timeout_s: float | None) -> bool:
    """Wait until a socket is readable or writable (or broken), at most `MAX_POLL_S`.

    Args:
        sock: The socket.
        event: `select.POLLIN` or `select.POLLOUT`.
        timeout_s: The longest wait, in seconds.

    Returns:
        False if it isn't yet: the caller may wait again.
    """
    number = sock.fileno()
    if number < 0:
        return True  # closed by another thread: the next call on it says so
    poll = select.poll()  # unlike select(), it takes descriptors above 1023
    poll.register(number, event)
    return bool(poll.poll((MAX_POLL_S if timeout_s is None else min(timeout_s, MAX_POLL_S)) * 1000))
