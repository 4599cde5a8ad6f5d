"""`memctl doctor`: the display of findings, and the exit code."""

from __future__ import annotations

import json

import pytest

from memd.cli.doctor import finding_lines
from memd.service.checks.finding import OK, WARNING, WRONG, Finding
from memd_client.errors import DaemonStartError
from tests.unit.cli.memctl_runner import MAIN, memctl, status_of

FINDINGS = [
    Finding("installation", "Python", OK, "3.11.7"),
    Finding("daemon", "answers", WRONG, "pid 42 hangs", "kill -9 42"),
    Finding("installation", "SQLite", WARNING, "old", "Upgrade it."),
]


def test_findings_are_shown_by_area_with_symbol_and_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memd.cli.doctor.examine", lambda *_: FINDINGS)

    ran = memctl("doctor")

    assert ran.code == 1
    assert ran.opened == 0
    assert ran.out == (
        "installation\n"
        "  ✓ Python          3.11.7\n"
        "  ! SQLite          old\n"
        "                    hint: Upgrade it.\n"
        "\n"
        "daemon\n"
        "  ✗ answers         pid 42 hangs\n"
        "                    hint: kill -9 42\n"
        "\n"
        "1 problem, 1 warning, 3 checks\n"
    )


@pytest.mark.parametrize(("state", "code"), [(OK, 0), (WARNING, 0), (WRONG, 1)])
def test_only_problems_exit_with_1(state: str, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memd.cli.doctor.examine", lambda *_: [Finding("a", "b", state, "c")])

    ran = memctl("doctor", "--json")

    assert ran.code == code
    assert json.loads(ran.out) == {
        "ok": state != WRONG,
        "wrong": int(state == WRONG),
        "warnings": int(state == WARNING),
        "findings": [{"area": "a", "name": "b", "state": state, "found": "c", "fix": ""}],
    }


def test_encoding_without_the_symbols_gets_letters() -> None:
    plain = [each.head for each in finding_lines(FINDINGS, plain=True) if each.head]

    assert plain == [("  ok Python ", "good"), ("  ! SQLite ", "warn"), ("  x answers ", "bad")]


def test_start_starts_the_daemon_and_a_failure_is_a_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("memd.cli.doctor.examine", lambda *_: [])

    started = memctl("doctor", "--start", status=status_of(MAIN))
    failed = memctl("doctor", "--start", refused=DaemonStartError("it ended with status 1"))

    assert (started.code, started.opened) == (0, 1)
    assert (failed.code, "it ended with status 1" in failed.out) == (1, True)
