"""Steps done in their order, each told; the first that fails is named and ends it."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

import pytest

from memd.service.install.carry_out import carry_out, describe
from memd.service.install.machine import Ran, run_command
from memd.service.install.plan import KeepCopy, MakeDirectory, RemoveFile, Run, Step, WriteFile
from memd_client.errors import ServiceFailedError


def _steps(folder: Path) -> list[Step]:
    """Return one of each step that changes files, and a command."""
    unit = str(folder / "units" / "memd.service")
    return [
        MakeDirectory(str(folder / "units")),
        KeepCopy(str(folder / "edited"), str(folder / "edited.bak")),
        WriteFile(unit, "[Service]\n"),
        RemoveFile(str(folder / "old")),
        Run(("true",)),
    ]


def test_every_step_is_done_and_told(tmp_path: Path) -> None:
    (tmp_path / "edited").write_text("mine")
    (tmp_path / "old").write_text("")
    told: list[str] = []

    carry_out(_steps(tmp_path), told.append)

    assert (tmp_path / "edited.bak").read_text() == "mine"
    assert (tmp_path / "units" / "memd.service").read_text() == "[Service]\n"
    assert stat.S_IMODE((tmp_path / "units" / "memd.service").stat().st_mode) == 0o644
    assert stat.S_IMODE((tmp_path / "units").stat().st_mode) == 0o700
    assert sorted(each.name for each in tmp_path.iterdir()) == ["edited.bak", "units"]
    assert [each.split()[0] for each in told] == ["make", "keep", "write", "remove", "run"]


def test_describing_tells_the_same_and_the_texts_and_does_nothing(tmp_path: Path) -> None:
    (tmp_path / "edited").write_text("mine")
    (tmp_path / "old").write_text("")
    before, told = sorted(tmp_path.iterdir()), list[str]()

    describe(_steps(tmp_path), told.append)

    assert sorted(tmp_path.iterdir()) == before
    assert [each.split()[0] for each in told] == ["make", "keep", "write", "[Service]", "remove", "run"]


def test_a_command_that_fails_is_named_with_what_it_said_and_ends_it(tmp_path: Path) -> None:
    told: list[str] = []
    steps: list[Step] = [Run(("sh", "-c", "echo no such unit >&2; exit 5")), RemoveFile(str(tmp_path / "x"))]

    with pytest.raises(ServiceFailedError, match=r"`sh -c .*` failed: no such unit"):
        carry_out(steps, told.append)

    assert told == []


def test_a_command_may_fail_where_there_was_nothing_to_do() -> None:
    told: list[str] = []

    carry_out([Run(("false",), may_fail=True)], told.append)

    assert told == ["run false"]


def test_a_manager_that_is_still_busy_is_asked_again() -> None:
    answers = iter([Ran(5, "", "busy"), Ran(5, "", "busy"), Ran(0, "", "")])
    asked: list[Sequence[str]] = []
    waits: list[float] = []

    def run(argv: Sequence[str]) -> Ran:
        asked.append(argv)
        return next(answers)

    carry_out([Run(("launchctl", "bootstrap"), tries=3)], lambda text: None, run=run, wait=waits.append)

    assert len(asked) == 3
    assert len(waits) == 2


def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing_half_done(tmp_path: Path) -> None:
    folder = tmp_path / "memd.service"
    folder.mkdir()

    with pytest.raises(ServiceFailedError, match=f"can't write {folder}"):
        carry_out([WriteFile(str(folder), "x")], lambda text: None)

    assert os.listdir(tmp_path) == ["memd.service"]


def test_a_command_that_is_not_there_is_told_like_one_that_fails() -> None:
    assert run_command(["/nowhere/systemctl"]).code == 127
