"""What a hook sends of a call of a tool, from the inputs that the real programs wrote."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memd_client.hook_program import request_params
from memd_client.messages import REQUESTS
from memd_client.tool_events import MAX_COMMAND_CHARS, MAX_ERROR_CHARS, READ_BYTES, action_params

INPUTS = Path(__file__).parents[2] / "support" / "hook_inputs"
PROGRAMS = ("claude-code", "codex", "copilot", "gemini", "qwen")
FILE = "/home/eva/shop/shop.c"


def recorded(program: str, case: str) -> dict[str, Any]:
    """Return an input of a program."""
    rows = map(json.loads, (INPUTS / f"{program}.jsonl").read_text("utf-8").splitlines())
    return next(row["stdin"] for row in rows if row["case"] == case)


def transcript(path: Path, call: str, code: int, output: str = "") -> str:
    """Write a transcript of Codex with the outcome of a call before the last two records."""
    item = {
        "type": "CommandExecution",
        "id": call,
        "aggregated_output": output,
        "exit_code": code,
        "duration": {},
    }
    rows: list[Any] = [{"type": "event_msg", "payload": {"type": "item_completed", "item": item}}, {}, {}]
    path.write_text("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows))
    return str(path)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_command_is_reported_before_it_runs(program: str) -> None:
    params = action_params(program, "before_tool", recorded(program, "before_command"))

    assert params is not None
    assert (params["command"], params["file"], params["error"]) == ("make", "", "")
    assert params["tool"] in ("Bash", "bash", "run_shell_command")


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_edit_is_reported_with_its_file_or_its_patch(program: str) -> None:
    params = action_params(program, "before_tool", recorded(program, "before_edit"))

    assert params is not None
    assert params["file"] == ("" if program == "codex" else FILE)
    assert params["command"].startswith("*** Begin Patch" if program == "codex" else "")
    assert "retrun" not in params["command"] or program == "codex"


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_failed_command_is_reported_with_its_output_alone(program: str, tmp_path: Path) -> None:
    event = "after_failure" if program in ("claude-code", "qwen") else "after_tool"
    given = recorded(program, "failed_command")
    if program == "codex":
        given |= {"transcript_path": transcript(tmp_path / "r.jsonl", given["tool_use_id"], 2)}
    params = action_params(program, event, given)

    assert params is not None
    assert params["command"] == "make"
    assert params["error"].startswith("cc -o shop shop.c\nshop.c: In function")
    assert params["error"].endswith("make: *** [Makefile:2: shop] Error 1")


@pytest.mark.parametrize(
    ("program", "event", "case"),
    [
        ("copilot", "after_tool", "succeeded_command"),
        ("copilot", "after_tool", "no_match"),
        ("copilot", "after_tool", "edited"),
        ("copilot", "after_failure", "failed_edit"),
        ("gemini", "after_tool", "succeeded_command"),
        ("gemini", "after_tool", "no_match"),
        ("gemini", "after_tool", "failed_edit"),
        ("qwen", "after_failure", "failed_edit"),
        ("codex", "after_tool", "failed_command"),
    ],
)
def test_what_is_no_failed_command_with_an_output_is_not_reported(
    program: str, event: str, case: str
) -> None:
    assert action_params(program, event, recorded(program, case)) is None


@pytest.mark.parametrize(
    ("code", "output", "is_failure"),
    [(2, "", True), (0, "", False), (0, '"exit_code":1,', False), (-1, "x" * READ_BYTES, True)],
)
def test_codex_failures_are_told_by_the_transcript(
    code: int, output: str, is_failure: bool, tmp_path: Path
) -> None:
    given = recorded("codex", "failed_command")
    given["transcript_path"] = transcript(tmp_path / "r.jsonl", given["tool_use_id"], code, output)
    is_whole = len(output) < READ_BYTES

    assert (action_params("codex", "after_tool", given) is not None) == (is_failure and is_whole)
    assert action_params("codex", "after_tool", given | {"tool_use_id": "other"}) is None


def test_an_interrupted_command_is_no_failure() -> None:
    given = recorded("claude-code", "failed_command") | {"is_interrupt": True}

    assert action_params("claude-code", "after_failure", given) is None


def test_long_commands_and_outputs_are_cut() -> None:
    given = recorded("claude-code", "failed_command")
    given |= {"tool_input": {"command": "x" * 9_000}, "error": f"Exit code 1\n{'a' * 90_000}{'b' * 90_000}"}
    params = action_params("claude-code", "after_failure", given)

    assert params is not None
    assert len(params["command"]) == MAX_COMMAND_CHARS
    assert len(params["error"]) == MAX_ERROR_CHARS
    assert (params["error"][0], params["error"][-1]) == ("a", "b")


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"tool_input": "make"},
        {"tool_input": {"command": ["make"]}},
        {"tool_input": {"command": " "}},
        {"tool_input": {"file_path": "x" * 5_000}},
        {"tool_name": 3, "tool_input": {"command": "make"}, "tool_response": [1], "error": {"a": 1}},
    ],
)
def test_other_types_are_not_reported(given: dict[str, Any]) -> None:
    assert action_params("claude-code", "after_failure", given) is None
    assert action_params("gemini", "after_tool", given) is None


def test_parameters_of_an_action_are_those_of_the_request() -> None:
    params = request_params("codex", "before_tool", recorded("codex", "before_command"))

    assert params is not None
    assert {*params, "agent"} == set(REQUESTS["hook"][0].__annotations__)
