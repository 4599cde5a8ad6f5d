"""Findings of `memctl doctor` on the socket, the daemon and its service, and their deadlines."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from memd.service.checks.daemon import DaemonProbe, check_config_file, check_config_socket, probe_daemon
from memd.service.checks.deadlines import run_report, run_with_timeout
from memd.service.checks.finding import OK, WARNING, WRONG, Finding
from memd.service.checks.service_files import check_service, find_launchd_log, find_systemd_unit
from memd.service.lock import DaemonLock
from tests.support.sockets import ServerThread, short_directory


def _unit(home: Path, program: str) -> Path:
    """Install a unit that starts a program."""
    folder = home / ".config/systemd/user"
    folder.mkdir(parents=True)
    (folder / "memd.service").write_text(f"[Service]\nExecStart={program}\n")
    return folder


def test_missing_service_is_ok(tmp_path: Path) -> None:
    (finding,) = check_service({}, tmp_path, "linux")

    assert (finding.state, find_systemd_unit({}, tmp_path)) == (OK, None)
    assert find_launchd_log(tmp_path, "darwin") == ""


def test_disabled_service_is_a_warning_and_missing_program_is_wrong(tmp_path: Path) -> None:
    folder = _unit(tmp_path, sys.executable)

    (idle,) = check_service({}, tmp_path, "linux")
    (folder / "sockets.target.wants").mkdir()
    (folder / "sockets.target.wants/memd.socket").symlink_to(folder / "memd.socket")
    (enabled,) = check_service({}, tmp_path, "linux")
    (folder / "memd.service").write_text("[Service]\nExecStart=/gone/bin/memd\n")
    (broken,) = check_service({}, tmp_path, "linux")

    assert (idle.state, idle.fix) == (WARNING, "memctl service install")
    assert (enabled.state, "memd.socket" in enabled.found) == (OK, True)
    assert (broken.state, "/gone/bin/memd" in broken.found) == (WRONG, True)


def test_hanging_report_is_a_finding() -> None:
    report_, findings = run_report(
        "settings", timeout_s=0.3, program=[sys.executable, "-c", "import time; time.sleep(60)"]
    )

    assert report_ == {}
    assert [(each.state, "timed out after 0.3 s" in each.found) for each in findings] == [(WRONG, True)]


@pytest.mark.parametrize(
    "program",
    [
        [sys.executable, "-c", "raise SystemExit('no apsw')"],
        ["/gone/python"],
        [sys.executable, "-c", "print(3)"],
    ],
)
def test_failing_report_is_a_finding(program: list[str]) -> None:
    report_, findings = run_report("settings", program=program)

    assert report_ == {}
    assert [each.state for each in findings] == [WRONG]
    assert "SystemExit" not in findings[0].found


@pytest.fixture
def path() -> Iterator[Path]:
    """The path of a socket in a private directory."""
    with short_directory() as directory:
        yield directory / "memd.sock"


def last(place: DaemonProbe) -> Finding:
    """Return the last finding."""
    return place.findings[-1]


def test_missing_daemon_is_ok_and_nothing_is_created(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMD_AUTOSTART", raising=False)

    place = probe_daemon(str(path))

    assert {each.state for each in place.findings} == {OK}
    assert (place.is_running, place.pid, place.status) == (False, 0, None)
    assert list(path.parent.iterdir()) == []


def test_missing_daemon_without_autostart_is_a_warning(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMD_AUTOSTART", "0")

    assert last(probe_daemon(str(path))).state == WARNING


def test_directory_open_to_other_users_is_wrong(path: Path) -> None:
    path.parent.chmod(0o755)

    finding = last(probe_daemon(str(path)))

    assert (finding.state, finding.fix) == (WRONG, f"chmod 700 {path.parent}")
    assert "0755" in finding.found


def test_file_instead_of_the_directory_is_wrong_and_a_missing_one_is_ok(path: Path) -> None:
    path.write_text("")

    assert last(probe_daemon(str(path / "memd.sock"))).state == WRONG
    assert last(probe_daemon(str(path.parent / "new/memd.sock"))).state == OK


def test_stale_socket_differs_from_one_with_a_listener(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        dead = last(probe_daemon(str(path)))
        listening.listen()
        held = last(probe_daemon(str(path)))
        listening.setblocking(False)
        with pytest.raises(BlockingIOError):
            listening.accept()  # no connection was made: it would have started a daemon

    assert (dead.state, "killed daemon left its socket" in dead.found) == (WARNING, True)
    assert (held.state, "service manager listens" in held.found) == (OK, True)


def test_daemon_of_another_release_is_wrong_with_the_restart_command(path: Path) -> None:
    with DaemonLock.acquire(path), ServerThread(path):
        place = probe_daemon(str(path))

    finding = next(each for each in place.findings if each.name == "version")
    assert (finding.state, finding.fix) == (WRONG, "memctl service restart")
    assert "runs memd 9.9" in finding.found
    assert (place.is_running, place.pid) == (True, os.getpid())


def test_responding_daemon_provides_its_status(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memd.service.checks.daemon.__version__", "9.9")
    with DaemonLock.acquire(path), ServerThread(path):
        place = probe_daemon(str(path))

    assert {each.state for each in place.findings} == {OK}
    assert place.status is not None
    assert place.status.version == "9.9"


@pytest.mark.parametrize("listens", [True, False])
def test_hanging_daemon_is_wrong_with_the_kill_command(path: Path, listens: bool) -> None:
    with DaemonLock.acquire(path), socket.socket(socket.AF_UNIX) as silent:
        if listens:
            silent.bind(str(path))
            silent.listen()
        place = probe_daemon(str(path), hello_s=0.2)

    finding = last(place)
    assert (finding.state, finding.name) == (WRONG, "answers")
    assert ("does not respond" if listens else "does not listen") in finding.found
    assert f"kill -9 {os.getpid()}" in finding.fix
    assert place.is_running


def test_disk_without_locks_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    path.with_name("memd.sock.lock").touch()
    monkeypatch.setattr(fcntl, "flock", refuse)

    finding = last(probe_daemon(str(path)))

    assert (finding.state, finding.name) == (WRONG, "lock")


def test_different_sockets_of_clients_and_daemon_are_reported() -> None:
    (finding,) = check_config_socket("/run/a.sock", "/run/b.sock")

    assert (finding.state, finding.fix) == (WRONG, "export MEMD_SOCKET=/run/b.sock")
    assert check_config_socket("/run/a.sock", "/run/a.sock") == []
    assert check_config_socket("/run/a.sock", "") == []


def test_settings_file_of_this_environment_must_be_the_daemons(tmp_path: Path) -> None:
    def check(named: str) -> list[Finding]:
        return check_config_file({"OPENCLAW_CONFIG_PATH": named}, tmp_path, str(tmp_path / "a.json"))

    (finding,) = check("~/b.json")

    assert finding.state == WARNING
    assert f"reads {tmp_path}/a.json" in finding.found
    assert f"is {tmp_path}/b.json" in finding.found
    assert check("") == check("~/a.json") == []


def test_hanging_check_is_abandoned() -> None:
    never = threading.Event()

    assert run_with_timeout(0.05, never.wait, lambda: False) is False
    assert run_with_timeout(5, lambda: 3, lambda: 4) == 3
    with pytest.raises(ZeroDivisionError):
        run_with_timeout(5, lambda: 1 // 0, lambda: 4)
    never.set()
