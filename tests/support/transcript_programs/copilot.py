"""What Copilot writes: a session's events line by line, with text that is no person's."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Final

MACHINE: Final = "machine text"
"""Part of every text that must not become a message."""

SESSION: Final = "0c8a5200-0000-4000-8000-000000000001"
START: Final = datetime(2026, 11, 2, 8, tzinfo=UTC)
START_MS: Final = 1_793_606_400_000


class CopilotFile:
    """Writes events as Copilot does: each one second after the one before, which is its parent."""

    def __init__(self, session_id: str = SESSION, begun: datetime = START) -> None:
        self.lines: list[bytes] = []
        self._session_id, self._begun = session_id, begun

    def event(self, kind: str, data: object, **fields: Any) -> str:
        """Append an event and return its id."""
        count = len(self.lines)
        event = {
            "type": kind,
            "data": data,
            "id": f"e{count + 1}",
            "timestamp": f"{self._begun + timedelta(seconds=count):%Y-%m-%dT%H:%M:%S.000Z}",
            "parentId": f"e{count}" if count else None,
            **fields,
        }
        self.lines.append(json.dumps(event).encode())
        return str(event["id"])

    def start(self, **context: object) -> str:
        """Append the first event."""
        context = {"cwd": "/home/eva/shop", "gitRoot": "/home/eva/shop", "branch": "main", **context}
        about = {
            "sessionId": self._session_id,
            "version": 1,
            "producer": "copilot-agent",
            "copilotVersion": "1.0.102",
        }
        data = {**about, "context": context}
        return self.event("session.start", data)

    def prompt(self, content: object, /, **data: object) -> str:
        """Append a prompt; what the model sees differs from what was typed."""
        seen = f"<current_datetime>{MACHINE}</current_datetime>\n{content}"
        return self.event(
            "user.message", {"content": content, "transformedContent": seen, "attachments": [], **data}
        )

    def answer(self, content: object, /, **data: object) -> str:
        """Append an answer."""
        call = {"toolCallId": "t1", "name": "bash", "arguments": {"command": MACHINE}}
        known = {"messageId": "m", "content": content, "reasoningText": MACHINE, "toolRequests": [call]}
        return self.event("assistant.message", {**known, **data})

    def tool(self, result: str = MACHINE) -> None:
        """Append a tool call and its result."""
        self.event("tool.execution_start", {"toolCallId": "t1", "toolName": "bash", "arguments": MACHINE})
        self.event(
            "tool.execution_complete", {"toolCallId": "t1", "success": True, "result": {"content": result}}
        )

    def rewind(self, event_id: object) -> str:
        """Append the event that undoes all events from one on."""
        return self.event("session.snapshot_rewind", {"upToEventId": event_id, "eventsRemoved": 7})


def write_machine_events(file: CopilotFile) -> None:
    """Append every kind of event that isn't a message."""
    for source in ("skill-pdf", "agent-peer", "autopilot", "system"):
        file.prompt(MACHINE, source=source)
    file.prompt(MACHINE, isAutopilotContinuation=True)
    file.prompt(f"<system_reminder>{MACHINE}</system_reminder>")
    file.prompt(f"<skill-context name='x'>{MACHINE}</skill-context>")
    file.event("user.message", {"content": MACHINE}, agentId="a1")
    file.event("user.message", {"content": MACHINE, "parentToolCallId": "t1"})
    file.event("assistant.message", {"content": MACHINE}, agentId="a1")
    file.answer(MACHINE, parentToolCallId="t1")
    file.answer("")
    file.tool()
    for kind in (
        "system.message assistant.reasoning assistant.turn_start assistant.turn_end assistant.intent skill.invoked "
        "subagent.started subagent.completed hook.start hook.end session.info session.error session.truncation "
        "session.compaction_start session.compaction_complete session.model_change session.usage_record "
        "permission.requested model.message model.turn_started session.usage_checkpoint abort"
    ).split():
        file.event(kind, {"content": MACHINE, "summaryContent": MACHINE, "message": MACHINE})


def every_trap() -> list[bytes]:
    """Return a session with all kinds of events, one of them undone."""
    file = CopilotFile()
    file.start()
    file.prompt("Which port does staging use?")
    file.answer("Let me look.")
    file.tool()
    file.answer("Staging uses 8443.")
    write_machine_events(file)
    undone = file.prompt("Change it to 9000")
    file.answer("Changed to 9000.")
    file.rewind(undone)
    file.prompt(f"Change it to 9001\n\n<system_reminder>{MACHINE}</system_reminder>", source="user")
    file.answer("Changed to 9001.")
    return file.lines
