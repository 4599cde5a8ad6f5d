"""What opencode 1.x writes of an agent's work: a part per call, which has its result."""

from __future__ import annotations

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
    numbered,
    without_moves,
)
from tests.support.transcript_programs.opencode import V1, OpencodeWriter


def write_opencode(home: Path, sessions: list[AgentSession]) -> None:
    """Write the database below `~/.local/share/opencode`."""
    with OpencodeWriter(home / ".local/share/opencode/opencode.db", V1) as writer:
        for session in sorted(sessions, key=lambda session: session.begun):
            write_session(writer, session)


def session_key(session: AgentSession) -> str:
    """Return the id of a session in the database."""
    return f"ses_{session.id.replace('-', '')[:20]}"


def write_session(writer: OpencodeWriter, session: AgentSession) -> None:
    """Write a session: each message with its parts."""
    key = session_key(session)
    begun, ended = session.at_ms(0), session.at_ms(len(session.events))
    columns = {"directory": session.folder, "title": session.title or session.name}
    writer.session(key, **columns, time_created=begun, time_updated=ended)
    for number, event in enumerate(without_moves(session.events)):
        at_ms = session.at_ms(number)
        if isinstance(event, Said):
            writer.v1(key, event.role, event.text, at_ms=at_ms)
        else:
            part = _part(event, f"call_{session.id[:8]}{number}", at_ms)
            writer.v1(key, "assistant", part, at_ms=at_ms, finish="tool-calls")


def _part(event: Event, call: str, at_ms: int) -> dict[str, Any]:
    """Return the data of a part."""
    state: dict[str, Any] = {
        "status": "completed",
        "metadata": {},
        "time": {"start": at_ms, "end": at_ms + 900},
    }
    match event:
        case Ran():
            tool, arguments = "bash", {"command": event.line, "description": "Runs the command"}
            if event.folder:
                arguments["workdir"] = event.folder
            state["output"] = event.output
            if event.outcome == "refused":
                said = "The user rejected permission to use this specific tool call."
                state |= {"status": "error", "error": said}
            elif event.outcome == "ended":
                state["metadata"] = {"output": event.output, "exit": event.exit_code, "truncated": False}
            else:
                state |= {"status": "running"}
        case FileRead(path=path, content=content):
            tool, arguments = "read", {"filePath": path}
            state["output"] = f"<file>\n{numbered(content)}\n</file>"
        case Edited(path=path, old=old, new=new, is_failed=is_failed):
            tool, arguments = "edit", {"filePath": path, "oldString": old, "newString": new}
            diff = "\n".join([f"Index: {path}", "@@ -1 +1 @@", *diff_lines(old, new)])
            state |= {"output": "", "metadata": {"diff": diff}}
            if is_failed:
                state |= {"status": "error", "error": "oldString not found in content", "metadata": {}}
        case Created(path=path, content=content):
            tool, arguments = "write", {"filePath": path, "content": content}
            state |= {"output": "", "metadata": {"filepath": path, "exists": False}}
        case _:
            raise TypeError(event)
    return {
        "type": "tool",
        "callID": call,
        "tool": tool,
        "state": {**state, "input": arguments, "title": tool},
    }
