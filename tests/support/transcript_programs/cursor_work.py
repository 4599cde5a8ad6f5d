"""What Cursor's editor writes of an agent's work: bubbles of calls, with arguments and results as JSON strings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.transcript_programs.agent_steps import (
    AgentSession,
    Created,
    Edited,
    Event,
    FileRead,
    Ran,
    Said,
    diff_lines,
    without_moves,
)
from tests.support.transcript_programs.cursor import HEADERS, TABLES, CursorWriter


def write_cursor(home: Path, sessions: list[AgentSession]) -> None:
    """Write the editor's database below `~/.config/Cursor`."""
    path = home / ".config/Cursor/User/globalStorage/state.vscdb"
    with CursorWriter(path, TABLES + HEADERS) as writer:
        for session in sessions:
            write_composer(writer, session)


def write_composer(writer: CursorWriter, session: AgentSession) -> None:
    """Write a conversation with its bubbles."""
    bubbles = [
        (f"b{number:04}", _bubble(event, session, number))
        for number, event in enumerate(without_moves(session.events))
    ]
    ended = session.at_ms(len(session.events))
    writer.composer(
        session.id,
        *bubbles,
        name=session.title or session.name,
        createdAt=session.at_ms(0),
        lastUpdatedAt=ended,
        workspaceIdentifier={"id": "w1", "uri": {"fsPath": session.folder}},
    )
    writer.listed(session.id, ended)


def _bubble(event: Event, session: AgentSession, number: int) -> dict[str, Any]:
    stamp = {"createdAt": session.stamp(number)}
    if isinstance(event, Said):
        return {"type": 1 if event.role == "user" else 2, "text": event.text, **stamp}
    call = {"toolCallId": f"tool_{session.id[:8]}{number}", **_call(event, session.folder)}
    for key in ("params", "rawArgs", "result"):
        call[key] = json.dumps(call[key], ensure_ascii=False) if key in call else ""
    return {"type": 2, "text": "", "capabilityType": 15, "toolFormerData": call, **stamp}


def _call(event: Event, folder: str) -> dict[str, Any]:
    """Return a call with its result."""
    match event:
        case Ran():
            return _command(event, folder)
        case FileRead(path=path, content=content):
            params = {"targetFile": path}
            return {**_done("read_file_v2", params, {"target_file": path}), "result": {"contents": content}}
        case Edited(path=path, old=old, new=new, is_failed=is_failed):
            raw = {"file_path": path, "old_string": old, "new_string": new}
            call = _done("search_replace", {"relativeWorkspacePath": path}, raw)
            if is_failed:
                error = {"clientVisibleErrorMessage": "The string to replace was not found in the file."}
                return {**call, "status": "error", "error": error}
            chunk = {"diffString": "\n".join(diff_lines(old, new)), "oldStart": 1, "newStart": 1}
            return {**call, "result": {"diff": {"chunks": [chunk], "editor": "EDITOR_AI"}, "isApplied": True}}
        case Created(path=path, content=content):
            raw = {"file_path": path, "contents": content}
            call = _done("write", {"relativeWorkspacePath": path}, raw)
            chunk = {"diffString": "\n".join(diff_lines("", content)), "oldStart": 0, "newStart": 1}
            return {**call, "result": {"diff": {"chunks": [chunk], "editor": "EDITOR_AI"}, "isApplied": True}}
    raise TypeError(event)


def _done(name: str, params: dict[str, Any], raw: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "params": params, "rawArgs": raw, "status": "completed", "userDecision": "accepted"}


def _command(event: Ran, folder: str) -> dict[str, Any]:
    """Return a command; a failure has one of the forms that the editor uses."""
    params = {"command": event.line, "cwd": event.folder or folder, "requireUserApproval": True}
    raw = {"command": event.line, "is_background": event.outcome == "background"}
    call = _done("run_terminal_command_v2", params, raw)
    result: dict[str, Any] = {"output": event.output, "exitCode": event.exit_code, "rejected": False}
    if event.outcome == "refused":
        refused = {"output": "", "rejected": True}
        return {
            **call,
            "userDecision": "rejected",
            "result": refused,
            "additionalData": {"status": "rejected"},
        }
    if event.outcome == "background":
        return {
            **call,
            "result": {"output": "", "backgroundShellId": 4},
            "additionalData": {"status": "background"},
        }
    if event.outcome == "interrupted":
        return {**call, "status": "cancelled", "error": {"clientVisibleErrorMessage": "Cancelled"}}
    status = "error" if event.exit_code and not event.is_quiet else "success"
    return {**call, "result": result, "additionalData": {"status": status}}
