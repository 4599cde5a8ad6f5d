"""One daemon per user, with any leftover files."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd.service.lock import DaemonLock
from memd_client.errors import DaemonRunningError, SocketPathError
from tests.support.sockets import short_directory


@pytest.fixture
def socket() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory / "d" / "s"


def test_second_daemon_is_refused_with_the_pid_of_the_first(socket: Path) -> None:
    with DaemonLock.acquire(socket) as lock:
        assert repr(lock) == f"<DaemonLock {socket}.lock, held>"
        with pytest.raises(DaemonRunningError, match=f"pid {os.getpid()}") as caught:
            DaemonLock.acquire(socket)
        assert caught.value.data["pid"] == os.getpid()
    assert repr(lock).endswith("released>")
    DaemonLock.acquire(socket).release()


def test_leftover_file_is_not_a_lock(socket: Path) -> None:
    socket.parent.mkdir(mode=0o700)
    Path(f"{socket}.lock").write_text("999999999 and a long leftover line\n")
    with DaemonLock.acquire(socket) as lock:
        assert Path(lock.path).read_text() == f"{os.getpid()}\n"


def test_holder_without_a_pid_keeps_the_lock(socket: Path) -> None:
    with DaemonLock.acquire(socket) as lock:
        os.truncate(lock.path, 0)
        with pytest.raises(DaemonRunningError, match="unknown"):
            DaemonLock.acquire(socket)


def test_children_do_not_inherit_the_lock(socket: Path) -> None:
    with DaemonLock.acquire(socket) as lock:
        assert lock._descriptor is not None
        assert fcntl.fcntl(lock._descriptor, fcntl.F_GETFD) & fcntl.FD_CLOEXEC


def test_holder_detects_that_its_file_was_removed(socket: Path) -> None:
    with DaemonLock.acquire(socket) as lock:
        assert lock.is_ours()
        os.unlink(lock.path)
        assert not lock.is_ours()
        with DaemonLock.acquire(socket) as second:
            assert second.is_ours()
            assert not lock.is_ours()


def test_file_replaced_during_locking_is_locked_again(socket: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = fcntl.flock
    replaced: list[bool] = []

    def flock(descriptor: int, flags: int) -> None:
        real(descriptor, flags)
        if not replaced:
            replaced.append(True)
            os.unlink(f"{socket}.lock")

    monkeypatch.setattr(fcntl, "flock", flock)
    with DaemonLock.acquire(socket) as lock:
        assert replaced
        assert lock.is_ours()


def test_lock_that_cannot_be_created_is_reported(socket: Path) -> None:
    socket.parent.mkdir(mode=0o700)
    Path(f"{socket}.lock").symlink_to("/etc/passwd")
    with pytest.raises(SocketPathError, match=r"s\.lock"):
        DaemonLock.acquire(socket)
    with pytest.raises(SocketPathError, match="not absolute"):
        DaemonLock.acquire("s")
