"""What Gemini CLI writes of an agent's work: calls with their results, which the next record repeats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.transcript_programs import gemini
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


def write_gemini(home: Path, sessions: list[AgentSession]) -> None:
    """Write a file per session below `~/.gemini/tmp`, and the root of each project."""
    for session in sessions:
        project = home / ".gemini/tmp" / Path(session.folder).name
        chats = project / "chats"
        chats.mkdir(parents=True, exist_ok=True)
        (project / ".project_root").write_text(session.folder)
        path = chats / f"session-{session.begun:%Y-%m-%dT%H-%M}-{session.id[:8]}.jsonl"
        path.write_bytes(b"".join(line + b"\n" for line in gemini_lines(session)))


def gemini_lines(session: AgentSession) -> list[bytes]:
    """Return the lines of a session's file."""
    stamp = session.stamp(0)
    records: list[dict[str, Any]] = [gemini.session(sessionId=session.id, startTime=stamp, lastUpdated=stamp)]
    for number, event in enumerate(without_moves(session.events)):
        key, stamp = f"{session.id[:8]}-{number}", session.stamp(number)
        if isinstance(event, Said) and event.role == "user":
            records.append(gemini.said(key, event.text, timestamp=stamp))
        elif isinstance(event, Said):
            records.append(gemini.answered(key, event.text, timestamp=stamp, toolCalls=[]))
        else:
            call = _call(event, f"{session.id[:8]}_{number}", session.folder)
            records.append(
                gemini.answered(key, "", timestamp=stamp, toolCalls=[{**call, "timestamp": stamp}])
            )
            if call["status"] != "cancelled":
                records.append(gemini.said(f"{key}-r", call["result"], timestamp=stamp))
    return [gemini.line(record) for record in records]


def _call(event: Event, key: str, folder: str) -> dict[str, Any]:
    """Return a call with its result."""
    status, shown = "success", None
    match event:
        case Ran():
            name, said = "run_shell_command", _frame(event)
            args: dict[str, Any] = {"command": event.line, "description": "Run the command"}
            if event.folder:
                args["dir_path"] = event.folder
            if event.outcome == "background":
                args["is_background"] = True
            status = "cancelled" if event.outcome in ("refused", "interrupted") else "success"
        case FileRead(path=path, content=content):
            name, args, said = "read_file", {"file_path": path}, content
        case Edited(path=path, old=old, new=new, is_failed=is_failed):
            name = "replace"
            args = {"file_path": path, "old_string": old, "new_string": new, "instruction": "Change it"}
            said = f"Successfully modified file: {path} (1 replacements)."
            if is_failed:
                status, said = "error", f"Failed to edit, 0 occurrences found for old_string in {path}."
            else:
                shown = _shown(path, old, new, is_new=False)
        case Created(path=path, content=content):
            name, args = "write_file", {"file_path": path, "content": content}
            said = f"Successfully created and wrote to new file: {path}."
            shown = _shown(path, "", content, is_new=True)
        case _:
            raise TypeError(event)
    reply = {"error": said} if status == "error" else {"output": said}
    if status == "cancelled":
        reply = {"error": "[Operation Cancelled] Reason: User denied execution."}
    result = [{"functionResponse": {"id": key, "name": name, "response": reply}}]
    call = {"id": key, "name": name, "args": args, "result": result, "status": status}
    return call if shown is None else {**call, "resultDisplay": shown}


def _frame(event: Ran) -> str:
    """Return what the program tells the model about a command."""
    rows = [f"Output: {event.output or '(empty)'}"]
    if event.outcome == "background":
        rows.append("Background PIDs: 4711")
    elif event.exit_code:
        rows.append(f"Exit Code: {event.exit_code}")
    rows.append("Process Group PGID: 4710")
    return "<untrusted_context>\n" + "\n".join(rows) + "\n</untrusted_context>"


def _shown(path: str, old: str, new: str, *, is_new: bool) -> dict[str, Any]:
    name = Path(path).name
    diff = "\n".join([f"Index: {name}", "@@ -1 +1 @@", *diff_lines(old, new)])
    whole = {"originalContent": f"{old}\n", "newContent": f"{new}\n"}
    return {"fileDiff": diff, "fileName": name, "filePath": path, **whole, "isNewFile": is_new}
