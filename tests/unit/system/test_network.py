"""Changes of the machine's network, reported by the kernel."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys

import pytest
import trio
import trio.testing

from memd.system.network import NetworkMonitor

ADDRESS = "127.77.0.1/8"


def change_address(action: str) -> None:
    """Add an address to the loopback interface, or delete it; skip the test without the permission."""
    program = shutil.which("ip")
    if program is None:
        pytest.skip("iproute2 is not installed")
    made = subprocess.run(
        [program, "address", action, ADDRESS, "dev", "lo"], capture_output=True, text=True, check=False
    )
    if made.returncode:
        pytest.skip(f"addresses can't be changed here: {made.stderr.strip()}")


@pytest.mark.skipif(sys.platform != "linux", reason="needs netlink")
def test_network_monitor_returns_once_for_a_change_and_waits_for_the_next() -> None:
    seen: list[int] = []

    async def main() -> None:
        monitor = NetworkMonitor()
        try:
            with trio.fail_after(120):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(monitor.changed)
                    await trio.testing.wait_all_tasks_blocked()
                    change_address("add")
                seen.append(1)
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(monitor.changed)
                    await trio.testing.wait_all_tasks_blocked()
                    change_address("delete")
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
