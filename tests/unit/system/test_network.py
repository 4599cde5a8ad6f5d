"""Changes of the machine's network, reported by the kernel."""

from __future__ import annotations

import socket
import struct
import sys

import pytest
import trio
import trio.testing

from memd.system.network import NetworkMonitor

NEW_ADDRESS, DELETE_ADDRESS = 20, 21
REQUEST, EXCLUSIVE, CREATE = 0x1, 0x200, 0x400
LOOPBACK_INDEX = 1
LOCAL_ADDRESS = 2


def change_address(kind: int, address: str) -> None:
    """Add an address to the loopback interface, or remove it (rtnetlink(7)); skip the test without the permission."""
    body = struct.pack("=BBBBI", socket.AF_INET, 8, 0, 0, LOOPBACK_INDEX)
    body += struct.pack("=HH4s", 8, LOCAL_ADDRESS, socket.inet_aton(address))
    flags = REQUEST | (EXCLUSIVE | CREATE if kind == NEW_ADDRESS else 0) | 0x4  # with an acknowledgement
    message = struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.send(message)
        reply = sock.recv(4096)
    [number] = struct.unpack_from("=i", reply, 16)
    if number:
        pytest.skip(f"addresses can't be changed here: error {-number}")


@pytest.mark.skipif(sys.platform != "linux", reason="needs netlink")
def test_network_monitor_returns_once_for_a_change_and_waits_for_the_next() -> None:
    seen: list[int] = []

    async def main() -> None:
        monitor = NetworkMonitor()
        try:
            with trio.fail_after(10):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(monitor.changed)
                    await trio.testing.wait_all_tasks_blocked()
                    change_address(NEW_ADDRESS, "127.77.0.1")
                seen.append(1)
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(monitor.changed)
                    await trio.testing.wait_all_tasks_blocked()
                    change_address(DELETE_ADDRESS, "127.77.0.1")
                seen.append(2)
        finally:
            monitor.close()

    trio.run(main)

    assert seen == [1, 2]


@pytest.mark.skipif(sys.platform != "linux", reason="needs netlink")
def test_network_monitor_without_permission_waits_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "AF_NETLINK", 999)  # a family that no kernel knows

    async def main() -> bool:
        monitor = NetworkMonitor()
        with trio.move_on_after(0.05) as scope:
            await monitor.changed()
        monitor.close()
        return scope.cancelled_caught

    assert trio.run(main)
