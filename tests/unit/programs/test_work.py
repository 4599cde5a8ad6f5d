"""What agents did, from any program's calls: commands, files, outcomes as recorded, outputs without secrets."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.programs.work import (
    MAX_OUTPUT_BYTES,
    Command,
    FileChange,
    Step,
    WorkLog,
    WorkStatus,
    error_line,
    exit_code_in,
    located,
)

KEY = "sk-proj-" + "Zx9" * 16
PATCH = """*** Begin Patch
*** Update File: src/ports.py
*** Move to: src/port.py
@@
-8443
+9001
*** Add File: docs/ports.md
+Port 9001.
*** Delete File: old.toml
*** End Patch"""
PATCHED = [
    ("src/ports.py", "edited"),
    ("src/ports.py", "deleted"),
    ("src/port.py", "created"),
    ("docs/ports.md", "created"),
    ("old.toml", "deleted"),
]


def steps_of(tool: str, arguments: object, folder: str = "") -> list[Step]:
    log = WorkLog()
    log.folder = folder
    log.call(tool, arguments, 7, call="c1", time_ms=5)
    return log.steps


def ended(status: WorkStatus, output: object = "", **more: Any) -> Command:
    """Return a command with a result."""
    log = WorkLog()
    log.call("Bash", {"command": "make"}, 7, call="c1", time_ms=5)
    log.result("c1", status, output, **more)
    (step,) = log.steps
    assert isinstance(step, Command)
    return step


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Bash", {"command": "make test"}),
        ("exec_command", {"cmd": "make test", "workdir": "/srv"}),
        ("shell", {"command": ["bash", "-lc", "make test"]}),
        ("shell", {"command": ["make", "test"]}),
        ("run_shell_command", {"command": "make test", "dir_path": "/srv"}),
    ],
)
def test_command_of_any_program_is_its_command_line(tool: str, arguments: dict[str, object]) -> None:
    folder = "/srv" if "workdir" in arguments or "dir_path" in arguments else "/home"

    assert steps_of(tool, arguments, "/home") == [Command("make test", folder, place=7, time_ms=5, call="c1")]


@pytest.mark.parametrize(
    ("tool", "arguments", "action"),
    [
        ("Read", {"file_path": "a.py"}, "read"),
        ("view", {"path": "a.py"}, "read"),
        ("Edit", {"file_path": "a.py", "old_string": "x"}, "edited"),
        ("edit", {"filePath": "a.py"}, "edited"),
        ("write_file", {"file_path": "a.py"}, "edited"),
        ("create", {"path": "a.py"}, "created"),
        ("Delete", {"path": "a.py"}, "deleted"),
    ],
)
def test_file_tool_of_any_program_is_a_change_of_its_file(
    tool: str, arguments: dict[str, object], action: str
) -> None:
    (step,) = steps_of(tool, arguments, "/home/eva")

    assert isinstance(step, FileChange)
    assert (step.path, step.action, step.status) == ("/home/eva/a.py", action, "unknown")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("apply_patch", {"input": PATCH}),
        ("apply_patch", {"patchText": PATCH}),
        ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}),
    ],
)
def test_patch_changes_each_of_its_files(tool: str, arguments: dict[str, object]) -> None:
    steps = steps_of(tool, arguments)

    assert [(step.path, step.action) for step in steps if isinstance(step, FileChange)] == PATCHED
    assert len(steps) == len(PATCHED)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("WebFetch", {"url": "https://shop.test"}),
        ("Bash", {}),
        ("Edit", {"file_path": 7}),
        ("Bash", "make"),
        ("", None),
    ],
)
def test_other_tools_and_calls_without_their_argument_do_nothing(tool: str, arguments: object) -> None:
    assert steps_of(tool, arguments) == []


def test_outcome_is_the_one_that_is_recorded() -> None:
    assert steps_of("Bash", {"command": "make"})[0].status == "unknown", (
        "no result: interrupted, or still running"
    )
    assert ended("ok").status == "ok"
    assert ended("ok", exit_code=2).status == "failed", "opencode and Copilot complete a command that fails"
    assert ended("refused", exit_code=1).status == "refused"
    assert ended("unknown", "Error: it failed").status == "unknown", "words are no evidence"
    assert ended("ok", exit_code="0").exit_code is None
    assert ended("failed", exit_code=True).exit_code is None


def test_result_belongs_to_the_last_call_with_its_id() -> None:
    log = WorkLog()
    for line in ("one", "two"):
        log.call("Bash", {"command": line}, 1, call="same", time_ms=None)
    log.result("same", "ok")
    log.result("other", "failed")

    assert [step.status for step in log.steps] == ["unknown", "ok"]


def test_output_is_kept_for_failures_alone() -> None:
    assert ended("ok", "all is well").output == ""
    assert ended("failed", "\x1b[31mError\x1b[0m: no\n\n").output == "Error: no"


def test_long_output_is_cut_to_the_lines_around_the_error_and_the_last_ones() -> None:
    lines = [f"collecting {number}" for number in range(5_000)]
    lines[2_500] = "E   AssertionError: 8443"
    output = ended("failed", "\n".join(["start", *lines[2_400:2_600], "1 failed in 3 s"])).output

    assert output.split("\n")[:2] == ["collecting 2499", "E   AssertionError: 8443"]
    assert output.split("\n")[-1] == "1 failed in 3 s"
    assert "\n…\n" in output
    assert len(output.encode()) <= MAX_OUTPUT_BYTES


@given(st.text(max_size=3_000), st.integers(0, 40))
def test_output_never_exceeds_its_limit(text: str, times: int) -> None:
    assert len(ended("failed", text * times).output.encode("utf-8", "replace")) <= MAX_OUTPUT_BYTES


@pytest.mark.parametrize(
    "cut", ["{}\n\n... [20012 characters truncated] ...\n\nlog", "Output too large to read at once\n\n{}"]
)
def test_output_whose_end_a_program_drops_counts_only_if_it_names_an_error(cut: str) -> None:
    assert ended("failed", cut.format("building")).output == ""
    assert error_line(ended("failed", cut.format("a.c:1: error: x")).output) == "a.c:1: error: x"


def test_secrets_are_redacted_from_command_lines_and_outputs() -> None:
    (command,) = steps_of(
        "Bash", {"command": f"export API_KEY={KEY} && curl -H 'Authorization: Bearer {KEY}' x"}
    )
    assert isinstance(command, Command)

    assert KEY not in command.line
    assert KEY not in ended("failed", f"Error: key {KEY} is invalid").output


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("....F\nE       assert 8443 == 9001\n1 failed", "E       assert 8443 == 9001"),
        ("Traceback:\n  File x\nValueError: bad port\n", "ValueError: bad port"),
        ("0 errors, 2 warnings\nmake: *** [all] Error 2", "make: *** [all] Error 2"),
        ("sh: 1: foo: not found", "sh: 1: foo: not found"),
        ("cc -Wall -Werror -c a.c\na.c:1:9: error: 'b' undeclared", "a.c:1:9: error: 'b' undeclared"),
        ("编译失败：端口被占用", "编译失败：端口被占用"),
        ("nothing telling\nthe last line", "the last line"),
        ("", ""),
    ],
)
def test_error_line_names_the_error(output: str, line: str) -> None:
    assert error_line(output) == line


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("Wall time: 0.1 seconds\nProcess exited with code 1\n", 1),
        ("Exit code: 0\nWall time: 1 seconds", 0),
        ("Exit code 127", 127),
        ("Exit Code: -9", -9),
        ("Process running with session ID 4", None),
        ("it says Exit code 3", None),
    ],
)
def test_exit_status_is_read_from_a_line_of_the_frame(frame: str, code: int | None) -> None:
    assert exit_code_in(frame) == code


def test_folder_of_the_session_completes_relative_paths() -> None:
    steps: list[Step] = [
        Command("ls"),
        Command("ls", "/srv"),
        FileChange("../a.py", "read"),
        FileChange("C:\\a.py", "read"),
    ]

    assert located(steps, "/home/eva/shop") == [
        Command("ls", "/home/eva/shop"),
        Command("ls", "/srv"),
        FileChange("/home/eva/a.py", "read"),
        FileChange("C:\\a.py", "read"),
    ]


def test_secrets_at_the_ends_of_long_lines_are_redacted() -> None:
    for padding in range(900, 1_010, 7):
        for line in (
            f"error {'x' * padding} {KEY}",
            f"error {'x' * padding}:{KEY}",
            f"error {'é' * 150} {KEY}",
        ):
            output = ended("failed", f"{line}\n{line}").output
            assert KEY[:16] not in output
    key = "\n".join(
        ["-----BEGIN PRIVATE KEY-----", *["MIIEv" + "a1B2" * 15] * 300, "-----END PRIVATE KEY-----"]
    )
    assert "a1B2" not in ended("failed", f"error\n{key}\nfailed").output
