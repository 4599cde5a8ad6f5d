"""Work in the real programs: a model on loopback breaks a build and fixes it, and memd reads what was really done."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from memd.programs.work import Command, FileChange, Step, error_line
from tests.support.real_sessions import load_work, work_on_terminal, working_program
from tests.support.real_work import (
    DECISION,
    FIXING,
    REQUEST,
    SEARCH,
    CreateFile,
    Outcome,
    ReadFile,
    ReplaceLines,
    RunLine,
    WorkStep,
    last_commit,
    make_project,
    outcomes,
)

pytestmark = pytest.mark.long

RECORDING = ("claude-code", "codex", "codex-script", "gemini", "copilot")
"""Programs whose work memd reads; `codex-script` is Codex with a model that runs its commands from JavaScript."""


LONG = (
    "python3 -c \"import time; [print('line', number, 'of a long log') for number in range(9000)]; time.sleep(1);"
    " raise ValueError('port 8443 is taken')\" 2>&1"
)
SILENT = "sh -c 'exit 3'"
DROPS_THE_END = ("claude-code", "copilot")
"""Programs that record only the beginning of a long output."""


class Worked(NamedTuple):
    """A session of a program, and what the same steps do without it."""

    name: str
    folder: Path
    commit: str
    requests: list[str]
    steps: list[Step]
    truth: list[tuple[WorkStep, Outcome | None]]


@pytest.fixture(scope="module", params=RECORDING)
def worked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Worked:
    """A session on a terminal in which the model did all steps."""
    name, home = request.param, tmp_path_factory.mktemp("work")
    make_project(home / "shop")
    make_project(home / "alone")
    (home / "alone" / "ports.txt").touch()
    truth = list(outcomes(FIXING, home / "alone"))
    with working_program(name, home, FIXING) as (program, _):
        work_on_terminal(program, name, REQUEST)
        (conversation,) = load_work(program)
    said = [message.text for message in conversation.messages]
    assert conversation.work is not None
    steps = list(conversation.work)
    return Worked(name, program.folder, last_commit(program.folder), said, steps, truth)


def is_read_by_command(worked: Worked, step: WorkStep) -> bool:
    """Return whether a program has no tool for a step, and its model runs `cat` instead."""
    return isinstance(step, ReadFile) and worked.name.startswith("codex")


def test_session_did_all_steps_and_has_only_words_of_user_and_model_as_messages(worked: Worked) -> None:
    assert worked.commit.split() == [
        *"Name the limit of the queue".split(),
        *("LIMITS.txt", "ports.txt", "queue.c", "queue.h"),
    ]
    assert worked.requests == [REQUEST, DECISION]


def test_work_has_each_step_once_in_order_with_its_time(worked: Worked) -> None:
    lines = [step.line if isinstance(step, Command) else Path(step.path).name for step in worked.steps]
    expected = []
    for step, _ in worked.truth:
        if isinstance(step, RunLine):
            expected.append(step.line)
        else:
            expected.append(f"cat {step.path}" if is_read_by_command(worked, step) else step.path)
    times = [step.time_ms or 0 for step in worked.steps]
    assert lines == expected
    assert times == sorted(times)
    assert times[0] > 0
    assert [step.place for step in worked.steps] == sorted(step.place for step in worked.steps)


def test_commands_have_folder_status_and_error_as_they_were(worked: Worked) -> None:
    steps = {number: step for number, step in enumerate(worked.steps) if isinstance(step, Command)}
    for number, (step, outcome) in enumerate(worked.truth):
        if not isinstance(step, RunLine):
            continue
        assert outcome is not None
        command = steps[number]
        assert command.folder == str(worked.folder), step
        if worked.name == "claude-code" and step.line == SEARCH:
            # Claude Code records a search without a match as a success.
            assert (outcome.exit_code, command.status, command.exit_code) == (1, "ok", None)
            continue
        assert command.status == ("failed" if outcome.exit_code else "ok"), step
        assert command.exit_code in ({outcome.exit_code} if outcome.exit_code else {0, None}), step
        if outcome.exit_code and outcome.output:
            assert error_line(command.output) == error_line(outcome.output), step
        elif not outcome.exit_code:
            assert command.output == "", step


def lines_of(text: str) -> set[str]:
    """Return the lines of a text."""
    return set(text.splitlines())


def test_files_have_absolute_path_action_and_the_lines_that_changed(worked: Worked) -> None:
    for step, change in zip(FIXING, worked.steps, strict=True):
        if isinstance(step, RunLine) or is_read_by_command(worked, step):
            continue
        assert isinstance(change, FileChange)
        assert change.path == str(worked.folder / step.path)
        assert change.status == "ok"
        match step:
            case ReadFile():
                assert (change.action, change.old, change.new) == ("read", "", "")
            case CreateFile(_, text):
                assert (change.action, change.old, change.new.strip()) == ("created", "", text.strip())
            case ReplaceLines(_, old, new):
                before, after = lines_of(old), lines_of(new)
                assert change.action == "edited"
                assert before - after <= lines_of(change.old) <= before
                assert after - before <= lines_of(change.new) <= after


@pytest.mark.parametrize("name", RECORDING)
def test_failures_without_a_recorded_error_have_none(name: str, tmp_path: Path) -> None:
    make_project(tmp_path / "shop")
    with working_program(name, tmp_path, [RunLine(LONG), RunLine(SILENT)]) as (program, _):
        work_on_terminal(program, name, REQUEST)
        (conversation,) = load_work(program)
    assert conversation.work is not None
    long, silent = conversation.work
    assert isinstance(long, Command)
    assert isinstance(silent, Command)
    assert (long.status, long.exit_code) == ("failed", 1)
    assert error_line(long.output) == ("" if name in DROPS_THE_END else "ValueError: port 8443 is taken")
    assert (silent.status, silent.exit_code, silent.output) == ("failed", 3, "")
