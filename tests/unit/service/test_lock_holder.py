"""Find and stop the daemon that holds the lock."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd.service.install.lock_holder import find_holder, stop_holder
from memd.service.lock import DaemonLock
from memd_client.errors import DaemonRunningError
from tests.support.sockets import ServerThread, short_directory


@pytest.fixture
def socket() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory / "d" / "s"


def test_holder_is_found_while_it_holds_the_lock(socket: Path) -> None:
    assert find_holder(str(socket)) == 0
    with DaemonLock.acquire(socket):
        assert find_holder(str(socket)) == os.getpid()
    assert find_holder(str(socket)) == 0


def test_search_creates_no_file_and_keeps_no_lock(socket: Path) -> None:
    find_holder(str(socket))
    assert not socket.parent.exists()

    DaemonLock.acquire(socket).release()
    find_holder(str(socket))
    DaemonLock.acquire(socket).release()


def test_pid_from_the_file_alone_gets_no_signal(socket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))

    with DaemonLock.acquire(socket), pytest.raises(DaemonRunningError, match="does not respond") as caught:
        stop_holder(str(socket), os.getpid())

    assert sent == []
    assert f"kill {os.getpid()}" in caught.value.hint


def test_daemon_with_another_pid_than_its_lock_gets_no_signal(
    socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))

    with DaemonLock.acquire(socket) as lock, ServerThread(socket):
        Path(lock.path).write_text("1\n")
        with pytest.raises(DaemonRunningError, match="its lock has pid 1"):
            stop_holder(str(socket), 1)

    assert sent == []


def test_daemon_that_does_not_stop_is_reported(socket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))

    with DaemonLock.acquire(socket), ServerThread(socket), pytest.raises(DaemonRunningError) as caught:
        stop_holder(str(socket), os.getpid(), timeout_s=0)

    assert sent == [(os.getpid(), signal.SIGTERM)]
    assert f"pid {os.getpid()}" in caught.value.message
