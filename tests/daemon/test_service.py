"""The daemon under a service manager, and `memctl service` on a plain process."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Iterator

import pytest

from memd.service.install.lock_holder import find_holder
from tests.support.daemon import ActivatedDaemon, DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome


@pytest.fixture
def home() -> Iterator[StateHome]:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "apples are red\n")
        yield home


@pytest.fixture
def manager(home: StateHome) -> Iterator[socket.socket]:
    """The notification socket of a service manager."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.settimeout(30)
        sock.bind(str(home.root / "notify"))
        yield sock


def _unmanaged(home: StateHome) -> dict[str, str]:
    """Return an environment without a service manager."""
    tools = home.root / "bin"
    tools.mkdir(exist_ok=True)
    (tools / "systemctl").write_text("#!/bin/sh\nexit 1\n")
    (tools / "systemctl").chmod(0o755)
    return {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "HOME": str(home.root)}


@pytest.mark.skipif(
    shutil.which("systemd-socket-activate") is None, reason="systemd-socket-activate is not installed"
)
def test_daemon_keeps_the_socket_of_a_service_manager_when_it_ends(home: StateHome) -> None:
    with ActivatedDaemon(home) as daemon:
        with daemon.client() as client:
            pid = client.hello().pid
            assert client.search("apples").hits[0].path == "MEMORY.md"
        assert pid == daemon.pid, "systemd-socket-activate becomes the daemon"

        assert daemon.stop() == 0

        assert home.socket.is_socket()


def test_service_manager_is_notified_of_start_and_end(home: StateHome, manager: socket.socket) -> None:
    with DaemonProcess(home, {"NOTIFY_SOCKET": manager.getsockname()}) as daemon:
        ready = _next(manager, "READY=1")
        pid = daemon.pid
        code = daemon.stop()

    assert ready["MAINPID"] == str(pid)
    assert "1 agent" in ready["STATUS"]
    assert _next(manager, "STOPPING=1")
    assert code == 0


def test_service_manager_is_notified_of_watchdog_and_reload(home: StateHome, manager: socket.socket) -> None:
    variables = {"NOTIFY_SOCKET": manager.getsockname(), "WATCHDOG_USEC": "200000"}
    with DaemonProcess(home, variables) as daemon:
        _next(manager, "READY=1")
        _next(manager, "WATCHDOG=1")
        _next(manager, "WATCHDOG=1")

        (home.root / "memd.toml").write_text("catch_up_ms = 100\n")
        os.kill(daemon.pid, signal.SIGHUP)

        assert int(_next(manager, "RELOADING=1")["MONOTONIC_USEC"]) > 0
        assert _next(manager, "READY=1")["MAINPID"] == str(daemon.pid)


def test_plain_daemon_is_started_restarted_and_stopped(home: StateHome) -> None:
    daemon = DaemonProcess(home, _unmanaged(home))
    try:
        started = daemon.memctl("service", "start")
        first = find_holder(str(home.socket))
        again = daemon.memctl("service", "start")
        restarted = daemon.memctl("service", "restart")
        second = find_holder(str(home.socket))
        shown = daemon.memctl("service", "status")
        logged = daemon.memctl("service", "logs")
        with daemon.client() as client:
            found = client.search("apples").hits[0].path
    finally:
        stopped = daemon.memctl("service", "stop")

    assert (started.returncode, again.returncode, restarted.returncode) == (0, 0, 0), restarted.stderr
    assert f"is running already (pid {first})" in again.stderr
    assert 0 not in (first, second)
    assert first != second
    assert f"pid {second} · background process" in shown.stdout
    assert '"event": "daemon.ready"' in logged.stdout
    assert found == "MEMORY.md"
    assert stopped.returncode == 0, stopped.stderr
    assert find_holder(str(home.socket)) == 0
    assert "the daemon is not running" in daemon.memctl("service", "stop").stderr


def _next(manager: socket.socket, state: str) -> dict[str, str]:
    """Return the next notification that holds a state, as a dict."""
    while True:
        lines = manager.recv(4096).decode().splitlines()
        if state in lines:
            return dict(each.split("=", 1) for each in lines)
