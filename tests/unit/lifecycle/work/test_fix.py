"""A failed command is paired with its own next success and what was changed between them, or with nothing."""

from __future__ import annotations

import pytest

from memd.index.work import WorkRow
from memd.lifecycle.work.fix import (
    MAX_FIX_STEPS,
    Repair,
    find_repair,
    fix_steps,
    held,
    success_line,
    together,
)
from memd.text.work.commands import command_key, normalize_command

ERROR = "e1"


def ran(text: str, status: str = "ok", *, error: str = "", folder: str = "/p") -> WorkRow:
    return WorkRow(
        1, 0, "ran", status, None, folder, command_key(text), normalize_command(text), error, text, ""
    )


def failed(text: str, error: str = ERROR) -> WorkRow:
    return ran(text, "failed", error=error)


def edited(path: str, status: str = "ok", action: str = "edited") -> WorkRow:
    return WorkRow(
        1, 0, action, status, None, "", path, path.rpartition("/")[2], "", f"new {path}", f"old {path}"
    )


def session(*rows: WorkRow, path: str = "codex/s1") -> list[WorkRow]:
    return [row._replace(id=number, path=path) for number, row in enumerate(rows, 1)]


def repaired(*rows: WorkRow) -> Repair:
    repair = find_repair(session(*rows))
    assert repair is not None
    return repair


def changes(*rows: WorkRow) -> list[str]:
    return [step.text if step.action == "ran" else step.subject for step in repaired(*rows).steps]


def test_edits_and_commands_before_the_own_success_are_the_fix() -> None:
    rows = (
        failed("cargo test"),
        edited("/p/a.rs"),
        ran("cargo add serde"),
        ran("cargo test"),
        edited("/p/b.rs"),
    )
    repair = repaired(*rows)

    assert changes(*rows) == ["/p/a.rs", "cargo add serde"]
    assert (repair.success.text, repair.is_same, repair.is_rerun) == ("cargo test", True, False)


def test_commands_that_look_read_files_fail_or_check_something_else_are_no_part_of_a_fix() -> None:
    rows = (
        failed("cargo test"),
        ran("ls src"),
        ran("git status"),
        ran("cat src/a.rs"),
        edited("/p/c.rs", action="read"),
        edited("/p/d.rs", status="failed"),
        failed("cargo add serd", "e2"),
        ran("npm run lint"),
        edited("/p/a.rs"),
        ran("cargo test"),
    )
    assert changes(*rows) == ["/p/a.rs"]


def test_change_before_another_failure_with_the_same_error_did_not_help() -> None:
    rows = (failed("make"), edited("/p/wrong.c"), failed("make"), edited("/p/right.c"), ran("make"))
    assert changes(*rows) == ["/p/right.c"]


def test_change_before_a_failure_with_another_error_is_a_part_of_the_fix() -> None:
    rows = (failed("make"), edited("/p/a.c"), failed("make", "e2"), edited("/p/b.c"), ran("make"))
    assert changes(*rows) == ["/p/a.c", "/p/b.c"]


def test_success_without_any_change_is_a_rerun() -> None:
    assert repaired(failed("npm test"), ran("ls"), ran("npm test")).is_rerun


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("npm run biuld", "npm run build"),
        ("pip install psycopg", "pip install psycopg2"),
        ("tsc --noEmit", "npx tsc --noEmit"),
        ("make deploy", "sudo make deploy"),
        ("pytest tests/pay", "PYTHONPATH=src pytest tests/pay"),
    ],
)
def test_corrected_invocation_is_the_fix_and_is_not_the_same_command(wrong: str, right: str) -> None:
    repair = repaired(failed(wrong), ran("ls"), ran(right))

    assert (repair.success.text, repair.is_same, repair.is_rerun) == (right, False, False)


@pytest.mark.parametrize(
    ("failing", "other"),
    [
        ("pytest tests/test_a.py", "pytest tests/test_b.py"),
        ("git push", "git commit -m x"),
        ("ls /nowhere", "ls /p"),
        ("cargo test", "npm test"),
        ("git push", "git status"),
    ],
)
def test_success_of_something_else_is_no_fix(failing: str, other: str) -> None:
    assert find_repair(session(failed(failing), edited("/p/a"), ran(other))) is None


def test_wider_run_of_the_same_check_after_an_edit_is_a_success() -> None:
    repair = repaired(failed("pytest tests/test_a.py"), edited("/p/a.py"), ran("pytest"))

    assert (repair.success.text, repair.is_same) == ("pytest", False)
    assert [step.subject for step in repair.steps] == ["/p/a.py"]


def test_own_success_is_preferred_to_another_invocation_that_nothing_led_to() -> None:
    rows = (failed("pytest tests"), ran("pytest tests -x"), edited("/p/a.py"), ran("pytest tests"))
    assert repaired(*rows).is_same


def test_success_in_another_folder_is_shown_with_the_change_of_folder() -> None:
    repair = repaired(failed("npm test"), ran("npm test", folder="/p/my web"))

    assert not repair.is_rerun
    assert success_line(repair) == "cd '/p/my web' && npm test"


def test_refused_and_unknown_runs_of_the_command_are_no_success() -> None:
    assert (
        find_repair(session(failed("make"), edited("/p/a"), ran("make", "refused"), ran("make", "unknown")))
        is None
    )


def test_fix_held_if_the_error_did_not_come_back_in_the_session() -> None:
    rows = session(failed("make"), edited("/p/a.c"), ran("make"), failed("make"))
    repair = find_repair(rows)
    assert repair is not None

    assert held(repair, rows[:1])
    assert not held(repair, [rows[0], rows[3]])
    assert held(repair, [rows[3]._replace(path="codex/other")])


def test_repairs_with_mostly_equal_changes_are_together() -> None:
    def repair(*steps: WorkRow) -> Repair:
        return repaired(failed("make"), *steps, ran("make"))

    equal, more, other = (
        repair(edited("/p/a")),
        repair(edited("/q/a"), edited("/q/b")),
        repair(edited("/p/c")),
    )
    assert together([equal, other, more]) == [[equal, more], [other]]


def test_steps_of_a_fix_are_the_last_ones_with_short_spans() -> None:
    rows = [edited(f"/p/{number}") for number in range(MAX_FIX_STEPS + 3)]
    steps = fix_steps(repaired(failed("make"), *rows, ran("make")))

    assert len(steps) == MAX_FIX_STEPS
    assert (steps[-1].action, steps[-1].text) == ("edited", f"/p/{MAX_FIX_STEPS + 2}")
    assert (steps[-1].old, steps[-1].new) == (f"old {steps[-1].text}", f"new {steps[-1].text}")
