"""`memctl doctor` at the socket: every state a daemon, its lock and its directory can be in."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd.cli.checks.finding import OK, WARNING, WRONG, Finding
from memd.cli.checks.place import Place, check_config_socket, check_place, within
from memd.service.lock import DaemonLock
from tests.support.sockets import ServerThread, short_directory


@pytest.fixture
def path() -> Iterator[Path]:
    """Where a daemon may listen: a private directory."""
    with short_directory() as directory:
        yield directory / "memd.sock"


def last(place: Place) -> Finding:
    """Return what was found last."""
    return place.findings[-1]


def test_nobody_there_is_no_fault_and_nothing_is_made(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMD_AUTOSTART", raising=False)

    place = check_place(str(path))

    assert {each.state for each in place.findings} == {OK}
    assert (place.is_running, place.pid, place.status) == (False, 0, None)
    assert list(path.parent.iterdir()) == []


def test_nobody_there_and_nobody_may_be_started_is_a_warning(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMD_AUTOSTART", "0")

    assert last(check_place(str(path))).state == WARNING


def test_a_directory_others_may_enter_is_wrong(path: Path) -> None:
    path.parent.chmod(0o755)

    finding = last(check_place(str(path)))

    assert (finding.state, finding.fix) == (WRONG, f"chmod 700 {path.parent}")
    assert "0755" in finding.found


def test_a_file_in_the_directorys_place_is_wrong_and_a_missing_one_is_made_later(path: Path) -> None:
    path.write_text("")

    assert last(check_place(str(path / "memd.sock"))).state == WRONG
    assert last(check_place(str(path.parent / "new/memd.sock"))).state == OK


def test_a_dead_socket_is_told_from_one_that_is_listened_at(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        dead = last(check_place(str(path)))
        listening.listen()
        held = last(check_place(str(path)))
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()  # nobody has connected: that would have started a daemon

    assert (dead.state, "dead socket" in dead.found) == (WARNING, True)
    assert (held.state, "service manager listens" in held.found) == (OK, True)


def test_a_daemon_of_another_release_is_wrong_and_says_how_to_restart_it(path: Path) -> None:
    with DaemonLock.acquire(path), ServerThread(path):
        place = check_place(str(path))

    finding = next(each for each in place.findings if each.name == "version")
    assert (finding.state, finding.fix) == (WRONG, "memctl service restart")
    assert "runs memd 9.9" in finding.found
    assert (place.is_running, place.pid) == (True, os.getpid())


def test_a_daemon_that_answers_tells_how_it_is(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memd.cli.checks.place.__version__", "9.9")
    with DaemonLock.acquire(path), ServerThread(path):
        place = check_place(str(path))

    assert {each.state for each in place.findings} == {OK}
    assert place.status is not None
    assert place.status.version == "9.9"


@pytest.mark.parametrize("listens", [True, False])
def test_a_daemon_that_hangs_is_given_up_and_may_be_killed(path: Path, listens: bool) -> None:
    with DaemonLock.acquire(path), socket.socket(socket.AF_UNIX) as silent:
        if listens:
            silent.bind(str(path))
            silent.listen()
        place = check_place(str(path), hello_s=0.2)

    finding = last(place)
    assert (finding.state, finding.name) == (WRONG, "answers")
    assert ("hangs" if listens else "doesn't listen") in finding.found
    assert f"kill -9 {os.getpid()}" in finding.fix
    assert place.is_running


def test_a_disk_without_locks_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    path.with_name("memd.sock.lock").touch()
    monkeypatch.setattr(fcntl, "flock", refuse)

    finding = last(check_place(str(path)))

    assert (finding.state, finding.name) == (WRONG, "lock")


def test_clients_that_look_elsewhere_than_the_daemon_listens_are_told() -> None:
    (finding,) = check_config_socket("/run/a.sock", "/run/b.sock", environ_names_one=False)

    assert (finding.state, finding.fix) == (WRONG, "export MEMD_SOCKET=/run/b.sock")
    assert check_config_socket("/run/a.sock", "/run/b.sock", environ_names_one=True) == []
    assert check_config_socket("/run/a.sock", "/run/a.sock", environ_names_one=False) == []
    assert check_config_socket("/run/a.sock", "", environ_names_one=False) == []


def test_a_look_that_hangs_is_left_behind() -> None:
    never = threading.Event()

    assert within(0.05, never.wait, lambda: False) is False
    assert within(5, lambda: 3, lambda: 4) == 3
    with pytest.raises(ZeroDivisionError):
        within(5, lambda: 1 // 0, lambda: 4)
    never.set()
