"""Steps of a session become rows of the index."""

from __future__ import annotations

from memd.programs.work import Command, FileChange
from memd.sources.work_rows import SessionWork, row_of


def test_a_failed_command_has_its_error_and_its_folder() -> None:
    row = row_of(Command("make all", "", "failed", 2, "make: *** no rule to make target", 7, 1000), "/p")
    assert (row.action, row.status, row.exit_code, row.folder, row.text) == (
        "ran",
        "failed",
        2,
        "/p",
        "make all",
    )
    assert row.error
    assert row.detail == "make: *** no rule to make target"
    assert row_of(Command("make all", "/p", "ok", 0, ""), "").error == ""


def test_a_relative_path_is_completed_with_the_folder_of_the_session() -> None:
    row = row_of(FileChange("src/a.py", "edited", "ok", 3), "/p")
    assert (row.subject, row.line) == ("/p/src/a.py", "a.py")


def test_a_file_that_is_read_again_has_one_row() -> None:
    read, edit = FileChange("/p/a.py", "read", "ok", 1), FileChange("/p/a.py", "edited", "ok", 2)
    rows = SessionWork().update([read, edit, read, edit], "/p")
    assert [row.action for row in rows] == ["read", "edited", "edited"]


def test_rows_of_unchanged_steps_are_kept_and_a_late_result_changes_its_row() -> None:
    work = SessionWork()
    steps = [Command("make", "/p", "unknown"), Command("ls", "/p", "ok")]
    before = work.update(steps, "/p")
    steps[0] = steps[0]._replace(status="failed", output="make: error 1")
    after = work.update([*steps, Command("make", "/p", "ok")], "/p")
    assert after[1] is before[1]
    assert [row.status for row in after] == ["failed", "ok", "ok"]
