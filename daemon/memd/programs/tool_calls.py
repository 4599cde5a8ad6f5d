"""How each program records the calls of tools and their results. Pure: any field may have any type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from memd.programs.blocks import visible_text
from memd.programs.claude_records import ClaudeRecord
from memd.programs.records import decode_record, is_set, text_of
from memd.programs.spans import diff_lines
from memd.programs.work import WorkLog, WorkStatus, exit_code_in

_REFUSALS: Final = ("The user doesn't want to ", "Permission to use ")
"""Beginnings of Claude Code's results of calls that were refused; old releases record it nowhere else."""

_STATUS: Final[dict[object, WorkStatus]] = {
    "completed": "ok",
    "success": "ok",
    True: "ok",
    "failed": "failed",
    "error": "failed",
    False: "failed",
    "declined": "refused",
}
_OUTPUT: Final = "Output:\n"
"""What Codex writes between the frame and the output of a command."""

MAX_FRAME_CHARS: Final = 300
_VERBS: Final = {"add": "Add", "delete": "Delete"}
_GEMINI_FRAME = re.compile(r"</?untrusted_context>\n?|^Process Group PGID: \d+\n?|\AOutput: ", re.MULTILINE)
_GEMINI_EXIT = re.compile(r"^Exit Code: -?\d+\s*\Z", re.MULTILINE)
_COPILOT_FRAME = re.compile(r"<shellId: \S+ completed with exit code -?\d+>\s*\Z")


class CodexPayload(msgspec.Struct, gc=False):
    """The fields of payloads that are calls, results and turns. Any may have any type."""

    type: object = None
    call_id: object = None
    name: object = None
    arguments: object = None
    input: object = None
    action: object = None
    output: object = None
    success: object = None
    cwd: object = None
    item: msgspec.Raw = msgspec.Raw()


class _CodexLine(msgspec.Struct, gc=False):
    payload: CodexPayload


class _CodexItem(msgspec.Struct, gc=False):
    """An item; some releases write its names in snake case."""

    type: object = None
    id: object = None
    command: object = None
    cwd: object = None
    status: object = None
    changes: object = None
    exitCode: object = None  # noqa: N815 - Codex's names
    exit_code: object = None
    aggregatedOutput: object = None  # noqa: N815
    aggregated_output: object = None


_any = msgspec.json.Decoder(object)
codex_payload = msgspec.json.Decoder(CodexPayload)
codex_line = msgspec.json.Decoder(_CodexLine)
_codex_item = msgspec.json.Decoder(_CodexItem)

CODEX_CALLS: Final = frozenset(
    "function_call local_shell_call custom_tool_call function_call_output custom_tool_call_output patch_apply_end"
    " item_completed".split()
)
"""Types of payloads of Codex that are calls of tools or their results."""


def read_claude_code(log: WorkLog, record: ClaudeRecord, place: int, time_ms: int | None) -> None:
    """Read a record of Claude Code: calls in answers, results in records of the user."""
    blocks = _dicts(_object(record.message).get("content"))
    for block in blocks if record.type == "assistant" else ():
        if block.get("type") == "tool_use":
            log.folder = text_of(record.cwd)
            log.call(block.get("name"), block.get("input"), place, call=block.get("id"), time_ms=time_ms)
    results = [block for block in blocks if block.get("type") == "tool_result" and record.type == "user"]
    facts = _object(record.tool_use_result) if len(results) == 1 else {}
    is_denied = _object(record.permission_decision).get("decision") in ("deny", "reject")
    for block in results:
        said, is_error = visible_text(block.get("content")), is_set(block.get("is_error"))
        status: WorkStatus = "failed" if is_error else "ok"
        if is_denied or (is_error and said.startswith(_REFUSALS)):
            status = "refused"
        elif is_set(facts.get("interrupted")) or is_set(facts.get("backgroundTaskId")):
            status = "unknown"
        code = exit_code_in(said.partition("\n")[0]) if is_error else None
        is_new = facts.get("type") == "create"
        diff = (
            _hunk_lines(facts) if facts.get("type") == "update" or is_set(facts.get("userModified")) else ()
        )
        log.result(block.get("tool_use_id"), status, said, exit_code=code, is_new=is_new, diff=diff)


def _hunk_lines(facts: dict[str, Any]) -> list[str]:
    """Return the lines of a structured patch; each of its parts begins with an empty line."""
    hunks = [hunk.get("lines") for hunk in _dicts(facts.get("structuredPatch"))]
    return [text_of(line) for lines in hunks if isinstance(lines, list) for line in ["", *lines]]


def read_codex(log: WorkLog, payload: CodexPayload | None, place: int, time_ms: int | None) -> None:
    """Read a payload of Codex. Paginated files have each call as an item too, which is preferred."""
    if payload is None:
        return
    call = payload.call_id
    match payload.type:
        case "function_call" | "local_shell_call" | "custom_tool_call":
            arguments = _object(text_of(payload.arguments).encode("utf-8", "replace"))
            arguments = payload.action or arguments or {"input": payload.input}
            log.call(payload.name or "local_shell", arguments, place, call=call, time_ms=time_ms)
        case "function_call_output" | "custom_tool_call_output":
            frame, _, said = visible_text(payload.output).partition(_OUTPUT)
            code = exit_code_in(frame[:MAX_FRAME_CHARS])
            if frame.startswith("{"):  # releases of 2025
                old = _object(frame.encode("utf-8", "replace"))
                code, said = _dict(old.get("metadata")).get("exit_code"), text_of(old.get("output"))
            log.result(call, "ok" if code == 0 else "unknown", said, exit_code=code)
        case "patch_apply_end":
            log.result(call, _STATUS.get(payload.success is True, "unknown"))
        case "item_completed" if (item := decode_record(bytes(payload.item), _codex_item)) is not None:
            _read_codex_item(log, item, place, time_ms)
        case _ if isinstance(payload.cwd, str):  # of a turn
            log.folder = payload.cwd


def _read_codex_item(log: WorkLog, item: _CodexItem, place: int, time_ms: int | None) -> None:
    """Read an item: a command, or changes of files."""
    call, changes = item.id, _dict(item.changes)
    if item.type not in ("CommandExecution", "FileChange"):
        return
    if call not in log:
        arguments = {"patch": "\n".join(_patch_lines(changes)), "command": item.command}
        log.call("apply_patch" if changes else "shell", arguments, place, call=call, time_ms=time_ms)
    status = _STATUS.get(text_of(item.status), "unknown")
    code = item.exit_code if item.exitCode is None else item.exitCode
    folder, said = (
        unquote(text_of(item.cwd).removeprefix("file://")),
        item.aggregatedOutput or item.aggregated_output,
    )
    log.result(call, status, said, exit_code=None if code == -1 else code, folder=folder, is_final=True)


def _patch_lines(changes: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a patch with some changes."""
    for path, change in changes.items():
        yield f"*** {_VERBS.get(text_of(_dict(change).get('type')), 'Update')} File: {path}"
        if moved := text_of(_dict(change).get("move_path")):
            yield f"*** Move to: {moved}"
        sign = "+" if text_of(_dict(change).get("type")) == "add" else " "
        yield from (
            f"{sign}{line}" for line in text_of(_dict(change).get("content")).removesuffix("\n").split("\n")
        )
        yield from diff_lines(text_of(_dict(change).get("unified_diff")))


def read_gemini(log: WorkLog, data: bytes, place: int, time_ms: int | None) -> None:
    """Read the calls in a record of Gemini CLI; a later record with the same calls updates them."""
    for row in _dicts(decode_record(data, _any)):
        if row.get("id") not in log:
            log.call(row.get("name"), row.get("args"), place, call=row.get("id"), time_ms=time_ms)
        replies = [
            _dict(_dict(part.get("functionResponse")).get("response")) for part in _dicts(row.get("result"))
        ]
        said = "\n".join(text_of(reply.get("output")) or text_of(reply.get("error")) for reply in replies)
        said = _GEMINI_FRAME.sub("", _GEMINI_FRAME.sub("", said))
        code = exit_code_in(said) if row.get("name") == "run_shell_command" else None
        status = _STATUS.get(text_of(row.get("status")), "unknown")
        status = "unknown" if "\nBackground PIDs:" in said else status
        shown = _dict(row.get("resultDisplay"))
        is_new, diff = shown.get("isNewFile") is True, diff_lines(text_of(shown.get("fileDiff")))
        said = _GEMINI_EXIT.sub("", said)
        log.result(row.get("id"), status, said, exit_code=code, is_new=is_new, diff=diff)


def read_copilot(log: WorkLog, kind: str, data: bytes, place: int, time_ms: int | None) -> None:
    """Read an event of Copilot: the start or the end of a call."""
    event = _object(data) if kind in ("tool.execution_start", "tool.execution_complete") else {}
    call, result = event.get("toolCallId"), _dict(event.get("result"))
    if kind == "tool.execution_start":
        log.call(event.get("toolName"), event.get("arguments"), place, call=call, time_ms=time_ms)
    elif kind == "tool.execution_complete":
        shells = [_dict(event.get("shellExecution")), *_dicts(result.get("contents"))]
        shell = next((row for row in shells if "exitCode" in row), {})
        said = text_of(result.get("content")) or text_of(_dict(event.get("error")).get("message"))
        status = _STATUS[event["success"]] if isinstance(event.get("success"), bool) else "unknown"
        folder, code = text_of(shell.get("cwd")), shell.get("exitCode")
        log.result(call, status, _COPILOT_FRAME.sub("", said), exit_code=code, folder=folder)


def read_opencode(log: WorkLog, data: bytes | None, place: int, time_ms: int | None) -> None:
    """Read a part of a 1.x message, or the blocks of a 2.x one: calls with their results, updated in place."""
    record = _object(data)
    for part in _dicts(record.get("content")) or [record]:
        state = _dict(part.get("state"))
        if part.get("type") == "tool" and state:
            call, tool = part.get("callID") or part.get("id"), part.get("tool") or part.get("name")
            log.call(tool, state.get("input"), place, call=call, time_ms=time_ms)
            facts = _dict(state.get("metadata") or state.get("structured"))
            said = visible_text(state.get("output") or state.get("content") or state.get("error"))
            status = _STATUS.get(text_of(state.get("status")), "unknown")
            is_new, diff = facts.get("exists") is False, diff_lines(text_of(facts.get("diff")))
            log.result(call, status, said, exit_code=facts.get("exit"), is_new=is_new, diff=diff)


def _object(data: bytes | msgspec.Raw | None) -> dict[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    return _dict(decode_record(bytes(data), _any)) if data else {}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
