"""Reports that the machine's network changed: an address, a link or a route appeared or vanished."""

from __future__ import annotations

import socket
from typing import Final

import trio

from memd.system.log import log

QUIET_S: Final = 0.3
"""A change consists of several messages; they count as one until it was quiet for this long."""

_LINK, _IPV4_ADDRESS, _IPV4_ROUTE, _IPV6_ADDRESS, _IPV6_ROUTE = 0x1, 0x10, 0x40, 0x100, 0x400
_GROUPS: Final = _LINK | _IPV4_ADDRESS | _IPV4_ROUTE | _IPV6_ADDRESS | _IPV6_ROUTE
"""Multicast groups of Linux's route messages (rtnetlink(7))."""

_ROUTE_FAMILY: Final = 17
"""PF_ROUTE of macOS, which sends every change to each socket. Linux has netlink."""

MESSAGE_BYTES: Final = 65_536


class NetworkMonitor:
    """Waits for changes of the network; on systems that don't report them, it waits for ever.

    Resources: a socket until `close`.
    """

    def __init__(self) -> None:
        self._socket = _open()

    def __repr__(self) -> str:
        return f"<NetworkMonitor {'off' if self._socket is None else 'on'}>"

    async def changed(self) -> None:
        """Wait for the next change, and until it is complete."""
        if self._socket is None:
            await trio.sleep_forever()
        await _receive(self._socket)
        while True:
            with trio.move_on_after(QUIET_S) as scope:
                await _receive(self._socket)
            if scope.cancelled_caught:
                return

    def close(self) -> None:
        """Close the socket."""
        if self._socket is not None:
            self._socket.close()


async def _receive(sock: trio.socket.SocketType) -> None:
    """Read one message; an overflow means that many were lost, which is a change too."""
    try:
        await sock.recv(MESSAGE_BYTES)
    except OSError as error:
        log.debug("network.message_lost", error=error.strerror)


def _open() -> trio.socket.SocketType | None:
    """Return a socket that receives the system's messages; None if it has none for this process."""
    family: int | None = getattr(socket, "AF_NETLINK", None)
    has_netlink = family is not None
    try:
        sock = socket.socket(_ROUTE_FAMILY if family is None else family, socket.SOCK_RAW, 0)
        if has_netlink:
            sock.bind((0, _GROUPS))
    except OSError as error:  # a service may be forbidden to
        log.info("network.not_observed", error=error.strerror)
        return None
    sock.setblocking(False)
    return trio.socket.from_stdlib_socket(sock)
