"""Questions about the work of real programs, asked with `memctl`.

They are: how a command runs, what fixed an error, who touched a file, and which files a subject touched.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.real_sessions import work_on_terminal, working_program
from tests.support.real_work import (
    FIXING,
    REPAIR,
    REPORT,
    REQUEST,
    SETUP,
    TEST,
    make_project,
)
from tests.support.state_homes import KEYWORD_ONLY, StateHome

pytestmark = pytest.mark.long

PROGRAMS = ("claude-code", "codex", "codex-script", "gemini", "copilot")

UNDECLARED = "queue.c:5:12: error: 'QUEUE_LIMIT' undeclared (first use in this function)"
NO_FILE = "FileNotFoundError: [Errno 2] No such file or directory: 'build/limits.json'"
UNRELATED = "ModuleNotFoundError: No module named 'stripe'"


class WorkQuestions:
    """A daemon with the session of one program."""

    def __init__(self, daemon: DaemonProcess, folder: str) -> None:
        self.folder = folder
        self._daemon = daemon

    def ask(self, *arguments: str) -> Any:
        """Return the reply of `memctl` as JSON, as if asked in another folder."""
        done = self._daemon.memctl(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module", params=PROGRAMS)
def asked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkQuestions]:
    """A daemon that has indexed a session which broke a build and fixed it."""
    name, home = request.param, tmp_path_factory.mktemp("answers")
    make_project(home / "shop")
    with working_program(name, home, FIXING) as (program, _):
        work_on_terminal(program, name, REQUEST)
    with StateHome(KEYWORD_ONLY) as state:
        (state.root / "memd.toml").write_text(f"[sources.{program.name}]\n")
        with DaemonProcess(state, {"HOME": str(home)}) as daemon, daemon.client() as client:
            client.index()
            yield WorkQuestions(daemon, str(home / "shop"))


def test_how_has_the_invocation_that_succeeded_with_its_folder(asked: WorkQuestions) -> None:
    for question, line in (("make", TEST), (REPORT, REPORT), ("sh", SETUP)):
        reply = asked.ask("how", question)
        first = reply["commands"][0]
        assert (first["line"], first["folder"], first["status"]) == (line, asked.folder, "ok")
    assert first["failed"] == 0


def test_how_counts_the_runs_of_a_command_by_outcome(asked: WorkQuestions) -> None:
    (command,) = asked.ask("how", "make")["commands"]
    assert (command["succeeded"], command["failed"], command["unknown"]) == (1, 1, 0)


@pytest.mark.parametrize("error", [UNDECLARED, "QUEUE_LIMIT undeclared", f"make: something\n{UNDECLARED}\n"])
def test_fix_of_the_build_is_the_edit_between_failure_and_success(asked: WorkQuestions, error: str) -> None:
    fix = asked.ask("fix", error)["fixes"][0]
    edits = [step for step in fix["steps"] if step["action"] == "edited"]
    assert (fix["command"], fix["fixed_by"], fix["is_same_command"]) == (TEST, TEST, True)
    assert fix["folder"] == asked.folder
    assert [step["text"].rsplit("/", 1)[-1] for step in edits] == [REPAIR.path]
    assert "#define QUEUE_LIMIT 64" in edits[0]["new"]


def test_fix_of_a_missing_file_is_the_command_that_makes_it(asked: WorkQuestions) -> None:
    fix = asked.ask("fix", NO_FILE)["fixes"][0]
    assert (fix["command"], fix["fixed_by"]) == (REPORT, REPORT)
    assert [step["text"] for step in fix["steps"] if step["action"] == "ran"] == [SETUP]


def test_no_fix_is_offered_for_an_error_that_never_occurred(asked: WorkQuestions) -> None:
    assert asked.ask("fix", UNRELATED)["fixes"] == []


def test_blame_has_the_request_and_the_decision_of_the_session(asked: WorkQuestions) -> None:
    for file in (f"{asked.folder}/queue.h", f"{asked.folder}/queue.h:1"):
        (touch,) = asked.ask("blame", file)["sessions"]
        assert "edited" in touch["actions"]
        assert touch["request"] == REQUEST
        assert any("limit of the queue in queue.h" in decision for decision in touch["decisions"])


def test_files_of_a_topic_are_those_that_its_session_changed(asked: WorkQuestions) -> None:
    files = asked.ask("files", "limit of the queue")["files"]
    changed = {file["file"].rsplit("/", 1)[-1] for file in files if file["edits"]}
    assert {"queue.h", "queue.c", "LIMITS.txt"} <= changed
    assert all(file["exists"] for file in files)
