"""Service manager and signals: readiness, status, watchdog, socket activation; SIGTERM and SIGHUP.

systemd's protocol is a datagram and three variables, so no library is needed. Without systemd it does nothing.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, MutableMapping

import trio

from memd.system.log import log
from memd_client.errors import SocketPathError

FIRST_DESCRIPTOR = 3
"""Descriptor of the first socket that systemd passes (SD_LISTEN_FDS_START)."""


def notify(state: str, environ: MutableMapping[str, str] | None = None) -> bool:
    """Send one notification, and return whether it was sent. Never blocks or raises."""
    address = (os.environ if environ is None else environ).get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return False
    if address.startswith("@"):
        address = "\0" + address[1:]  # Linux's abstract namespace
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.setblocking(False)
            sock.sendto(state.encode(), address)
    except OSError as error:
        log.warning("service.notify_failed", reason=error.strerror or str(error))
        return False
    return True


def notify_ready(status: str) -> bool:
    """Notify that the daemon is ready, with a line for `systemctl status`."""
    return notify(f"READY=1\nSTATUS={_line(status)}\nMAINPID={os.getpid()}")


def notify_stopping() -> bool:
    """Notify that the daemon is stopping."""
    return notify("STOPPING=1")


def notify_reloading() -> bool:
    """Notify that the settings are being reloaded; `notify_ready` notifies the end."""
    now_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    return notify(f"RELOADING=1\nMONOTONIC_USEC={now_us}")


def notify_alive() -> bool:
    """Notify systemd's watchdog."""
    return notify("WATCHDOG=1")


def watchdog_interval_s(environ: MutableMapping[str, str] | None = None) -> float | None:
    """Return the interval of `notify_alive` in seconds; None without a watchdog.

    Half of systemd's limit, as its manual advises.
    """
    env = os.environ if environ is None else environ
    if env.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return None
    limit = env.get("WATCHDOG_USEC", "")
    return int(limit) / 2_000_000 if limit.isdecimal() and int(limit) > 0 else None


def activated_socket(
    environ: MutableMapping[str, str] | None = None, first: int = FIRST_DESCRIPTOR
) -> socket.socket | None:
    """Return the listening socket passed by systemd; None if there is none.

    Removes the variables, and children don't inherit the socket.
    """
    env = os.environ if environ is None else environ
    pid, count = env.get("LISTEN_PID", ""), env.get("LISTEN_FDS", "")
    if pid != str(os.getpid()) or not count.isdecimal() or int(count) < 1:
        return None
    for name in ("LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"):
        env.pop(name, None)
    hint = "write exactly one ListenStream, with a path, into memd.socket"
    if int(count) > 1:
        raise SocketPathError(f"systemd passed {count} sockets, expected one", hint=hint)
    try:
        sock = socket.socket(fileno=first)
    except OSError as error:
        raise SocketPathError(f"descriptor {first} is not a socket: {error.strerror}", hint=hint) from error
    listening = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
    if sock.family != socket.AF_UNIX or sock.type != socket.SOCK_STREAM or not listening:
        sock.close()
        raise SocketPathError("systemd passed a descriptor that is not a listening Unix socket", hint=hint)
    sock.set_inheritable(False)
    return sock


async def wait_for_stop() -> None:
    """Return at the first SIGTERM or SIGINT."""
    with trio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            log.info("daemon.signal", signal=signal.Signals(number).name)
            return


async def on_hangup(call: Callable[[], None]) -> None:
    """Call a function at every SIGHUP, until cancelled."""
    with trio.open_signal_receiver(signal.SIGHUP) as signals:
        async for _ in signals:
            call()


async def feed_watchdog() -> None:
    """Notify the service manager's watchdog periodically; returns immediately without one."""
    interval_s = watchdog_interval_s()
    while interval_s is not None:
        notify_alive()
        await trio.sleep(interval_s)


def _line(text: str) -> str:
    """Return a text as one line: a line break would start another assignment."""
    return " ".join(text.split())
