"""Find, stop and start the daemon that holds the lock, however it was started."""

from __future__ import annotations

import fcntl
import os
import signal
import threading
import time

from memd_client import Client
from memd_client.errors import DaemonRunningError, MemdError

STOP_S = 20.0
"""How long a daemon may take to stop: requests in flight get five seconds, then indexes are closed."""

POLL_S = 0.05
"""Interval between two checks of the lock."""

HELLO_TIMEOUT_S = 5.0


def find_holder(socket: str) -> int:
    """Return the pid of the daemon that holds a socket's lock; 0 if none does.

    Creates no file, and doesn't keep the lock.
    """
    try:
        descriptor = os.open(f"{socket}.lock", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return 0
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        pid = os.pread(descriptor, 32, 0).strip()
        return int(pid) if pid.isdigit() else 0
    else:
        return 0
    finally:
        os.close(descriptor)


def stop_holder(socket: str, pid: int, *, timeout_s: float = STOP_S) -> None:
    """Stop the daemon that holds a socket's lock, and wait until the lock is free.

    Sends a signal only if the daemon itself reports the pid in the lock: the pid in the file may belong to another
    process by now.
    """
    try:
        # A daemon of any state folder: a changed folder is a reason to restart it.
        with Client(
            socket, state_dir="", connect_timeout_s=HELLO_TIMEOUT_S, timeout_s=HELLO_TIMEOUT_S
        ) as client:
            reported = client.hello().pid
    except MemdError as error:
        raise DaemonRunningError(
            f"the process that holds {socket}.lock (pid {pid}) does not respond: {error.message}",
            hint=f"check `ps -p {pid}`, and run `kill {pid}` if it is memd",
            data={"pid": pid},
        ) from error
    if reported != find_holder(socket):
        raise DaemonRunningError(
            f"the daemon on {socket} has pid {reported}, but its lock has pid {pid}",
            hint="try again: the daemon may have just restarted",
            data={"pid": reported},
        )
    os.kill(reported, signal.SIGTERM)
    deadline = time.monotonic() + timeout_s
    while find_holder(socket) == reported:
        if time.monotonic() > deadline:
            raise DaemonRunningError(
                f"the daemon (pid {reported}) did not stop within {timeout_s:g} s",
                hint=f"run `kill -KILL {reported}`; indexes survive that",
                data={"pid": reported},
            )
        threading.Event().wait(POLL_S)


def start_plain(socket: str) -> int:
    """Start the daemon without a service if it doesn't run, and return its pid."""
    with Client(socket, autostart=True) as client:
        return client.hello().pid
