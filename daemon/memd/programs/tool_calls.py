"""How each program records the calls of tools and their results. Pure: any field may have any type."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import unquote

import msgspec

from memd.programs.blocks import visible_text
from memd.programs.claude_records import ClaudeRecord
from memd.programs.codex_code import calls_in
from memd.programs.fetched import ATTACHMENT, source_of, source_of_command, source_of_tool
from memd.programs.records import decode_record, is_set, text_of, time_ms_of
from memd.programs.spans import diff_lines
from memd.programs.work import TOOLS, WorkLog, WorkStatus, exit_code_in

_REFUSALS: Final = ("The user doesn't want to ", "Permission to use ")
"""Beginnings of Claude Code's results of calls that were refused; old releases record it nowhere else."""

_STATUS: Final[dict[str, WorkStatus]] = {
    word: key for key, words in TOOLS["statuses"].items() for word in words
}
_OUTPUT: Final = "Output:\n"
"""What Codex writes between the frame and the output of a command."""

MAX_FRAME_CHARS: Final = 300
USER_SHELL: Final = b"<user_shell_command>"
_SHELL = re.compile(r"\s*<user_shell_command>\s*<command>(.*?)</command>\s*<result>\n(.*)</result>", re.S)
_VERBS: Final = {"add": "Add", "delete": "Delete"}
_INVENTED: Final = "openclawSyntheticMissingToolResult", "missing tool result in session history"
"""Marks of results that OpenClaw adds to calls without a result: in the details, and in the text."""

_CODE_CALL = re.compile(r"\btools\.(\w{1,200})")
_OPENCLAW_CALLS: Final = ("toolCall", "toolUse", "functionCall")
_CLAUDE_MARKS: Final = (b"tool_use", b"<bash-", b'"document"')
_CLAUDE_QUOTES: Final = ("edited_text_file", "file", "mcp_resource", "selected_lines_in_ide")
_TYPED: Final = "<bash-input>", "<bash-stdout>"
_TYPED_TAG = re.compile(r"</?bash-(?:input|stdout|stderr)>")
_GEMINI_FRAME = re.compile(
    r"</?untrusted_context>\n?|^Process Group PGID: \d+\n?|\AOutput: (?:\(empty\)(?=\n))?", re.MULTILINE
)
_GEMINI_EXIT = re.compile(r"^Exit Code: -?\d+\s*\Z", re.MULTILINE)
_COPILOT_FRAME = re.compile(r"<shellId: \S+ completed with exit code -?\d+>\s*\Z")
_CURSOR_SIGN = re.compile(r"^([-+]) ", re.MULTILINE)

_any = msgspec.json.Decoder(object)


def read_claude_code(log: WorkLog, record: ClaudeRecord, place: int, time_ms: int | None) -> None:
    """Read a record of Claude Code: calls in answers, results in records of the user."""
    if record.type == "attachment" and (quoted := _object(record.attachment)).get("type") in _CLAUDE_QUOTES:
        path = text_of(quoted.get("filename"))
        source = source_of("files", path, text_of(record.cwd)) if path else ATTACHMENT
        log.read(source, quoted.get("content") or quoted.get("snippet"), place, time_ms)
    message = bytes(record.message)
    if not any(mark in message for mark in _CLAUDE_MARKS):  # the others aren't decoded again
        return
    content = _object(message).get("content")
    blocks, typed = _dicts(content), visible_text(content).strip()
    if record.type == "user" and typed.startswith(_TYPED):  # by the user, whose terminal shows no exit status
        text = _TYPED_TAG.sub("\n", typed).strip()
        if typed.startswith(_TYPED[0]):
            log.folder = text_of(record.cwd)
            log.call("Bash", {"command": text}, place, call="!", time_ms=time_ms)
        else:
            log.result("!", "unknown", text)
    for block in blocks:
        kind = text_of(block.get("type"))
        if kind == "tool_use" and record.type == "assistant":
            log.folder = text_of(record.cwd)
            log.call(block.get("name"), block.get("input"), place, call=block.get("id"), time_ms=time_ms)
        elif kind.endswith("_tool_result") or kind == "document":  # of the provider's tools, and of the user
            source = ATTACHMENT if kind == "document" else source_of_tool(kind, {})
            log.read(source, block.get("content") or block, place, time_ms)
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
        said = said if code is None else said.partition("\n")[2]
        has_diff = facts.get("type") == "update" or is_set(facts.get("userModified"))
        hunks = [hunk.get("lines") for hunk in _dicts(facts.get("structuredPatch") if has_diff else ())]
        diff = [text_of(line) for lines in hunks if isinstance(lines, list) for line in ["", *lines]]
        is_new = facts.get("type") == "create"
        log.result(block.get("tool_use_id"), status, said, exit_code=code, is_new=is_new, diff=diff)


def read_codex(log: WorkLog, line: bytes, place: int, time_ms: int | None) -> None:
    """Read a record of Codex. Paginated files have each call as an item too, which is preferred."""
    record = _object(line)
    payload = _dict(record.get("payload"))
    call, item, program = payload.get("call_id"), payload.get("item"), text_of(payload.get("input"))
    fields = {**payload, **_dict(payload.get("invocation")), **_dict(item)}
    match payload.get("type"):
        case "message" if "ordinal" in record and payload.get("role") == "user":
            pass  # paginated: commands that the user typed, and those in programs, are items
        case "message" if typed := _SHELL.match(visible_text(payload.get("content"))):
            log.call("shell", {"command": typed[1].strip()}, place, call="!", time_ms=time_ms)
            code = exit_code_in(typed[2][:MAX_FRAME_CHARS])
            log.result("!", "ok" if code == 0 else "unknown", typed[2].partition(_OUTPUT)[2], exit_code=code)
        case "custom_tool_call" if payload.get("name") == "exec":
            calls, names = list(calls_in(program)), _CODE_CALL.findall(program)
            for tool, fields in calls if "ordinal" not in record else ():
                log.call(tool, fields, place, call="", time_ms=time_ms)
            sources = [source_of_command(fields.get("cmd", ""), "") for _, fields in calls]
            sources += [source_of_tool(name, program) for name in names]
            log.sources[text_of(call)] = max(filter(None, sources), default=None), place, time_ms
        case "function_call" | "local_shell_call" | "custom_tool_call":
            arguments = _object(payload.get("arguments"))
            arguments = _dict(payload.get("action")) or arguments or payload
            tool, space = payload.get("name") or "local_shell", text_of(payload.get("namespace"))
            tool = f"{space}__{tool}" if space.startswith("mcp") else tool
            log.call(tool, arguments, place, call=call, time_ms=time_ms)
        case "function_call_output" | "custom_tool_call_output":
            frame, _, said = visible_text(payload.get("output")).partition(_OUTPUT)
            code = exit_code_in(frame[:MAX_FRAME_CHARS])
            if frame.startswith("{"):  # releases of 2025
                old = _object(frame)
                code, said = _dict(old.get("metadata")).get("exit_code"), text_of(old.get("output"))
            log.result(call, "ok" if code == 0 else "unknown", said or [frame], exit_code=code)
        case "mcp_tool_call_end" | "item_completed" if "server" in fields:
            source = source_of_tool(f"mcp__{fields['server']}__{fields.get('tool')}", fields.get("arguments"))
            log.read(source, fields.get("result"), place, time_ms)
        case "patch_apply_end":
            log.result(call, "ok" if payload.get("success") is True else "failed")
        case "item_completed" if isinstance(item, dict):
            _read_codex_item(log, item, place, time_ms)
        case _ if isinstance(payload.get("cwd"), str):  # of a turn
            log.folder = payload["cwd"]


def _read_codex_item(log: WorkLog, item: dict[str, Any], place: int, time_ms: int | None) -> None:
    """Read an item: a command, or changes of files."""
    call, changes = item.get("id"), _dict(item.get("changes"))
    is_input = "interaction" in text_of(item.get("source")).lower()  # for a command that runs
    if item.get("type") not in ("CommandExecution", "FileChange") or is_input:
        return
    if call not in log:
        arguments = {"patch": "\n".join(_patch_lines(changes))} if changes else item
        log.call("apply_patch" if changes else "shell", arguments, place, call=call, time_ms=time_ms)
    status = _STATUS.get(text_of(item.get("status")), "unknown")
    said = item.get("aggregatedOutput", item.get("aggregated_output"))
    code = item.get("exitCode", item.get("exit_code"))
    folder = unquote(text_of(item.get("cwd")).removeprefix("file://"))
    log.result(call, status, said, exit_code=None if code == -1 else code, folder=folder, is_final=True)


def _patch_lines(changes: dict[str, Any]) -> Iterator[str]:
    """Yield the lines of a patch with some changes."""
    for path, value in changes.items():
        change = _dict(value)
        kind, moved, content = (text_of(change.get(name)) for name in ("type", "move_path", "content"))
        yield f"*** {_VERBS.get(kind, 'Update')} File: {path}"
        yield from [f"*** Move to: {moved}"] if moved else []
        yield from (f"+{line}" for line in content.splitlines() if kind == "add")
        yield from diff_lines(text_of(change.get("unified_diff")))


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
        success = event.get("success")
        status: WorkStatus = "ok" if success is True else "failed" if success is False else "unknown"
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
        elif part.get("type") == "text" and is_set(part.get("synthetic")):  # of files quoted in a prompt
            log.read(ATTACHMENT, part.get("text"), place, time_ms)


def read_openclaw(log: WorkLog, data: object, place: int) -> None:
    """Read a record of OpenClaw or pi: calls in an answer, the result of one, or a command that the user typed."""
    record = _object(data)
    message, time_ms = _dict(record.get("message")), time_ms_of(record.get("timestamp"))
    call, details = message.get("toolCallId"), _dict(message.get("details"))
    said, code = visible_text(message.get("content")), details.get("exitCode")
    if record.get("type") == "session":
        log.folder = text_of(record.get("cwd")) or log.folder
    match message.get("role"):
        case "assistant":
            for block in _dicts(message.get("content")):
                if block.get("type") in _OPENCLAW_CALLS:
                    arguments = block.get("arguments") or block.get("input")
                    log.call(block.get("name"), arguments, place, call=block.get("id"), time_ms=time_ms)
        case "toolResult" if not (details.get(_INVENTED[0]) or _INVENTED[1] in said[:100]):
            status: WorkStatus = "failed" if message.get("isError") is True else "ok"
            status = "unknown" if details.get("status") == "running" else status
            if code is None and message.get("toolName") in ("bash", "exec"):
                code = exit_code_in(said[-MAX_FRAME_CHARS:])
            log.result(call, status, said, exit_code=code, folder=text_of(details.get("cwd")))
        case "bashExecution" if not message.get("excludeFromContext"):
            code = message.get("exitCode")
            status = "unknown" if message.get("cancelled") or code is None else "ok"
            log.call("bash", message, place, call="!", time_ms=time_ms)
            log.result("!", status, message.get("output"), exit_code=code)


def reason_outside(record: str) -> str:
    """Return why OpenClaw doesn't trust a message; empty if it does, or doesn't tell."""
    message = _dict(_object(record).get("message")) if '"__openclaw"' in record else {}
    marks, is_user = _dict(message.get("__openclaw")), message.get("role") == "user"
    is_other = is_user and marks.get("senderIsOwner", True) is not True
    what = "a message of another person" if is_user else "an answer to text from the network"
    return what if is_other or is_set(marks.get("turnTainted")) else ""


def read_cursor(log: WorkLog, data: bytes, place: int, time_ms: int | None) -> None:
    """Read a call with its result, each of which is an object or its JSON in a text; the failures have four forms."""
    call = _object(data)
    raw, params, result, error = (
        _object(call.get(name)) for name in ("rawArgs", "params", "result", "error")
    )
    key, ends = text_of(call.get("toolCallId")) or str(place), _dict(call.get("additionalData")).get("status")
    log.call(call.get("name"), {**raw, **params}, place, call=key, time_ms=time_ms)
    status = _STATUS.get("error" if ends == "error" else text_of(call.get("status")), "unknown")
    if is_set(result.get("rejected")) or "rejected" in (ends, call.get("userDecision")):
        status = "refused"
    said = result.get("output") or error.get("clientVisibleErrorMessage") or call.get("error")
    chunks = [text_of(chunk.get("diffString")) for chunk in _dicts(_dict(result.get("diff")).get("chunks"))]
    diff = _CURSOR_SIGN.sub(r"\1", "\n\n".join(chunks)).split("\n") if chunks else ()
    log.result(key, status, said or result, exit_code=result.get("exitCode"), diff=diff)


def _object(data: object) -> dict[str, Any]:
    """Return a JSON object from its text; an empty one for anything else."""
    if isinstance(data, str):
        data = data.encode("utf-8", "replace")
    return _dict(decode_record(bytes(data), _any) if isinstance(data, bytes | msgspec.Raw) and data else data)


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []
