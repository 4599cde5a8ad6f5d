"""Processes whose standard error is full, closed, or without a reader."""

from __future__ import annotations

import contextlib
import os
import pty
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

from tests.support.mcp_session import COMMAND
from tests.support.state_homes import StateHome

OPEN_STREAMS = "import os, sys; os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
CLOSED_STREAMS = (
    "import os, sys; os.closerange(0, 3); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
)


@contextlib.contextmanager
def daemon(home: StateHome, stderr: int, launcher: str = OPEN_STREAMS) -> Iterator[subprocess.Popen[bytes]]:
    """Run a daemon with a given standard error."""
    process = subprocess.Popen(
        [sys.executable, "-c", launcher, "-m", "memd"],
        env={**os.environ, **home.environ()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def mcp_server(home: StateHome, stderr: int, timeout_s: float) -> Iterator[subprocess.Popen[bytes]]:
    """Run `memctl mcp` with a given standard error; it is killed after the timeout."""
    server = subprocess.Popen(
        [sys.executable, *COMMAND],
        env={**os.environ, **home.environ(), "MEMD_AUTOSTART": "0"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
    )
    watch = threading.Timer(timeout_s, server.kill)
    watch.start()
    try:
        yield server
    finally:
        watch.cancel()
        server.kill()
        server.wait()
        for stream in (server.stdin, server.stdout):
            assert stream is not None
            stream.close()


def full_pipe() -> tuple[int, Callable[[], None]]:
    """Return the write end of a full pipe without a reader."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(write, b"x" * 4096)
    os.set_blocking(write, True)
    return write, lambda: os.close(read)


def full_socket() -> tuple[int, Callable[[], None]]:
    """Return one end of a full socket pair without a reader."""
    near, far = socket.socketpair()
    near.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            near.send(b"x" * 4096)
    near.setblocking(True)
    return near.detach(), far.close


def full_terminal() -> tuple[int, Callable[[], None]]:
    """Return a full terminal without a reader."""
    master, slave = pty.openpty()
    os.set_blocking(slave, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(slave, b"x" * 256)
    os.set_blocking(slave, True)
    return slave, lambda: os.close(master)
