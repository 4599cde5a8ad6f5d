"""`memctl stdio`: the daemon's socket on standard input and output."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from socket import SHUT_WR, socket

import click

from memd.cli.arguments import examples
from memd.cli.connect import CliSession
from memd_client import discovery
from memd_client.errors import DaemonUnreachableError
from memd_client.unix_socket import open_socket

STDIN, STDOUT = 0, 1

COPY_BYTES = 256 * 1024
"""Bytes copied per call, so that a large frame takes few calls."""

CONNECT_TIMEOUT_S = 5.0


@click.command(
    "stdio",
    short_help="Connect a client on another machine to the daemon.",
    epilog=examples("memctl stdio"),
)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Connect standard input and output to the daemon's socket.

    `memctl --host HOST`, and clients with the argument `host`, run this on the host over ssh. It starts the daemon
    unless MEMD_AUTOSTART is 0, and ends with either side.
    """
    session: CliSession = ctx.obj
    if sys.stdin is not None and sys.stdin.isatty():  # ssh passes a pipe
        session.output.text(ctx.get_help() + "\n")
        return
    with connect_daemon(discovery.socket_path(), autostart=os.environ.get("MEMD_AUTOSTART") != "0") as sock:
        relay(sock, STDIN, STDOUT)


def connect_daemon(path: str, *, autostart: bool) -> socket:
    """Return a socket connected to the daemon, which is started if that is allowed and necessary."""

    def connect() -> socket:
        return open_socket(path, CONNECT_TIMEOUT_S)

    try:
        return connect()
    except DaemonUnreachableError:
        if not autostart:
            raise
    return discovery.start_and_wait(path, connect)


def relay(sock: socket, source: int, sink: int) -> None:
    """Copy bytes from a socket to a descriptor, and from another descriptor to the socket, until the socket ends.

    The end of `source` ends only the sending direction. If the reader of `sink` has gone, the relay ends, too.
    """
    sock.setblocking(True)
    # Two threads: neither direction may wait for the other, or two large frames would block each other.
    threading.Thread(target=_send, args=(source, sock), daemon=True).start()
    with contextlib.suppress(OSError):  # either end has gone
        _receive(sock, sink)


def _send(source: int, sock: socket) -> None:
    """Copy from a descriptor to a socket, then end the sending direction."""
    with contextlib.suppress(OSError):  # the daemon has gone, which ends the other direction
        while data := os.read(source, COPY_BYTES):
            sock.sendall(data)
        sock.shutdown(SHUT_WR)


def _receive(sock: socket, sink: int) -> None:
    """Copy from a socket to a descriptor until the socket ends or the descriptor's reader has gone."""
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    poll.register(sink, 0)  # reports only that its reader has gone
    while True:
        if any(descriptor == sink for descriptor, _ in poll.poll()):
            return
        data = memoryview(sock.recv(COPY_BYTES))
        if not data:
            return
        while data:
            data = data[os.write(sink, data) :]
