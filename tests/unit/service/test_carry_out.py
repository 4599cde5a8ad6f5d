"""Steps are executed in order and printed; the first failure ends the plan."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from memd.service.install.carry_out import carry_out, print_steps
from memd.service.install.machine import CommandResult, run_command
from memd.service.install.plan import KeepCopy, MakeDirectory, RemoveFile, RunCommand, Step, WriteFile
from memd_client.errors import ServiceFailedError


def _steps(folder: Path) -> list[Step]:
    """Return one step of each kind that changes files, and a command."""
    unit = str(folder / "units" / "memd.service")
    return [
        MakeDirectory(str(folder / "units")),
        KeepCopy(str(folder / "edited"), str(folder / "edited.bak")),
        WriteFile(unit, "[Service]\n"),
        RemoveFile(str(folder / "old")),
        RunCommand(("true",)),
    ]


def test_every_step_is_executed_and_printed(tmp_path: Path) -> None:
    (tmp_path / "edited").write_text("mine")
    (tmp_path / "old").write_text("")
    lines: list[str] = []

    carry_out(_steps(tmp_path), lines.append)

    assert (tmp_path / "edited.bak").read_text() == "mine"
    assert (tmp_path / "units" / "memd.service").read_text() == "[Service]\n"
    assert stat.S_IMODE((tmp_path / "units" / "memd.service").stat().st_mode) == 0o644
    assert stat.S_IMODE((tmp_path / "units").stat().st_mode) == 0o700
    assert sorted(each.name for each in tmp_path.iterdir()) == ["edited.bak", "units"]
    assert [each.split()[0] for each in lines] == ["make", "rename", "write", "remove", "run"]


def test_dry_run_prints_steps_and_texts_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "edited").write_text("mine")
    (tmp_path / "old").write_text("")
    before, lines = sorted(tmp_path.iterdir()), list[str]()

    print_steps(_steps(tmp_path), lines.append)

    assert sorted(tmp_path.iterdir()) == before
    assert [each.split()[0] for each in lines] == ["make", "rename", "write", "[Service]", "remove", "run"]


def test_failed_command_is_an_error_with_its_output(tmp_path: Path) -> None:
    lines: list[str] = []
    steps: list[Step] = [
        RunCommand(("sh", "-c", "echo no such unit >&2; exit 5")),
        RemoveFile(str(tmp_path / "x")),
    ]

    with pytest.raises(ServiceFailedError, match=r"`sh -c .*` failed: no such unit"):
        carry_out(steps, lines.append)

    assert lines == []


def test_optional_command_may_fail() -> None:
    lines: list[str] = []

    carry_out([RunCommand(("false",), may_fail=True)], lines.append)

    assert lines == ["run false"]


def test_command_is_retried_while_the_manager_is_busy() -> None:
    answers = iter([CommandResult(5, "", "busy"), CommandResult(5, "", "busy"), CommandResult(0, "", "")])
    asked: list[Sequence[str]] = []
    waits: list[float] = []

    def run(argv: Sequence[str]) -> CommandResult:
        asked.append(argv)
        return next(answers)

    carry_out(
        [RunCommand(("launchctl", "bootstrap"), tries=3)], lambda text: None, run=run, wait=waits.append
    )

    assert len(asked) == 3
    assert len(waits) == 2


def test_unwritable_file_is_reported_and_not_written_in_part(tmp_path: Path) -> None:
    folder = tmp_path / "memd.service"
    folder.mkdir()

    with pytest.raises(ServiceFailedError, match=f"cannot write {folder}"):
        carry_out([WriteFile(str(folder), "x")], lambda text: None)

    assert os.listdir(tmp_path) == ["memd.service"]


def test_missing_command_is_a_failed_command() -> None:
    assert run_command(["/nowhere/systemctl"]).code == 127
