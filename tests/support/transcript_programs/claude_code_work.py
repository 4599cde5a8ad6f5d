"""What Claude Code writes of an agent's work: calls in answers, results in the user's records."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tests.support.transcript_programs.agent_steps import (
    QUIET_TOOLS,
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
from tests.support.transcript_programs.claude_code import ClaudeFile

REFUSAL: Final = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)


def write_claude_code(home: Path, sessions: list[AgentSession]) -> None:
    """Write a file per session below `~/.claude/projects`."""
    for session in sessions:
        path = (
            home
            / ".claude/projects"
            / session.folder.replace("/", "-").replace(".", "-")
            / f"{session.id}.jsonl"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(line + b"\n" for line in claude_code_lines(session)))


def claude_code_lines(session: AgentSession) -> list[bytes]:
    """Return the lines of a session's file."""
    file = ClaudeFile(session.id, cwd=session.folder, gitBranch=session.branch)
    for number, event in enumerate(without_moves(session.events)):
        stamp = session.stamp(number)
        if isinstance(event, Said):
            write = file.prompt if event.role == "user" else file.answer
            write(event.text, timestamp=stamp, cwd=session.folder)
            continue
        tool, arguments = _call(event)
        call = f"toolu_{session.id[:8]}{number:04}"
        fields: dict[str, Any] = {"timestamp": stamp}
        if isinstance(event, Ran):
            fields["cwd"] = session.folder_of(event)
        file.blocks([{"type": "tool_use", "id": call, "name": tool, "input": arguments}], **fields)
        content, result, is_error = _result(event)
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call, "content": content}
        if is_error or isinstance(event, Ran):
            block["is_error"] = is_error
        file.prompt([block], toolUseResult=result, **fields)
    if session.title:
        file.add({"type": "ai-title", "aiTitle": session.title, "sessionId": session.id})
    return file.lines


def _call(event: Event) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments of a call."""
    match event:
        case Ran(line=line, outcome=outcome):
            more = {"run_in_background": True} if outcome == "background" else {}
            return "Bash", {"command": line, "description": "Run the command", **more}
        case FileRead(path=path):
            return "Read", {"file_path": path}
        case Edited(path=path, old=old, new=new):
            return "Edit", {"file_path": path, "old_string": old, "new_string": new, "replace_all": False}
        case Created(path=path, content=content):
            return "Write", {"file_path": path, "content": content}
    raise TypeError(event)


def _result(event: Event) -> tuple[str, object, bool]:
    """Return the content of a result, the structured result, and whether it is an error."""
    match event:
        case Ran():
            return _command_result(event)
        case FileRead(path=path, content=content):
            lines = content.count("\n") + 1
            file = {
                "filePath": path,
                "content": content,
                "numLines": lines,
                "startLine": 1,
                "totalLines": lines,
            }
            return numbered(content), {"type": "text", "file": file}, False
        case Edited(is_failed=True, old=old):
            said = f"String to replace not found in file.\nString: {old}"
            return f"<tool_use_error>{said}</tool_use_error>", f"Error: {said}", True
        case Edited(path=path, old=old, new=new):
            patch = {
                "oldStart": 1,
                "oldLines": 1,
                "newStart": 1,
                "newLines": 1,
                "lines": diff_lines(old, new),
            }
            result = {
                "filePath": path,
                "oldString": old,
                "newString": new,
                "originalFile": f"{old}\n",
                "structuredPatch": [patch],
                "userModified": False,
                "replaceAll": False,
            }
            return f"The file {path} has been updated.", result, False
        case Created(path=path, content=content):
            result = {"type": "create", "filePath": path, "content": content, "structuredPatch": []}
            return f"File created successfully at: {path}", result, False
    raise TypeError(event)


def _command_result(event: Ran) -> tuple[str, object, bool]:
    if event.outcome == "refused":
        return REFUSAL, "User rejected tool use", True
    result: dict[str, Any] = {"stdout": event.output, "stderr": "", "interrupted": False, "isImage": False}
    if event.outcome == "background":
        task = {**result, "stdout": "", "backgroundTaskId": "b7f3a1"}
        return (
            "Command running in background with ID: b7f3a1. Output is being written to a file.",
            task,
            False,
        )
    if event.outcome == "interrupted":
        return event.output, {**result, "interrupted": True}, False
    if event.is_quiet:
        result["returnCodeInterpretation"] = QUIET_TOOLS[event.line.split()[0]]
        return event.output, result, False
    if event.exit_code:
        said = f"Exit code {event.exit_code}\n{event.output}".rstrip()
        return said, f"Error: {said}", True
    return event.output or "(Bash completed with no output)", result, False
