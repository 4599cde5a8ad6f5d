"""What Claude Code writes: a session's file line by line, with text that is no person's."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from memd.programs.claude_code import READER
from memd.programs.conversation import Conversation

PROJECT: Final = "-home-eva-shop"

MACHINE: Final = "machine text"
"""Part of every text that must not become a message."""

SESSION: Final = "5f0c8a52-0000-4000-8000-000000000001"
OTHER_SESSION: Final = "5f0c8a52-0000-4000-8000-000000000002"
START: Final = datetime(2026, 11, 2, 8, tzinfo=UTC)
START_MS: Final = 1_793_606_400_000


class ClaudeFile:
    """Writes lines as Claude Code does: each record one second after the one before, which is its parent."""

    def __init__(self, session_id: str = SESSION, **fields: object) -> None:
        self.lines: list[bytes] = []
        self.leaf: str | None = None
        self._session_id = session_id
        self._fields = {"cwd": "/home/eva/shop", "gitBranch": "main", "isSidechain": False, **fields}
        self._count = 0

    def add(self, value: object) -> None:
        """Append a line."""
        self.lines.append(json.dumps(value, ensure_ascii=False).encode())

    def record(self, kind: str, **fields: Any) -> str:
        """Append a record with an id and return the id; the next record is its child."""
        self._count += 1
        uuid = fields.get("uuid", f"{self._session_id[-1]}-{self._count}")
        moment = START + timedelta(seconds=self._count - 1)
        record = {
            "parentUuid": self.leaf,
            "sessionId": self._session_id,
            "version": "2.1.331",
            **self._fields,
            "type": kind,
            "uuid": uuid,
            "timestamp": moment.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            **fields,
        }
        self.add(record)
        self.leaf = str(uuid)
        return self.leaf

    def prompt(self, content: object, **fields: object) -> str:
        """Append a record of type user."""
        return self.record("user", message={"role": "user", "content": content}, **fields)

    def answer(self, text: str, answer: str = "", **fields: object) -> str:
        """Append one line of an answer."""
        return self.blocks([{"type": "text", "text": text}], answer, **fields)

    def blocks(self, blocks: list[dict[str, object]], answer: str = "", **fields: object) -> str:
        """Append a record of type assistant."""
        message = {"role": "assistant", "content": blocks, "model": "claude-opus-5"}
        return self.record(
            "assistant", **{"message": {"id": answer or f"msg_{self._count}", **message}, **fields}
        )

    def tool(self, answer: str = "", result: str = MACHINE) -> str:
        """Append a tool call and its result."""
        call = self.blocks(
            [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"x": MACHINE}}], answer
        )
        content = [
            {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": result}]}
        ]
        return self.prompt(content, toolUseResult={"stdout": result}, sourceToolAssistantUUID=call)

    def attachment(self, kind: str, **fields: object) -> str:
        """Append an attachment."""
        return self.record("attachment", attachment={"type": kind, **fields})

    def queued(self, prompt: object, **fields: object) -> str:
        """Append a prompt that was typed while Claude was busy."""
        return self.attachment("queued_command", **{"commandMode": "prompt", "prompt": prompt, **fields})

    def fork(self, session_id: str) -> ClaudeFile:
        """Return a file that begins with copies of all messages of this one."""
        copy = ClaudeFile(session_id)
        for line in self.lines:
            record = json.loads(line)
            if record["type"] in ("user", "assistant", "attachment"):
                origin = {"sessionId": self._session_id, "messageUuid": record["uuid"]}
                message = {key: record[key] for key in ("message", "attachment") if key in record}
                copy.record(record["type"], forkedFrom=origin, **message)
        return copy


def text(said: str) -> dict[str, object]:
    """Return a block of text."""
    return {"type": "text", "text": said}


MARKS: Final[tuple[dict[str, object], ...]] = (
    {"isMeta": True},
    {"isCompactSummary": True},
    {"isVisibleInTranscriptOnly": True},
    {"isVirtual": True},
    {"isSidechain": True},
    {"teamName": "builders"},
    {"textNotTyped": True},
    {"origin": {"kind": "task-notification"}},
    {"origin": {"kind": "hook"}},
)
"""Each marks a record of type user as a machine's."""

MACHINE_TEXTS: Final = (
    f"<command-name>/model</command-name><command-message>{MACHINE}</command-message>",
    f"<command-message>{MACHINE}</command-message>",
    f"<local-command-stdout>{MACHINE}</local-command-stdout>",
    f"<bash-stdout>{MACHINE}</bash-stdout><bash-stderr></bash-stderr>",
    f"<system-reminder>{MACHINE}</system-reminder>",
    f"<task-notification>\n{MACHINE}</task-notification>",
    f'<teammate-message teammate_id="a">{MACHINE}</teammate-message>',
    f'  <channel source="chat">{MACHINE}</channel>',
    f"<memd-memory>{MACHINE}</memd-memory>",
    f"[Request interrupted by user for tool use] {MACHINE}",
    f"This session is being continued from a previous conversation: {MACHINE}",
)
"""Texts of role user that no person typed."""

INJECTED: Final = (
    "hook_additional_context hook_success nested_memory skill_listing task_reminder edited_text_file".split()
)

WITHOUT_ID: Final[tuple[dict[str, object], ...]] = (
    {"type": "queue-operation", "operation": "enqueue", "content": MACHINE, "sessionId": SESSION},
    {"type": "queue-operation", "operation": "dequeue", "sessionId": SESSION},
    {
        "type": "file-history-snapshot",
        "messageId": "m",
        "snapshot": {"x": MACHINE},
        "isSnapshotUpdate": False,
    },
    {"type": "continued-in", "sessionId": SESSION, "continuedIn": OTHER_SESSION},
    {"type": "permission-mode", "permissionMode": "plan", "sessionId": SESSION},
    {"type": "tools-used", "tools": [MACHINE], "sessionId": SESSION},
    {"type": "atis-latch", "atis": "", "sessionId": SESSION},
    {"type": "api-request-shape", "sessionId": SESSION, "shapeHash": "4f", "shape": {"system": [MACHINE]}},
    {
        "type": "api-request-blob",
        "sessionId": SESSION,
        "hash": "4f",
        "message": {"role": "user", "content": MACHINE},
    },
    {"type": "api-request", "sessionId": SESSION, "id": "r", "querySource": "repl_main_thread"},
)


def write_machine_lines(file: ClaudeFile) -> None:
    """Append every kind of record that isn't a message."""
    for mark in MARKS:
        file.prompt(f"{MACHINE} marked", **mark)
        file.prompt([text(f"{MACHINE} marked, in a block")], **mark)
    for said in MACHINE_TEXTS:
        file.prompt(said)
        file.prompt([text(said)])
    file.prompt([{"type": "tool_result", "tool_use_id": "t", "content": MACHINE}, text(MACHINE)])
    for kind in INJECTED:
        file.attachment(kind, content=[MACHINE], hookEvent="UserPromptSubmit", prompt=MACHINE)
    file.queued(MACHINE, commandMode="task-notification")
    file.queued(MACHINE, isMeta=True)
    file.queued(MACHINE, origin={"kind": "channel"})
    file.queued(f"<task-notification>{MACHINE}</task-notification>")
    file.blocks([{"type": "thinking", "thinking": MACHINE, "signature": "x"}])
    file.blocks([{"type": "redacted_thinking", "data": MACHINE}])
    file.tool()
    file.answer(MACHINE, isApiErrorMessage=True)
    file.answer(MACHINE, isSidechain=True)
    file.record(
        "assistant", message={"role": "assistant", "model": "<synthetic>", "content": [text(MACHINE)]}
    )
    file.record("system", subtype="turn_duration", content=MACHINE)
    file.record("progress", data={"type": "agent_progress", "message": {"content": MACHINE}})
    for record in WITHOUT_ID:
        file.add(record)


def every_trap() -> list[bytes]:
    """Return a session with all kinds of records, two branches, a compaction and titles."""
    file = ClaudeFile()
    file.attachment("hook_additional_context", content=[MACHINE], hookEvent="SessionStart")
    file.prompt("Which port does staging use?")
    file.answer("Let me look.", "msg_look")
    file.tool("msg_look")
    file.answer("Staging uses 8443.", "msg_look")
    write_machine_lines(file)
    file.queued("and production?")
    answered = file.answer("443.")
    file.prompt("Change it to 9000")
    file.answer("Changed to 9000.")
    file.leaf = answered
    file.prompt([text("Change it to 9001"), {"type": "image", "source": {"data": MACHINE}}])
    last = file.answer("Changed to 9001.")
    file.record(
        "system", subtype="compact_boundary", parentUuid=None, logicalParentUuid=last, compactMetadata={}
    )
    file.prompt(f"{MACHINE}: a summary", isCompactSummary=True, isVisibleInTranscriptOnly=True)
    file.prompt("<bash-input>make deploy</bash-input>")
    file.answer("Deployed.")
    file.add({"type": "ai-title", "aiTitle": "Ports of the shop", "sessionId": SESSION})
    return file.lines


def read_claude_code(lines: Iterable[bytes], path: str = f"{PROJECT}/{SESSION}.jsonl") -> Conversation:
    """Return the conversation in the lines of a file."""
    file = READER.transcript_at(path)
    assert file is not None
    reader = READER.open(file)
    for place, line in enumerate(lines, start=1):
        reader.read(line, place)
    return reader.conversation()


def talk_in(conversation: Conversation) -> list[tuple[str, str]]:
    """Return who said what."""
    return [(each.role, each.text) for each in conversation.messages]
