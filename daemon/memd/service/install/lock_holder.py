"""The daemon that holds the lock, whoever started it: found, asked who it is, ended."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import time

from memd_client import Client
from memd_client.errors import DaemonRunningError, MemdError

STOP_S = 20.0
"""How long a daemon may take to end: requests in flight get five seconds, indexes are closed."""

POLL_S = 0.05
"""Wait between two looks at the lock."""

HELLO_S = 5.0
"""How long a daemon may take to say who it is."""


def find_holder(socket: str) -> int:
    """Return the pid noted by the daemon that holds a socket's lock; 0 where nobody holds it.

    Nothing is made and the lock isn't kept.
    """
    try:
        descriptor = os.open(f"{socket}.lock", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return 0
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        noted = os.pread(descriptor, 32, 0).strip()
        return int(noted) if noted.isdigit() else 0
    else:
        return 0
    finally:
        os.close(descriptor)


def stop_holder(socket: str, pid: int, *, timeout_s: float = STOP_S) -> None:
    """End the daemon that holds a socket's lock, and wait until the lock is free.

    A signal is sent only where the daemon itself says that it has the pid the lock names: a pid that was read from a
    file may by now be another process.
    """
    try:
        with Client(socket, connect_timeout_s=HELLO_S, timeout_s=HELLO_S) as client:
            said = client.hello().pid
    except MemdError as error:
        raise DaemonRunningError(
            f"the process that holds {socket}.lock (pid {pid}) does not answer: {error.message}",
            hint=f"See `ps -p {pid}`; if it is memd, end it with `kill {pid}`.",
            data={"pid": pid},
        ) from error
    if said != find_holder(socket):
        raise DaemonRunningError(
            f"the daemon that answers on {socket} has pid {said}, and its lock names another (pid {pid})",
            hint="Try again: it may just have been started anew.",
            data={"pid": said},
        )
    os.kill(said, signal.SIGTERM)
    deadline = time.monotonic() + timeout_s
    while find_holder(socket) == said:
        if time.monotonic() > deadline:
            raise DaemonRunningError(
                f"the daemon (pid {said}) did not end in {timeout_s:g} s",
                hint=f"End it with `kill -KILL {said}`; indexes survive that.",
                data={"pid": said},
            )
        threading.Event().wait(POLL_S)


def start_plain(socket: str) -> int:
    """Start a daemon without a service where none answers, and return the pid of the one that does."""
    with Client(socket, autostart=True) as client:
        return client.hello().pid
