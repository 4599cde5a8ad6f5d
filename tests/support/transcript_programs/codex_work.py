"""What Codex writes of an agent's work, in both modes: calls, results, items and events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.transcript_programs import codex
from tests.support.transcript_programs.agent_steps import (
    AgentSession,
    Created,
    Edited,
    Event,
    FileRead,
    Moved,
    Ran,
    Said,
    diff_lines,
)


def write_codex(home: Path, sessions: list[AgentSession], *, is_paginated: bool = False) -> None:
    """Write a rollout per session below `~/.codex/sessions`, and their titles."""
    titles = home / ".codex" / "session_index.jsonl"
    titles.parent.mkdir(parents=True, exist_ok=True)
    for session in sessions:
        day = session.begun.strftime("%Y/%m/%d")
        name = codex.rollout(session.id, session.begun.strftime("%Y-%m-%dT%H-%M-%S"))
        path = home / ".codex/sessions" / day / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(line + b"\n" for line in codex_lines(session, is_paginated=is_paginated)))
        title = {
            "id": session.id,
            "thread_name": session.title or session.name,
            "updated_at": session.stamp(0),
        }
        with titles.open("a", encoding="utf-8") as file:
            file.write(json.dumps(title, ensure_ascii=False) + "\n")


class _Rollout:
    """The lines of a rollout; paginated lines are numbered."""

    def __init__(self, session: AgentSession, *, is_paginated: bool) -> None:
        self.session, self.is_paginated, self.lines = session, is_paginated, list[bytes]()
        self.begun = session.at_ms(0) / 1_000 - codex.START_MS / 1_000
        self.number = 0

    @property
    def place(self) -> dict[str, Any]:
        """Time and number of the next line."""
        seconds = self.begun + self.session.seconds * self.number
        return {"seconds": seconds, "ordinal": len(self.lines) if self.is_paginated else None}

    def response(self, **payload: Any) -> None:
        """Append what was sent to the model, or received from it."""
        self.lines.append(codex.line("response_item", payload, **self.place))

    def item(self, kind: str, key: str, **fields: Any) -> None:
        """Append a completed item."""
        self.lines.append(codex.item(kind, key, **fields, **self.place))

    def say(self, event: Said) -> None:
        """Append a message."""
        if self.is_paginated:
            write = codex.asked_item if event.role == "user" else codex.answered_item
            self.lines.append(write(event.text, f"m{self.number}", **self.place))
        else:
            legacy = codex.asked if event.role == "user" else codex.answered
            self.lines.append(legacy(event.text, **self.place))

    def run(self, event: Ran, call: str) -> None:
        """Append a command."""
        folder = self.session.folder_of(event)
        where = {"workdir": event.folder} if event.folder else {}
        arguments = {"cmd": event.line, **where, "yield_time_ms": 1000, "max_output_tokens": 6000}
        self.response(
            type="function_call", name="exec_command", arguments=json.dumps(arguments), call_id=call
        )
        ended = event.outcome == "ended"
        if self.is_paginated and event.outcome != "interrupted":
            code = {"exitCode": event.exit_code if ended else -1}
            status = (
                "declined" if event.outcome == "refused" else "failed" if event.exit_code else "completed"
            )
            status = "inProgress" if event.outcome == "background" else status
            self.item(
                "CommandExecution",
                call,
                command=["/bin/zsh", "-lc", event.line],
                cwd=folder,
                parsedCmd=[{"type": "unknown", "cmd": event.line}],
                source="agent",
                status=status,
                stdout=event.output,
                stderr="",
                aggregatedOutput=event.output,
                **code,
                duration={"secs": 1, "nanos": 0},
                formattedOutput=event.output,
            )
        if event.outcome == "interrupted":
            return
        head = "Chunk ID: 36c2f2\nWall time: 0.0100 seconds\n"
        tail = f"Original token count: {len(event.output) // 4}\nOutput:\n{event.output}"
        said = {
            "refused": "exec_command failed for `" + event.line + '`: Rejected("rejected by user")',
            "background": f"{head}Process running with session ID 7\n{tail}",
        }.get(event.outcome, f"{head}Process exited with code {event.exit_code}\n{tail}")
        self.response(type="function_call_output", call_id=call, output=said)

    def patch(self, event: Edited | Created | Moved, call: str) -> None:
        """Append a patch of one file."""
        is_failed = isinstance(event, Edited) and event.is_failed
        patch = f"*** Begin Patch\n{_patch(event, self.session.folder)}\n*** End Patch"
        self.response(
            type="custom_tool_call", status="completed", call_id=call, name="apply_patch", input=patch
        )
        changes = {} if is_failed else _changes(event)
        name = event.path.removeprefix(f"{self.session.folder}/")
        said = f"Success. Updated the following files:\n{'A' if isinstance(event, Created) else 'M'} {name}\n"
        if is_failed:
            said = f"apply_patch verification failed: Failed to find expected lines in {event.path}"
        if not self.is_paginated:
            ended = {"success": not is_failed, "changes": changes, "stdout": "" if is_failed else said}
            fields: dict[str, Any] = {
                "call_id": call,
                "turn_id": "t1",
                "stderr": said if is_failed else "",
                **ended,
            }
            self.lines.append(codex.event("patch_apply_end", **fields, **self.place))
        elif not is_failed:
            self.item("FileChange", call, changes=changes, status="completed", auto_approved=False)
        frame = f"Exit code: {int(is_failed)}\nWall time: 0 seconds\nOutput:\n{said}"
        self.response(type="custom_tool_call_output", call_id=call, output=frame)


def codex_lines(session: AgentSession, *, is_paginated: bool = False) -> list[bytes]:
    """Return the lines of a session's rollout."""
    rollout = _Rollout(session, is_paginated=is_paginated)
    mode = {"history_mode": "paginated"} if is_paginated else {}
    facts: dict[str, Any] = {"cwd": session.folder, "git": {"branch": session.branch}, **mode}
    rollout.lines.append(codex.meta(session.id, **rollout.place, **facts))
    rollout.lines.append(
        codex.line(
            "turn_context",
            {"turn_id": "t1", "cwd": session.folder, "approval_policy": "on-request"},
            **rollout.place,
        )
    )
    for number, event in enumerate(session.events):
        rollout.number, call = number, f"call_{session.id[:8]}{number:04}"
        match event:
            case Said():
                rollout.say(event)
            case Ran():
                rollout.run(event, call)
            case FileRead(path=path, content=content):
                rollout.run(
                    Ran(f"sed -n '1,220p' {path.removeprefix(session.folder + '/')}", 0, content), call
                )
            case Edited() | Created() | Moved():
                rollout.patch(event, call)
    return rollout.lines


def _patch(event: Event, folder: str) -> str:
    """Return one file of a patch; its path is relative to the folder."""

    def relative(path: str) -> str:
        return path.removeprefix(f"{folder}/")

    match event:
        case Edited(path=path, old=old, new=new):
            return "\n".join([f"*** Update File: {relative(path)}", "@@", *diff_lines(old, new)])
        case Created(path=path, content=content):
            return "\n".join([f"*** Add File: {relative(path)}", *diff_lines("", content)])
        case Moved(path=path, new_path=new_path):
            return f"*** Update File: {relative(path)}\n*** Move to: {relative(new_path)}"
    raise TypeError(event)


def _changes(event: Event) -> dict[str, Any]:
    """Return the changes of a patch as events and items have them."""
    match event:
        case Edited(path=path, old=old, new=new):
            diff = "\n".join(["@@ -1 +1 @@", *diff_lines(old, new), ""])
            return {path: {"type": "update", "unified_diff": diff, "move_path": None}}
        case Created(path=path, content=content):
            return {path: {"type": "add", "content": content}}
        case Moved(path=path, new_path=new_path):
            return {path: {"type": "update", "unified_diff": "", "move_path": new_path}}
    return {}
