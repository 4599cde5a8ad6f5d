"""A session in one real program breaks a build and fixes it; in another program the fix arrives after the same failure.

Both models are on loopback, so the requests to the second one show what its hooks added, and when.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.real_sessions import work_bodies, work_on_terminal, working_program
from tests.support.real_work import (
    BREAKING,
    FIXING,
    REPAIR,
    REQUEST,
    TEST,
    CreateFile,
    ReplaceLines,
    RunLine,
    WorkStep,
    make_project,
)
from tests.support.state_homes import KEYWORD_ONLY, StateHome

pytestmark = pytest.mark.long

FIRST = ("claude-code", "codex", "codex-script", "gemini")
"""Programs whose work memd reads."""

SECOND = ("claude-code", "codex", "codex-script", "gemini", "copilot", "qwen")
"""Programs whose hooks after a command add text."""

PAIRS = [
    (first, second)
    for first, second in itertools.product(FIRST, SECOND)
    if first.partition("-script")[0] != second.partition("-script")[0]
]

NO_TEXT_BEFORE = ("gemini", "qwen")
"""Programs whose hooks before a tool can't add text."""

FIX = "#define QUEUE_LIMIT 64"
DECIDED = "keep the limit of the queue in queue.h"
MARK = re.compile(r"(?:<|&lt;)memd-memory")
"""How text of memory begins; Gemini CLI and Qwen Code escape it."""

SECOND_REQUEST = "Run the checks of the shop"
UNRELATED = RunLine("python3 -c 'import cormorant_gateway'")
OTHER_FILE = CreateFile("README.txt", "Run the checks before you commit.\n")
EDIT = ReplaceLines(REPAIR.path, REPAIR.old, "#define QUEUE_LIMIT (60 + 4)\nint queue_limit(void);\n")

STEPS: tuple[WorkStep, ...] = (
    UNRELATED,
    OTHER_FILE,
    RunLine(TEST),
    RunLine(TEST),
    EDIT,
    RunLine(TEST),
)
"""Of the second session: the edit isn't that of the first, so that requests have the fix from memory only."""


def break_build(folder: Path) -> None:
    """Make the project anew, with the error that the first session made and fixed."""
    make_project(folder)
    path = folder / BREAKING.path
    path.write_text(path.read_text().replace(BREAKING.old, BREAKING.new))


@contextmanager
def remembering(name: str, home: Path) -> Iterator[DaemonProcess]:
    """Run a daemon that has indexed a session of a program."""
    with StateHome(KEYWORD_ONLY) as state:
        (state.root / "memd.toml").write_text(f"[sources.{name.partition('-script')[0]}]\n")
        with DaemonProcess(state, {"HOME": str(home)}) as daemon, daemon.client() as client:
            client.index()
            yield daemon


@pytest.fixture(scope="module")
def first_homes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Homes with the first session of each program, all in the same project."""
    home = tmp_path_factory.mktemp("first")
    for name in FIRST:
        make_project(home / "shop")
        with working_program(name, home / name, FIXING, folder=home / "shop") as (program, _):
            work_on_terminal(program, name, REQUEST)
    return {name: home / name for name in FIRST}


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_fix_arrives_in_another_program_after_the_same_failure(
    first: str, second: str, first_homes: Mapping[str, Path], tmp_path: Path
) -> None:
    folder = first_homes[first].parent / "shop"
    break_build(folder)
    with (
        remembering(first, first_homes[first]) as daemon,
        working_program(second, tmp_path, STEPS, "The checks are green.", folder=folder) as (program, server),
    ):
        done = daemon.memctl("hooks", "install", program.name, environ=program.environ())
        assert done.returncode == 0, done.stderr
        work_on_terminal(program, second, SECOND_REQUEST, *program.with_hooks)
        with daemon.client() as client:
            decisions = [entry.decision for entry in client.hook_log().entries]

    start, unrelated, other, failed, again, edited, green = work_bodies(server, second)[: len(STEPS) + 1]
    parts = [len(MARK.findall(body)) for body in (start, unrelated, other, failed, again, edited, green)]
    assert parts[1:3] == [parts[0]] * 2, "an error that never occurred, and a file without decisions"
    assert FIX not in other
    assert parts[3] == parts[0] + 1, decisions
    assert FIX in MARK.split(failed)[-1]
    assert parts[4] == parts[3], "the same failure again"
    assert DECIDED not in start
    assert (DECIDED in MARK.split(edited)[-1]) == (second not in NO_TEXT_BEFORE)
    assert parts[5] == parts[4] + (second not in NO_TEXT_BEFORE)
    assert parts[6] == parts[5], "a command that succeeds"
