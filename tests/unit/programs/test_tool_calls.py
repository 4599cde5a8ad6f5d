"""Work in transcripts of each program. The records are those of the real programs' releases, shortened."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from memd.programs.catalog import PROGRAMS
from memd.programs.opencode import READER as OPENCODE
from memd.programs.program import FileReader
from memd.programs.readers import reader_of
from memd.programs.work import Command, FileChange, Step
from tests.support.transcript_programs import codex, gemini
from tests.support.transcript_programs.claude_code import SESSION, ClaudeFile
from tests.support.transcript_programs.copilot import CopilotFile
from tests.support.transcript_programs.mutations import mutate
from tests.support.transcript_programs.opencode import V1, V2_MESSAGE, V2_SESSION, OpencodeWriter
from tests.unit.programs.test_fuzz import TRAPS

TEST = "pytest -q"
ERROR = "E   AssertionError: no 9001"


def work_in(program: str, lines: Iterable[bytes]) -> list[Step]:
    """Return the work in a transcript."""
    conversations = PROGRAMS[program].conversations
    assert conversations is not None
    readers = reader_of(conversations)
    assert isinstance(readers, FileReader)
    file = readers.transcript_at(TRAPS[program][0])
    assert file is not None
    reader, work = readers.open_with_work(file)
    for place, line in enumerate(lines, start=1):
        reader.read(line, place)
    reader.conversation()
    assert work is not None
    return work.steps


def shown(steps: Iterable[Step]) -> list[tuple[str, ...]]:
    """Return steps in short."""
    return [
        (step.line, step.status, "" if step.exit_code is None else str(step.exit_code), step.output)
        if isinstance(step, Command)
        else (step.path, step.action, step.status)
        for step in steps
    ]


# --- Claude Code ------------------------------------------------------------------------------------


class ClaudeWorkFile(ClaudeFile):
    """A transcript with calls of tools."""

    def call(self, call: str, name: str, **arguments: object) -> None:
        """Append a call."""
        self.blocks([{"type": "tool_use", "id": call, "name": name, "input": arguments}])

    def result(self, call: str, content: str, result: object = None, **more: object) -> None:
        """Append a result, with the structured one of its line."""
        block = {"type": "tool_result", "tool_use_id": call, "content": content, **more}
        self.prompt([block], toolUseResult=result)


def test_claude_code_records_failures_by_is_error_and_new_files_by_their_type() -> None:
    file = ClaudeWorkFile()
    file.call("t1", "Bash", command=TEST)
    file.result("t1", f"Exit code 3\n0\n{ERROR}", f"Error: Exit code 3\n0\n{ERROR}", is_error=True)
    file.call("t2", "Edit", file_path="/home/eva/shop/ports.txt", old_string="8443", new_string="9001")
    file.result(
        "t2", "The file has been updated.", {"filePath": "/home/eva/shop/ports.txt", "originalFile": "x"}
    )
    file.call("t3", "Write", file_path="/home/eva/shop/notes.md", content="Port 9001.")
    file.result("t3", "File created", {"type": "create", "filePath": "/home/eva/shop/notes.md"})
    file.call("t4", "Bash", command=TEST)
    file.result("t4", "1", {"stdout": "1", "stderr": "", "interrupted": False}, is_error=False)
    file.call("t6", "Read", file_path="/home/eva/shop/log.txt")
    file.result("t6", "Exit code 3\nis what the file says")
    file.call("t5", "Edit", file_path="/home/eva/shop/ports.txt", old_string="missing")
    file.result(
        "t5", "<tool_use_error>String not found</tool_use_error>", "Error: String not found", is_error=True
    )

    assert shown(work_in("claude-code", file.lines)) == [
        (TEST, "failed", "3", f"0\n{ERROR}"),
        ("/home/eva/shop/ports.txt", "edited", "ok"),
        ("/home/eva/shop/notes.md", "created", "ok"),
        (TEST, "ok", "", ""),
        ("/home/eva/shop/log.txt", "read", "ok"),
        ("/home/eva/shop/ports.txt", "edited", "failed"),
    ]


def test_claude_code_records_what_was_refused_interrupted_and_left_in_the_background() -> None:
    file = ClaudeWorkFile()
    refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected"
    for number, (content, result, more) in enumerate(
        [
            (refusal, "User rejected tool use", {"is_error": True}),
            ("", {"stdout": "", "interrupted": True}, {}),
            ("Command running in background", {"stdout": "", "backgroundTaskId": "b1"}, {"is_error": False}),
        ]
    ):
        file.call(f"t{number}", "Bash", command=f"run {number}")
        file.result(f"t{number}", content, result, **more)
    file.call("t9", "Bash", command="run 9")

    statuses = [step.status for step in work_in("claude-code", file.lines)]

    assert statuses == ["refused", "unknown", "unknown", "unknown"]


def test_claude_code_s_forks_have_only_their_own_work() -> None:
    file = ClaudeWorkFile(SESSION)
    file.call("t1", "Bash", command="copied")
    fork = file.fork("5f0c8a52-0000-4000-8000-000000000002")
    fork.blocks([{"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "own"}}])

    assert [step[0] for step in shown(work_in("claude-code", fork.lines))] == ["own"]


# --- Codex ------------------------------------------------------------------------------------------


def sent(call: str, name: str, arguments: object, output: str) -> list[bytes]:
    """Return a call and its result as they are sent to the model."""
    called = {"type": "function_call", "name": name, "arguments": json.dumps(arguments), "call_id": call}
    returned = {"type": "function_call_output", "call_id": call, "output": output}
    return [codex.line("response_item", called), codex.line("response_item", returned)]


def framed(code: int, output: str) -> str:
    return f"Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code {code}\nOutput:\n{output}"


PATCH = "*** Begin Patch\n*** Update File: ports.txt\n*** Add File: notes.md\n*** End Patch"


def test_codex_in_legacy_mode_has_the_exit_status_in_the_frame_of_the_output() -> None:
    lines = [
        codex.meta(),
        *sent("c1", "exec_command", {"cmd": TEST}, framed(3, f"0\n{ERROR}\n")),
        *sent(
            "c2",
            "shell",
            {"command": ["bash", "-lc", "make"], "workdir": "/srv"},
            "Exit code: 0\nOutput:\nok",
        ),
        codex.line(
            "response_item",
            {
                "type": "custom_tool_call",
                "name": "apply_patch",
                "input": PATCH,
                "call_id": "c3",
                "status": "completed",
            },
        ),
        codex.event("patch_apply_end", call_id="c3", success=True),
        *sent("c4", "exec_command", {"cmd": "sleep 9"}, "Process running with session ID 7\nOutput:\n"),
        *sent("c5", "shell", {"command": ["ls"]}, json.dumps({"output": "x", "metadata": {"exit_code": 2}})),
    ]

    assert shown(work_in("codex", lines)) == [
        (TEST, "failed", "3", f"0\n{ERROR}"),
        ("make", "ok", "0", ""),
        ("ports.txt", "edited", "ok"),
        ("notes.md", "created", "ok"),
        ("sleep 9", "unknown", "", ""),
        ("ls", "failed", "2", "x"),
    ]


def test_codex_in_paginated_mode_has_each_command_and_patch_once() -> None:
    command: dict[str, Any] = {
        "command": ["/bin/bash", "-lc", TEST],
        "cwd": "file:///home/eva/my%20shop",
        "status": "failed",
    }
    called, returned = sent("c1", "exec_command", {"cmd": TEST}, framed(1, "the same again"))
    patch_call, patch_result = sent(
        "c2", "exec_command", {"cmd": f"apply_patch <<'E'\n{PATCH}\nE"}, "Exit code: 1"
    )
    changes = {"/home/eva/shop/ports.txt": {"type": "update"}, "/home/eva/shop/notes.md": {"type": "add"}}
    lines = [
        codex.meta(),
        called,
        codex.item("CommandExecution", "c1", **command, aggregated_output=f"{ERROR}\n", exit_code=3),
        returned,
        patch_call,
        codex.item("FileChange", "c2", changes=changes, status="completed"),
        patch_result,
        codex.item("CommandExecution", "c3", command=["ls"], cwd="/srv", status="declined", exitCode=-1),
        codex.item(
            "FileChange", "c4", changes={"/old": {"type": "update", "move_path": "/new"}}, status="completed"
        ),
    ]
    steps = work_in("codex", lines)

    assert shown(steps) == [
        (TEST, "failed", "3", ERROR),
        ("ports.txt", "edited", "ok"),
        ("notes.md", "created", "ok"),
        ("ls", "refused", "", ""),
        ("/old", "edited", "ok"),
        ("/old", "deleted", "ok"),
        ("/new", "created", "ok"),
    ]
    assert isinstance(steps[0], Command)
    assert (steps[0].folder, steps[0].place) == ("/home/eva/my shop", 2)


# --- Gemini CLI, Copilot CLI, opencode ---------------------------------------------------------------


def gemini_call(call: str, name: str, args: object, output: str, **more: Any) -> dict[str, Any]:
    response = [{"functionResponse": {"id": call, "name": name, "response": {"output": output}}}]
    return {"id": call, "name": name, "args": args, "result": response, "status": "success", **more}


def test_gemini_s_failing_command_is_a_success_with_an_exit_code() -> None:
    frame = "<untrusted_context>\nOutput: {}\nProcess Group PGID: 7\n</untrusted_context>"
    calls = [
        gemini_call("g1", "run_shell_command", {"command": TEST}, frame.format(f"0\n{ERROR}\nExit Code: 3")),
        gemini_call("g2", "run_shell_command", {"command": TEST}, frame.format("1")),
        gemini_call("g3", "write_file", {"file_path": "notes.md"}, "ok", resultDisplay={"isNewFile": True}),
        gemini_call("g4", "replace", {"file_path": "a.py"}, "no", status="error"),
        gemini_call(
            "g5", "run_shell_command", {"command": "serve"}, frame.format("(empty)\nBackground PIDs: 9")
        ),
        gemini_call("g6", "run_shell_command", {"command": "stop"}, "", status="cancelled"),
    ]
    record = gemini.line(gemini.answered("m2", "", toolCalls=calls))

    assert shown(work_in("gemini", [gemini.line(gemini.session()), record, record])) == [
        (TEST, "failed", "3", f"0\n{ERROR}"),
        (TEST, "ok", "", ""),
        ("notes.md", "created", "ok"),
        ("a.py", "edited", "failed"),
        ("serve", "unknown", "", "Background PIDs: 9"),
        ("stop", "unknown", "", ""),
    ]


def test_copilot_s_failing_command_is_a_success_with_an_exit_code() -> None:
    file = CopilotFile()

    def call(number: int, tool: str, arguments: object, **ended: object) -> None:
        file.event(
            "tool.execution_start", {"toolCallId": f"t{number}", "toolName": tool, "arguments": arguments}
        )
        file.event("tool.execution_complete", {"toolCallId": f"t{number}", **ended})

    said = f"0\n{ERROR}\n<shellId: 0 completed with exit code 3>"
    call(1, "bash", {"command": TEST}, success=True, shellExecution={"exitCode": 3}, result={"content": said})
    exit_row = {"type": "shell_exit", "exitCode": 0, "cwd": "/srv"}
    call(2, "bash", {"command": "make"}, success=True, result={"content": "ok", "contents": [exit_row]})
    call(3, "create", {"path": "notes.md"}, success=True, result={"content": "Created"})
    call(4, "edit", {"path": "a.py"}, success=False, error={"message": "No match found"})

    assert shown(work_in("copilot", file.lines)) == [
        (TEST, "failed", "3", f"0\n{ERROR}"),
        ("make", "ok", "0", ""),
        ("notes.md", "created", "ok"),
        ("a.py", "edited", "failed"),
    ]


def opencode_part(
    call: str, tool: str, arguments: object, exit_code: int | None, **state: Any
) -> dict[str, Any]:
    metadata = {} if exit_code is None else {"metadata": {"exit": exit_code}}
    facts = {"status": "completed", "input": arguments, "output": ERROR, **metadata, **state}
    return {"type": "tool", "callID": call, "tool": tool, "state": facts}


OPENCODE_PARTS = [
    opencode_part("c1", "bash", {"command": TEST, "workdir": "/srv"}, 3),
    opencode_part("c2", "edit", {"filePath": "/home/eva/shop/a.py"}, None),
    opencode_part("c3", "bash", {"command": TEST}, None, status="running"),
    opencode_part("c4", "write", {"filePath": "/b.py"}, None, status="error", error="denied"),
]
OPENCODE_STEPS = [
    (TEST, "failed", "3", ERROR),
    ("/home/eva/shop/a.py", "edited", "ok"),
    (TEST, "unknown", "", ERROR),
    ("/b.py", "edited", "failed"),
]


def test_opencode_s_failing_command_is_completed_with_an_exit_code(tmp_path: Path) -> None:
    with OpencodeWriter(tmp_path / "opencode.db", V1) as writer:
        writer.session("s1")
        writer.v1("s1", "user", "Fix it")
        writer.v1("s1", "assistant", "Fixed.", *OPENCODE_PARTS)
        conversation = OPENCODE(writer.path).read("s1")
    assert conversation is not None

    assert shown(conversation.work or ()) == OPENCODE_STEPS


def test_opencode_2_has_its_calls_in_the_content_of_answers(tmp_path: Path) -> None:
    blocks = [{**part, "id": part["callID"], "name": part["tool"]} for part in OPENCODE_PARTS]
    with OpencodeWriter(tmp_path / "opencode.db", V2_SESSION + V2_MESSAGE) as writer:
        writer.session("s1", "session_v2")
        writer.v2("s1", "user", 1, {"text": "Fix it"})
        writer.v2("s1", "assistant", 2, {"content": [{"type": "text", "text": "Fixed."}, *blocks]})
        conversation = OPENCODE(writer.path).read("s1")
    assert conversation is not None

    assert shown(conversation.work or ()) == OPENCODE_STEPS


# --- damaged records ----------------------------------------------------------------------------------

JUNK: list[Any] = [None, True, 7, -1.5, "text", "", [], [None, 7, ["x"]], {}, {"type": 7}, {"x": {"y": []}}]


def swapped(value: Any, random: Random) -> Any:
    """Return a value of which some parts are junk."""
    if random.random() < 0.08:
        return random.choice(JUNK)
    if isinstance(value, dict):
        return {key: swapped(part, random) for key, part in value.items()}
    return [swapped(part, random) for part in value] if isinstance(value, list) else value


def records_of(program: str) -> list[bytes]:
    """Return lines of a program with calls of tools."""
    if program == "claude-code":
        file = ClaudeWorkFile()
        for number, name in enumerate(("Bash", "Write")):
            file.call(f"t{number}", name, command=TEST, file_path="/a")
            file.result(f"t{number}", "Exit code 1", {"type": "create"}, is_error=True)
        return file.lines
    if program == "codex":
        changes = {"/a": {"type": "add", "move_path": "/b"}}
        return [
            codex.meta(),
            *sent("c1", "exec_command", {"cmd": TEST}, framed(1, ERROR)),
            codex.item("CommandExecution", "c1", command=["ls"], cwd="/srv", status="failed", exitCode=1),
            codex.item("FileChange", "c2", changes=changes, status="completed"),
        ]
    if program == "gemini":
        calls = [gemini_call("g1", "run_shell_command", {"command": TEST}, "Output: 1")]
        return [gemini.line(gemini.session()), gemini.line(gemini.answered("m2", "", toolCalls=calls))]
    copilot = CopilotFile()
    copilot.event(
        "tool.execution_start", {"toolCallId": "t1", "toolName": "bash", "arguments": {"command": TEST}}
    )
    copilot.event(
        "tool.execution_complete", {"toolCallId": "t1", "success": True, "result": {"contents": [{}]}}
    )
    return copilot.lines


@pytest.mark.parametrize("program", ["claude-code", "codex", "gemini", "copilot"])
@pytest.mark.parametrize("files", [300, pytest.param(20_000, marks=pytest.mark.long)])
def test_fields_of_other_types_and_damaged_lines_never_raise(program: str, files: int) -> None:
    lines = records_of(program)
    for seed in range(files):
        random = Random(seed)
        damaged = [json.dumps(swapped(json.loads(line), random)).encode() for line in lines]
        for step in work_in(program, mutate(damaged, random, b"machine text") if seed % 2 else damaged):
            assert isinstance(step, Command | FileChange), seed


def test_fields_of_other_types_in_opencode_s_parts_never_raise(tmp_path: Path) -> None:
    random = Random(1)
    with OpencodeWriter(tmp_path / "opencode.db", V1) as writer:
        writer.session("s1")
        for _ in range(300):
            writer.v1("s1", "assistant", *[swapped(part, random) for part in OPENCODE_PARTS])
        conversation = OPENCODE(writer.path).read("s1")
    assert conversation is not None

    assert conversation.work
