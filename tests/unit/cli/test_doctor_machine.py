"""`memctl doctor` about the machine: limits, clock, the service's files, and an engine that can't be asked."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from memd.cli.checks.engine import ask_engine
from memd.cli.checks.finding import OK, WARNING, WRONG
from memd.cli.checks.machine import check_clock, check_descriptors, check_watches
from memd.cli.checks.unit import check_service, find_launchd_log, find_systemd_unit
from tests.unit.cli.stage import NOW_MS

REPORT: dict[str, Any] = {"agents": [{"agent": "main", "folders": 4, "from_the_future": []}]}


def row(**facts: Any) -> dict[str, Any]:
    """Return a report with one agent, of whom these facts are true."""
    return {"agents": [REPORT["agents"][0] | facts]}


def test_more_folders_than_the_system_watches_name_the_setting(tmp_path: Path) -> None:
    limit = tmp_path / "sys/fs/inotify/max_user_watches"
    limit.parent.mkdir(parents=True)
    limit.write_text("100\n")

    (few,), (many,) = check_watches(row(folders=25), tmp_path), check_watches(row(folders=45), tmp_path)

    assert few.state == OK
    assert (many.state, many.fix) == (WARNING, "sudo sysctl fs.inotify.max_user_watches=524288")
    assert check_watches(REPORT, tmp_path / "mac") == []


def test_the_open_files_of_the_daemon_are_counted(tmp_path: Path) -> None:
    files = tmp_path / "42/fd"
    files.mkdir(parents=True)
    (tmp_path / "42/limits").write_text(
        "Limit  Soft Limit  Hard Limit  Units\nMax open files            600   9000  files\n"
    )

    fine = check_descriptors(42, tmp_path)
    assert fine.state == OK
    for number in range(500):
        (files / str(number)).touch()

    full = check_descriptors(42, tmp_path)

    assert (full.state, full.found) == (WARNING, "500 of 600 open files of the daemon")


def test_a_clock_is_judged_by_itself_and_by_the_files() -> None:
    assert check_clock(REPORT, NOW_MS).state == OK
    assert check_clock(REPORT, 86_400_000).state == WRONG
    late = check_clock(row(from_the_future=["memory/2031-01-01.md"]), NOW_MS)
    assert (late.state, "main: memory/2031-01-01.md" in late.found) == (WARNING, True)


def _unit(home: Path, program: str) -> Path:
    """Install a unit that starts a program."""
    folder = home / ".config/systemd/user"
    folder.mkdir(parents=True)
    (folder / "memd.service").write_text(f"[Service]\nExecStart={program}\n")
    return folder


def test_no_service_is_no_fault(tmp_path: Path) -> None:
    (finding,) = check_service({}, tmp_path, "linux")

    assert (finding.state, find_systemd_unit({}, tmp_path)) == (OK, None)
    assert find_launchd_log(tmp_path, "darwin") == ""


def test_a_service_that_is_not_enabled_is_a_warning_and_one_without_its_program_wrong(tmp_path: Path) -> None:
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


def test_an_engine_that_hangs_is_a_finding() -> None:
    report_, findings = ask_engine("settings", 0.3, [sys.executable, "-c", "import time; time.sleep(60)"])

    assert report_ == {}
    assert [(each.state, "did not end within 0.3 s" in each.found) for each in findings] == [(WRONG, True)]


@pytest.mark.parametrize(
    "program",
    [
        [sys.executable, "-c", "raise SystemExit('no apsw')"],
        ["/gone/python"],
        [sys.executable, "-c", "print(3)"],
    ],
)
def test_an_engine_that_can_not_be_asked_is_a_finding(program: list[str]) -> None:
    report_, findings = ask_engine("settings", 20.0, program)

    assert report_ == {}
    assert [each.state for each in findings] == [WRONG]
    assert "SystemExit" not in findings[0].found
