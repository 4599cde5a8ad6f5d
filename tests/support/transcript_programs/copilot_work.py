"""What Copilot CLI writes of an agent's work: the start and the end of each call, and permissions."""

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
from tests.support.transcript_programs.copilot import CopilotFile


def write_copilot(home: Path, sessions: list[AgentSession]) -> None:
    """Write the events of each session below `~/.copilot/session-state`."""
    for session in sessions:
        folder = home / ".copilot/session-state" / session.id
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "events.jsonl").write_bytes(b"".join(line + b"\n" for line in copilot_lines(session)))


def copilot_lines(session: AgentSession) -> list[bytes]:
    """Return the lines of a session's events."""
    file = CopilotFile(session.id, session.begun)
    file.start(cwd=session.folder, gitRoot=session.folder, branch=session.branch)
    for number, event in enumerate(without_moves(session.events)):
        stamp = session.stamp(number)
        if isinstance(event, Said):
            data = {"content": event.text}
            kind = "user.message" if event.role == "user" else "assistant.message"
            more = (
                {"attachments": []}
                if event.role == "user"
                else {"messageId": f"m{number}", "toolRequests": []}
            )
            file.event(kind, {**data, **more}, timestamp=stamp)
            continue
        call = f"call_{session.id[:8]}{number}"
        tool, arguments = _call(event)
        started = {"toolCallId": call, "toolName": tool, "arguments": arguments, "turnId": "0"}
        file.event("tool.execution_start", started, timestamp=stamp)
        if isinstance(event, Ran):
            _write_permission(file, event, call, stamp)
        ended = _ended(event, session.folder)
        if ended is not None:
            file.event("tool.execution_complete", {"toolCallId": call, **ended}, timestamp=stamp)
    return file.lines


def _write_permission(file: CopilotFile, event: Ran, call: str, stamp: str) -> None:
    shell = {"kind": "shell", "toolCallId": call, "fullCommandText": event.line, "possiblePaths": []}
    file.event("permission.requested", {"requestId": call, "permissionRequest": shell}, timestamp=stamp)
    kind = "denied-interactively-by-user" if event.outcome == "refused" else "approved"
    file.event("permission.completed", {"requestId": call, "result": {"kind": kind}}, timestamp=stamp)


def _call(event: Event) -> tuple[str, dict[str, Any]]:
    match event:
        case Ran(line=line, outcome=outcome):
            mode = "async" if outcome == "background" else "sync"
            return "bash", {"command": line, "description": "Run the command", "mode": mode}
        case FileRead(path=path):
            return "view", {"path": path}
        case Edited(path=path, old=old, new=new):
            return "edit", {"path": path, "old_str": old, "new_str": new}
        case Created(path=path, content=content):
            return "create", {"path": path, "file_text": content}
    raise TypeError(event)


def _ended(event: Event, folder: str) -> dict[str, Any] | None:
    """Return the end of a call; None for a call that was cut off."""
    match event:
        case Ran(outcome="refused"):
            message = "The user rejected this tool call."
            return {"success": False, "error": {"message": message, "code": "denied"}}
        case Ran(outcome="interrupted"):
            return None
        case Ran(outcome="background"):
            return {"success": True, "result": {"content": "<command started in background with shellId: 3>"}}
        case Ran():
            code, where = event.exit_code, event.folder or folder
            said = f"{event.output}\n<shellId: 0 completed with exit code {code}>"
            row = {"type": "shell_exit", "shellId": "0", "exitCode": code, "cwd": where, "outputPreview": ""}
            return {"success": True, "result": {"content": said, "detailedContent": said, "contents": [row]}}
        case FileRead(content=content):
            return {"success": True, "result": {"content": numbered(content)}}
        case Edited(is_failed=True):
            return {"success": False, "error": {"message": "No match found", "code": "failure"}}
        case Edited(path=path, old=old, new=new):
            diff = "\n".join([f"--- a{path}", f"+++ b{path}", "@@ -1 +1 @@", *diff_lines(old, new)])
            return {
                "success": True,
                "result": {"content": f"File {path} updated with changes.", "detailedContent": diff},
            }
        case Created(path=path):
            return {"success": True, "result": {"content": f"Created file {path}"}}
    raise TypeError(event)
