"""What OpenClaw writes of an agent's work: calls in answers, results as messages of their own."""

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
from tests.support.transcripts import TranscriptHome, message, moment


def write_openclaw(state: Path, sessions: list[AgentSession]) -> None:
    """Write a file per session below an OpenClaw state directory, for its main agent."""
    home = TranscriptHome(state)
    for session in sessions:
        home.write_file(session.id, openclaw_records(session))


def openclaw_records(session: AgentSession) -> list[str]:
    """Return the records of a session."""
    first = {"type": "session", "version": 3, "id": session.id, "timestamp": moment(session.at_ms(0))}
    records = [json.dumps({**first, "cwd": session.folder})]
    for number, event in enumerate(without_moves(session.events)):
        at_ms = session.at_ms(number)
        if isinstance(event, Said):
            records.append(message(event.role, [{"type": "text", "text": event.text}], at_ms))
            continue
        call, (tool, arguments) = f"call_{session.id[:8]}{number}", _call(event, session.folder)
        block = {"type": "toolCall", "id": call, "name": tool, "arguments": arguments}
        records.append(message("assistant", [block], at_ms, stopReason="toolUse"))
        if isinstance(event, Ran) and event.outcome == "interrupted":
            continue
        said, details, is_error = _result(event, session.folder)
        content = [{"type": "text", "text": said}]
        facts: dict[str, Any] = {
            "toolCallId": call,
            "toolName": tool,
            "details": details,
            "isError": is_error,
        }
        records.append(message("toolResult", content, at_ms + 1_000, **facts))
    return records


def _call(event: Event, folder: str) -> tuple[str, dict[str, Any]]:
    match event:
        case Ran():
            more = {"background": True} if event.outcome == "background" else {}
            return "exec", {"command": event.line, "workdir": event.folder or folder, **more}
        case FileRead(path=path):
            return "read", {"path": path}
        case Edited(path=path, old=old, new=new):
            return "edit", {"path": path, "edits": [{"oldText": old, "newText": new}]}
        case Created(path=path, content=content):
            return "write", {"path": path, "content": content}
    raise TypeError(event)


def _result(event: Event, folder: str) -> tuple[str, dict[str, Any], bool]:
    """Return the text of a result, its details, and whether it is an error."""
    match event:
        case Ran(outcome="refused"):
            return "exec denied: the user rejected the command", {"status": "denied"}, True
        case Ran(outcome="background"):
            return "Command still running (session calm-reef, pid 4711).", {"status": "running"}, False
        case Ran(output=output, exit_code=code):
            said = f"{output}\n\nCommand exited with code {code}" if code else output or "(no output)"
            status = "failed" if code else "completed"
            details = {"status": status, "exitCode": code, "durationMs": 900, "cwd": event.folder or folder}
            return said, details, bool(code)
        case FileRead(content=content):
            return content, {}, False
        case Edited(is_failed=True, path=path):
            return f"Could not find the exact text in {path}.", {}, True
        case Edited(path=path, old=old, new=new):
            return f"Successfully replaced text in {path}.", {"diff": "\n".join(diff_lines(old, new))}, False
        case Created(path=path, content=content):
            return f"Successfully wrote {len(content)} bytes to {path}", {}, False
    raise TypeError(event)
