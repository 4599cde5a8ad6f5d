"""Calls of tools and their results as each program writes them, one after the other or both at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

Records = list[Mapping[str, Any]]

TIME: Final = "2026-11-02T08:00:30.000Z"
COMMAND, OUTPUT = "pytest -q", "E   AssertionError: 8443\n1 failed"
EDIT: Final = {"path": "/home/eva/shop/ports.py", "old": "port = 8443", "new": "port = 9001"}
"""What the calls do: those with an even number run a command, which fails, and the others edit a file."""


def arguments(number: int, path: str = "file_path", old: str = "old_string", new: str = "new_string") -> Any:
    """Return the arguments of a call."""
    edit = {path: EDIT["path"], old: EDIT["old"], new: EDIT["new"]}
    return edit if number % 2 else {"command": COMMAND}


def claude_code(session: str, number: int, key: str, has_ended: bool) -> Records:
    """Claude Code, and programs that write its records."""
    call, is_error = f"toolu_{number}", number % 2 == 0
    content: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": call,
        "content": "ok",
        "is_error": is_error,
    }
    if not has_ended:
        tool = "Edit" if number % 2 else "Bash"
        content = {"type": "tool_use", "id": call, "name": tool, "input": arguments(number)}
    elif is_error:
        content["content"] = f"Exit code 1\n{OUTPUT}"
    role = "user" if has_ended else "assistant"
    head = {"uuid": f"{session}-{key}", "parentUuid": None, "sessionId": session, "timestamp": TIME}
    message = {"id": key, "role": role, "content": [content]}
    return [{"type": role, **head, "cwd": "/home/eva/shop", "isSidechain": False, "message": message}]


def codex(session: str, number: int, key: str, has_ended: bool) -> Records:
    """Codex in legacy mode."""
    patch = f"*** Begin Patch\n*** Update File: ports.py\n@@\n-{EDIT['old']}\n+{EDIT['new']}\n*** End Patch"
    call: dict[str, Any] = {"type": "custom_tool_call", "name": "apply_patch", "input": patch}
    output = "Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess."
    if number % 2 == 0:
        call = {"type": "function_call", "name": "exec_command", "arguments": json.dumps({"cmd": COMMAND})}
        output = f"Wall time: 0.1 seconds\nProcess exited with code 1\nOutput:\n{OUTPUT}"
    payload = {"type": f"{call['type']}_output", "output": output} if has_ended else call
    return [{"timestamp": TIME, "type": "response_item", "payload": {**payload, "call_id": f"call_{number}"}}]


def gemini(session: str, number: int, key: str, has_ended: bool) -> Records:
    """Gemini CLI, which writes the same call again when it has ended."""
    tool, output = (
        ("replace", "ok") if number % 2 else ("run_shell_command", f"Output: {OUTPUT}\nExit Code: 1")
    )
    call = {"id": f"call_{number}", "name": tool, "args": arguments(number), "status": "executing"}
    if has_ended:
        response = {"functionResponse": {"response": {"output": output}}}
        call |= {"status": "success", "result": [response]}
    return [{"id": f"tool-{number}", "timestamp": TIME, "type": "gemini", "content": "", "toolCalls": [call]}]


def copilot(session: str, number: int, key: str, has_ended: bool) -> Records:
    """Copilot CLI."""
    data: dict[str, Any] = {"toolCallId": f"call_{number}"}
    if has_ended:
        shell = {"type": "shell_exit", "exitCode": 1}
        result = {"content": OUTPUT, "contents": [] if number % 2 else [shell]}
        data |= {"success": True, "result": result}
    else:
        tool = "edit" if number % 2 else "bash"
        data |= {"toolName": tool, "arguments": arguments(number, "path", "old_str", "new_str")}
    kind = "tool.execution_complete" if has_ended else "tool.execution_start"
    return [{"type": kind, "id": key, "parentId": None, "timestamp": TIME, "data": data}]


def pi(session: str, number: int, key: str, has_ended: bool) -> Records:
    """Return a record of pi, omp or OpenClaw."""
    message: dict[str, Any] = {"role": "assistant"}
    if has_ended:
        failed = f"{OUTPUT}\n\nCommand exited with code 1"
        message = {"role": "toolResult", "toolCallId": f"call_{number}", "isError": number % 2 == 0}
        message |= {"toolName": "edit" if number % 2 else "bash"}
        message["content"] = [{"type": "text", "text": "ok" if number % 2 else failed}]
    else:
        call = {"type": "toolCall", "id": f"call_{number}", "name": "edit" if number % 2 else "bash"}
        message["content"] = [{**call, "arguments": arguments(number, "path", "oldText", "newText")}]
    return [{"type": "message", "id": key, "timestamp": TIME, "message": message}]


def opencode(number: int, has_ended: bool) -> dict[str, Any]:
    """Return a part of opencode, which has the call with its result."""
    state: dict[str, Any] = {
        "input": arguments(number, "filePath", "oldString", "newString"),
        "status": "running",
    }
    if has_ended:
        state |= {"status": "completed", "output": OUTPUT, "metadata": {} if number % 2 else {"exit": 1}}
    tool = "edit" if number % 2 else "bash"
    return {"type": "tool", "callID": f"call_{number}", "tool": tool, "id": "x", "name": tool, "state": state}


def cursor(number: int, key: str, has_ended: bool) -> dict[str, Any]:
    """Return a call of Cursor's editor, whose parts are JSON in texts."""
    chunk = {"diffString": f"- {EDIT['old']}\n+ {EDIT['new']}"}
    result = {"diff": {"chunks": [chunk]}} if number % 2 else {"output": OUTPUT, "exitCode": 1}
    params = {"relativeWorkspacePath": EDIT["path"]} if number % 2 else {"command": COMMAND}
    call = {"name": "edit_file_v2" if number % 2 else "run_terminal_command_v2", "params": json.dumps(params)}
    ended = {"status": "completed", "result": json.dumps(result)} if has_ended else {"status": "loading"}
    return {"toolFormerData": {**call, "toolCallId": key, **ended}}


def cursor_line(number: int) -> dict[str, Any]:
    """Return a call of Cursor's command line, which never has a result."""
    call = {
        "type": "tool_use",
        "name": "StrReplace" if number % 2 else "Shell",
        "input": arguments(number, "path"),
    }
    return {"role": "assistant", "message": {"content": [call]}}
