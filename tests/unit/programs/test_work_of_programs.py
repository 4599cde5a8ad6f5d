"""Work in records of Cursor, OpenClaw and pi, and commands that users type. The records are those of real releases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from memd.programs.claude_records import read_record
from memd.programs.codex_code import MAX_PROGRAM_CHARS, calls_in
from memd.programs.cursor_editor import READER as CURSOR_EDITOR
from memd.programs.openclaw import OpenClawReader
from memd.programs.tool_calls import (
    read_claude_code,
    read_codex,
    read_copilot,
    read_cursor,
    read_gemini,
    read_openclaw,
    read_opencode,
)
from memd.programs.work import Command, FileChange, Step, WorkLog
from tests.support.transcript_programs import codex, cursor, work_plain
from tests.support.transcript_programs.cursor import CursorWriter
from tests.support.transcripts import message
from tests.unit.programs.test_tool_calls import ERROR, TEST, ClaudeWorkFile, shown, work_in

# --- Cursor -----------------------------------------------------------------------------------------


def editor_steps(tmp_path: Path, *calls: dict[str, Any]) -> list[Step]:
    """Return the work in a conversation of the editor with some calls."""
    with CursorWriter(tmp_path / "state.vscdb") as writer:
        bubbles = [(f"b{at}", cursor.answer("", toolFormerData=call)) for at, call in enumerate(calls)]
        writer.composer("c1", ("u", cursor.user("Fix it")), *bubbles)
        conversation = CURSOR_EDITOR(writer.path).read("c1")
    assert conversation is not None
    return conversation.work or []


def editor_call(number: int, **more: Any) -> dict[str, Any]:
    """Return a command of the editor's agent."""
    params = {"command": f"run {number}", "cwd": ""}
    return {"name": "run_terminal_command_v2", "toolCallId": f"t{number}", "params": params, **more}


def test_cursor_s_editor_has_four_forms_of_failure(tmp_path: Path) -> None:
    steps = editor_steps(
        tmp_path,
        editor_call(1, status="error", error={"clientVisibleErrorMessage": "no such folder"}),
        editor_call(
            2,
            status="completed",
            additionalData={"status": "rejected"},
            result=json.dumps({"rejected": True}),
        ),
        editor_call(
            3, status="completed", additionalData={"status": "error"}, result={"output": ERROR, "exitCode": 3}
        ),
        editor_call(4, status="cancelled", error="aborted by the user"),
        editor_call(5, status="completed", result=json.dumps({"output": "ok", "exitCode": 0})),
        editor_call(6, status="completed", userDecision="rejected", result=""),
        editor_call(7, status="completed", result={"output": ERROR, "exitCode": 2}),
        {"additionalData": {"status": "error"}},
    )

    assert shown(steps) == [
        ("run 1", "failed", "", "no such folder"),
        ("run 2", "refused", "", ""),
        ("run 3", "failed", "3", ERROR),
        ("run 4", "unknown", "", "aborted by the user"),
        ("run 5", "ok", "0", ""),
        ("run 6", "refused", "", ""),
        ("run 7", "failed", "2", ERROR),
    ]
    assert [step.place for step in steps] == [2, 3, 4, 5, 6, 7, 8]
    assert all(step.time_ms for step in steps)


def test_cursor_s_editor_has_edits_with_their_diffs(tmp_path: Path) -> None:
    chunks = [{"diffString": "  a\n- port = 8443\n+ port = 9001"}, {"diffString": "+     host"}]
    v2 = {"relativeWorkspacePath": "src/a.py", "streamingContent": "the whole file"}
    raw = {"file_path": "/b.py", "old_string": "one", "new_string": "two"}
    steps = editor_steps(
        tmp_path,
        {"name": "edit_file_v2", "params": json.dumps(v2), "result": {"diff": {"chunks": chunks}}},
        {"name": "search_replace", "rawArgs": json.dumps(raw), "result": "", "status": "completed"},
        {"name": "edit_file_v2", "params": v2, "result": {"afterContentId": "composer.content.1"}},
        {"name": "read_file_v2", "params": {"targetFile": "/c.py"}, "status": "completed"},
        {"name": "delete_file", "params": {"relativeWorkspacePath": "d.py"}, "status": "completed"},
    )

    assert [
        (step.path, step.action, step.old, step.new) for step in steps if isinstance(step, FileChange)
    ] == [
        ("src/a.py", "edited", "port = 8443", "port = 9001\n…\n    host"),
        ("/b.py", "edited", "one", "two"),
        ("src/a.py", "edited", "", ""),
        ("/c.py", "read", "", ""),
        ("d.py", "deleted", "", ""),
    ]


def test_cursor_s_command_line_records_no_outcome() -> None:
    lines = [json.dumps(work_plain.cursor_line(number)).encode() for number in range(2)]

    assert shown(work_in("cursor", lines)) == [
        (work_plain.COMMAND, "unknown", "", ""),
        (work_plain.EDIT["path"], "edited", "unknown"),
    ]


# --- OpenClaw, pi and omp ---------------------------------------------------------------------------


def openclaw_steps(*records: str) -> list[Step]:
    """Return the work in a transcript of OpenClaw."""
    reader = OpenClawReader("s1", WorkLog())
    for place, record in enumerate(records, start=1):
        reader.read(record.encode(), place)
    assert reader.work is not None
    return reader.work.steps


def openclaw_call(call: str, name: str, **arguments: object) -> str:
    return message("assistant", [{"type": "toolCall", "id": call, "name": name, "arguments": arguments}])


def openclaw_result(call: str, tool: str, text: str, *, is_error: bool = False, **details: object) -> str:
    content = [{"type": "text", "text": text}]
    return message(
        "toolResult", content, toolCallId=call, toolName=tool, isError=is_error, details=details or None
    )


def test_openclaw_s_commands_have_the_exit_status_of_details_or_of_the_last_line() -> None:
    steps = openclaw_steps(
        json.dumps({"type": "session", "id": "s1", "cwd": "/home/eva/shop"}),
        openclaw_call("c1", "exec", command=TEST, workdir="/srv"),
        openclaw_result("c1", "exec", f"{ERROR}\n\n(Command exited with code 3)"),
        openclaw_call("c2", "exec", command="make"),
        openclaw_result("c2", "exec", "built", status="completed", exitCode=0, cwd="/home/eva/web"),
        openclaw_call("c3", "exec", command="serve", background=True),
        openclaw_result("c3", "exec", "Command still running (session quiet-fox).", status="running"),
        openclaw_call("c4", "read", path="log.txt"),
        openclaw_result("c4", "read", "Command exited with code 3"),
        openclaw_call("c5", "bash", command="false"),
        openclaw_result("c5", "bash", "Command exited with code 1", is_error=True),
    )

    assert shown(steps) == [
        (TEST, "failed", "3", f"{ERROR}\n(Command exited with code 3)"),
        ("make", "ok", "0", ""),
        ("serve", "unknown", "", "Command still running (session quiet-fox)."),
        ("/home/eva/shop/log.txt", "read", "ok"),
        ("false", "failed", "1", "Command exited with code 1"),
    ]
    assert [step.folder for step in steps if isinstance(step, Command)] == [
        *("/srv", "/home/eva/web", "/home/eva/shop", "/home/eva/shop")
    ]


def test_result_that_openclaw_invents_is_no_outcome() -> None:
    text = "[openclaw] missing tool result in session history; inserted synthetic error result for transcript repair."
    steps = openclaw_steps(
        *(openclaw_call(call, "exec", command=call) for call in ("c1", "c2", "c3", "c4")),
        openclaw_result("c1", "exec", text, is_error=True),
        openclaw_result("c2", "exec", "aborted", is_error=True, openclawSyntheticMissingToolResult=True),
        openclaw_result("c3", "exec", "done"),
        openclaw_result("c3", "exec", text, is_error=True),
        openclaw_result("c4", "exec", text, is_error=True),
        openclaw_result("c4", "exec", "done later"),
    )

    assert [step.status for step in steps] == ["unknown", "unknown", "ok", "ok"]


def test_edits_of_openclaw_and_pi_have_their_spans() -> None:
    patch = "*** Begin Patch\n*** Update File: c.py\n@@\n-one\n+two\n*** End Patch"
    steps = openclaw_steps(
        openclaw_call("c1", "edit", path="a.py", oldText="one", newText="two"),
        openclaw_call("c2", "edit", path="b.py", edits=[{"oldText": "one", "newText": "two"}]),
        openclaw_call("c3", "apply_patch", input=patch),
        openclaw_call("c4", "write", path="d.py", content="new"),
    )

    assert [(step.path, step.old, step.new) for step in steps if isinstance(step, FileChange)] == [
        ("a.py", "one", "two"),
        ("b.py", "one", "two"),
        ("c.py", "one", "two"),
        ("d.py", "", "new"),
    ]


def test_command_that_a_user_of_pi_types_is_work_unless_it_is_hidden_from_the_model() -> None:
    steps = openclaw_steps(
        *(
            message("bashExecution", None, command=line, output=ERROR, **more)
            for line, more in (
                ("make", {"exitCode": 0}),
                (TEST, {"exitCode": 3}),
                ("sleep 9", {"cancelled": True}),
                ("cat diary", {"exitCode": 0, "excludeFromContext": True}),
            )
        )
    )

    assert shown(steps) == [
        ("make", "ok", "0", ""),
        (TEST, "failed", "3", ERROR),
        ("sleep 9", "unknown", "", ERROR),
    ]


# --- typed commands, and code mode of Codex -------------------------------------------------------------


def test_command_that_a_user_of_claude_code_types_has_its_output_and_no_outcome() -> None:
    file = ClaudeWorkFile()
    file.prompt("<bash-input>make test</bash-input>")
    file.prompt(f"<bash-stdout>collecting</bash-stdout><bash-stderr>{ERROR}</bash-stderr>")
    file.prompt("<bash-stdout>of nothing</bash-stdout>")
    file.prompt("Why does <bash-input>ls</bash-input> fail?")

    assert [step[:3] for step in shown(work_in("claude-code", file.lines))] == [("make test", "unknown", "")]


def typed(command: str, result: str) -> dict[str, Any]:
    """Return a command that a user of Codex typed, as it is sent to the model."""
    text = f"<command>\n{command}\n</command>\n<result>\n{result}\n</result>"
    text = f"<user_shell_command>\n{text}\n</user_shell_command>"
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def test_command_that_a_user_of_codex_types_is_work_once() -> None:
    failed = f"Exit code: 3\nDuration: 0.1 seconds\nOutput:\n{ERROR}"
    succeeded = "Exit code: 0\nDuration: 0.1 seconds\nOutput:\nok"
    messages = [typed(TEST, failed), typed("make", succeeded)]
    legacy = [codex.meta(), *(codex.line("response_item", payload) for payload in messages)]
    item: dict[str, Any] = {"command": ["bash", "-lc", TEST], "status": "failed", "source": "user_shell"}
    paginated = [
        codex.meta(ordinal=1),
        codex.line("response_item", messages[0], ordinal=2),
        codex.item("CommandExecution", "u1", exit_code=3, aggregated_output=ERROR, **item),
    ]

    assert shown(work_in("codex", legacy)) == [(TEST, "failed", "3", ERROR), ("make", "ok", "0", "")]
    assert shown(work_in("codex", paginated)) == [(TEST, "failed", "3", ERROR)]


PROGRAM = r"""
const a = await tools.exec_command({cmd: "pytest -q \"x\"", workdir: '/srv', yield_time_ms: 1000});
const b = await tools.exec_command({"cmd": `make
test`});
const c = await tools.exec_command({cmd}); // no literal
const d = await tools.exec_command({cmd: "rm " + name});
const e = await tools.exec_command({cmd: `rm ${name}`});
await tools.apply_patch("*** Begin Patch\n*** Add File: a.py\n+caf\u00e9\n*** End Patch");
text(a.output);
"""
"""A program as models write it in code mode."""


def code(ordinal: int | None = None) -> list[bytes]:
    """Return a program that a model of Codex wrote, and its result."""
    call = {"type": "custom_tool_call", "name": "exec", "input": PROGRAM, "call_id": "c1"}
    result = {"type": "custom_tool_call_output", "call_id": "c1", "output": "Script completed\nOutput:\nok"}
    return [codex.line("response_item", payload, ordinal=ordinal) for payload in (call, result)]


def test_commands_of_code_mode_are_the_literals_in_the_program() -> None:
    steps = work_in("codex", [codex.meta(), *code()])

    assert shown(steps) == [
        ('pytest -q "x"', "unknown", "", ""),
        ("make\ntest", "unknown", "", ""),
        ("a.py", "created", "unknown"),
    ]
    assert isinstance(steps[0], Command)
    assert steps[0].folder == "/srv"
    assert isinstance(steps[2], FileChange)
    assert steps[2].new == "café"


def test_commands_of_code_mode_in_a_paginated_file_are_its_items_alone() -> None:
    item: dict[str, Any] = {"command": ["/bin/bash", "-lc", TEST], "status": "failed", "exit_code": 3}
    started = codex.item("CommandExecution", "exec-1", source="unified_exec_startup", **item)
    again = codex.item("CommandExecution", "exec-2", source="unified_exec_interaction", **item)
    lines = [codex.meta(ordinal=1), *code(ordinal=2), started, again]

    assert shown(work_in("codex", lines)) == [(TEST, "failed", "3", "")]


@given(
    st.text(max_size=300)
    | st.lists(st.sampled_from(["tools.a({", "`", '"', "'", "\\", "cmd:", "}", ")", "x"])).map("".join)
)
def test_calls_in_any_program_are_texts(program: str) -> None:
    for tool, fields in calls_in(program * 50):
        assert isinstance(tool, str)
        for value in fields.values():
            value.encode()


def test_long_program_is_read_up_to_its_limit() -> None:
    program = f'tools.a({{cmd: "one"}});{" " * MAX_PROGRAM_CHARS}tools.a({{cmd: "two"}});'

    assert list(calls_in(program)) == [("a", {"cmd": "one"})]


# --- any value ----------------------------------------------------------------------------------------

FIELDS = """type role content name input arguments id call_id callID toolCallId tool_use_id text output message
toolName status isError details exitCode exit_code command cmd edits path file_path old_string
new_string patch state metadata diff chunks diffString params rawArgs result error additionalData
userDecision toolFormerData payload item changes source cwd unified_diff move_path resultDisplay
fileDiff toolCalls args functionResponse response toolUseResult structuredPatch lines timestamp
openclawSyntheticMissingToolResult success contents is_error ordinal""".split()
WORDS = """assistant user toolResult bashExecution toolCall tool_use tool_result message function_call
custom_tool_call function_call_output item_completed CommandExecution FileChange update add tool
completed error Bash Edit apply_patch exec run_shell_command edit_file_v2""".split()
TEXTS = st.sampled_from(
    [*WORDS, "<bash-input>x", "{", '{"cmd": "x"}', PROGRAM, "*** Update File: a", "\ud800", "@@"]
) | st.text(max_size=9)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6),
    max_leaves=25,
)


@given(st.lists(st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=8), max_size=4))
def test_any_field_of_any_type_raises_nothing_and_gives_only_steps(records: list[dict[str, Any]]) -> None:
    log = WorkLog()
    for record in records:
        line = json.dumps(record).encode()
        for readable in (line, json.dumps({"payload": record}).encode()):
            read_codex(log, readable, 1, None)
        for data in (line, json.dumps([record]).encode()):
            read_gemini(log, data, 1, None)
        for kind in ("tool.execution_start", "tool.execution_complete"):
            read_copilot(log, kind, line, 1, None)
        read_opencode(log, line, 1, None)
        read_cursor(log, line, 1, None)
        read_openclaw(log, record, 1)
        if (claude := read_record(line)) is not None:
            read_claude_code(log, claude, 1, None)
        log.call(record.get("name"), record, 1, call=record.get("id"), time_ms=None)
        log.result(record.get("id"), "failed", record.get("output"), exit_code=record.get("exitCode"))
    for step in log.steps:
        assert isinstance(step, Command | FileChange)
        assert isinstance(step[0], str)
        if isinstance(step, FileChange):
            assert (
                max(len(step.old.encode("utf-8", "replace")), len(step.new.encode("utf-8", "replace")))
                <= 2_000
            )
