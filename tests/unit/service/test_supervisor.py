"""Notifications to systemd, and socket activation."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd.service import supervisor
from memd_client.errors import SocketPathError
from tests.support.sockets import short_directory


@pytest.fixture
def directory() -> Iterator[Path]:
    with short_directory() as path:
        yield path


@pytest.fixture(params=["path", "abstract"])
def listener(
    request: pytest.FixtureRequest, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[socket.socket]:
    name = str(directory / "n") if request.param == "path" else f"@memd-test-{directory.name}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        sock.settimeout(10)
        sock.bind(name.replace("@", "\0"))
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        yield sock


def test_every_state_is_sent_to_systemd(listener: socket.socket) -> None:
    assert supervisor.notify_ready("serving\n2 agents")
    assert listener.recv(999).decode() == f"READY=1\nSTATUS=serving 2 agents\nMAINPID={os.getpid()}"
    assert supervisor.notify_alive()
    assert listener.recv(999) == b"WATCHDOG=1"
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    assert supervisor.notify_reloading()
    reloading, moment = listener.recv(999).decode().split("\n")
    assert reloading == "RELOADING=1"
    assert before <= int(moment.removeprefix("MONOTONIC_USEC=")) <= before + 60_000_000
    assert supervisor.notify_stopping()
    assert listener.recv(999) == b"STOPPING=1"


@pytest.mark.parametrize("address", ["", "relative", "/nowhere/at/all", "@nobody-listens-here"])
def test_missing_notify_socket_is_ignored(address: str) -> None:
    assert not supervisor.notify("READY=1", {"NOTIFY_SOCKET": address})


def test_without_systemd_nothing_is_sent() -> None:
    assert not supervisor.notify("READY=1", {})
    assert supervisor.watchdog_interval_s({}) is None
    assert supervisor.activated_socket({}) is None


def test_watchdog_interval_is_half_its_limit() -> None:
    assert supervisor.watchdog_interval_s({"WATCHDOG_USEC": "30000000"}) == 15
    assert supervisor.watchdog_interval_s({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}) is None
    assert supervisor.watchdog_interval_s({"WATCHDOG_USEC": "soon"}) is None


def test_passed_socket_is_used(directory: Path) -> None:
    given = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    given.bind(str(directory / "s"))
    given.listen()
    given.set_inheritable(True)
    environ = {
        "LISTEN_PID": str(os.getpid()),
        "LISTEN_FDS": "1",
        "LISTEN_FDNAMES": "memd.socket",
        "HOME": "/h",
    }
    taken = supervisor.activated_socket(environ, first=given.detach())
    assert taken is not None
    with taken:
        assert taken.getsockname() == str(directory / "s")
        assert not taken.get_inheritable()
        assert environ == {"HOME": "/h"}


def test_socket_for_another_process_is_ignored() -> None:
    assert supervisor.activated_socket({"LISTEN_PID": "1", "LISTEN_FDS": "1"}) is None


def test_other_descriptors_are_refused(directory: Path) -> None:
    environ = {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "2"}
    with pytest.raises(SocketPathError, match="2 sockets"):
        supervisor.activated_socket(environ)
    deaf = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with pytest.raises(SocketPathError, match="not a listening Unix socket"):
        supervisor.activated_socket(
            {**environ, "LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}, first=deaf.detach()
        )
    file = os.open(directory, os.O_RDONLY)
    with pytest.raises(SocketPathError, match="not a socket"):
        supervisor.activated_socket({"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}, first=file)
    os.close(file)
