"""What Cursor writes: the editor's database, and the command line's files, with text that is no person's."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import apsw

MACHINE: Final = "machine text"
"""Part of every text that must not become a message."""

START_MS: Final = 1_793_606_400_000

TABLES = """
CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);
"""

HEADERS = """
CREATE TABLE composerHeaders (composerId TEXT PRIMARY KEY, workspaceId TEXT, createdAt INTEGER, lastUpdatedAt INTEGER,
    isArchived INTEGER, isSubagent INTEGER, recency INTEGER, checkpointAt INTEGER, value TEXT);
"""


class CursorWriter:
    """Writes the editor's database: with a write-ahead log, in place."""

    def __init__(self, path: Path, tables: str = TABLES) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.db = apsw.Connection(str(path))
        self.db.pragma("journal_mode", "wal")
        self.db.pragma("synchronous", 0)  # no test survives a power cut
        self.db.execute(tables)

    def __enter__(self) -> CursorWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the database, which removes its log."""
        self.db.close()

    def put(self, key: str, value: object) -> None:
        """Store a value: JSON, or text or None unchanged."""
        stored = value if isinstance(value, (str, bytes, type(None))) else json.dumps(value)
        self.db.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, stored))

    def composer(self, composer_id: str, *bubbles: tuple[str, dict[str, Any]], **data: Any) -> None:
        """Store a conversation and its messages: pairs of an id and the message."""
        for name, bubble in bubbles:
            self.put(f"bubbleId:{composer_id}:{name}", {"_v": 3, "bubbleId": name, **bubble})
        value = {
            "_v": 10,
            "composerId": composer_id,
            "name": "Ports",
            "createdAt": START_MS,
            "lastUpdatedAt": START_MS + 60_000,
            "workspaceIdentifier": {"id": "w1", "uri": {"fsPath": "/home/eva/shop"}},
            "fullConversationHeadersOnly": [
                {"bubbleId": name, "type": each.get("type")} for name, each in bubbles
            ],
            **data,
        }
        self.put(f"composerData:{composer_id}", value)

    def listed(self, composer_id: str, updated: Any, is_subagent: Any = 0) -> None:
        """Add a conversation to the table that newer releases list them in."""
        self.db.execute(
            "INSERT INTO composerHeaders (composerId, lastUpdatedAt, isSubagent) VALUES (?, ?, ?)",
            (composer_id, updated, is_subagent),
        )


def user(text: str, **data: Any) -> dict[str, Any]:
    """Return a person's message of the editor."""
    return {"type": 1, "text": text, "createdAt": "2026-11-02T08:00:01.000Z", **data}


def answer(text: str, **data: Any) -> dict[str, Any]:
    """Return an answer of the editor."""
    return {"type": 2, "text": text, "createdAt": "2026-11-02T08:00:05.000Z", **data}


def write_every_editor_trap(writer: CursorWriter) -> None:
    """Write a conversation with each kind of machine text and broken value."""
    tool = {"name": "run_terminal_cmd", "result": MACHINE, "rawArgs": MACHINE}
    writer.composer(
        "c1",
        ("z9", user("Which port does staging use?")),
        ("a1", answer("", toolFormerData=tool)),
        ("a2", answer("", thinking={"text": MACHINE}, capabilityType=30)),
        ("a3", answer(f"I wonder: {MACHINE}", isThought=True)),
        ("a4", answer("8443.", thinking={"text": MACHINE}, toolFormerData=tool)),
        ("u1", user(f"A background task ended: {MACHINE}", isSimulatedMsg=True, simulatedMsgReason=3)),
        ("u2", user("", rawText="And production?")),
        ("u3", user(f"<system_reminder>{MACHINE}</system_reminder>")),
    )
    writer.put("bubbleId:c1:gone", user(f"Undone: {MACHINE}"))
    writer.put("bubbleId:c10:z9", user(f"Another conversation: {MACHINE}"))
    writer.put("agentKv:blob:00ff", {"role": "user", "text": MACHINE})
    writer.put("composerData:", {"name": MACHINE})
    writer.db.execute("INSERT INTO ItemTable VALUES ('cursorAuth/accessToken', ?)", (MACHINE,))


def line(role: str, *blocks: str | dict[str, Any]) -> str:
    """Return a line of a transcript of the command line: texts, or other blocks."""
    content = [{"type": "text", "text": each} if isinstance(each, str) else each for each in blocks]
    return json.dumps({"role": role, "message": {"content": content}}, ensure_ascii=False)


def query(text: str) -> str:
    """Return a person's words as the command line wraps them."""
    return f"<user_query>\n{text}\n</user_query>"


TURN_ENDED: Final = '{"type":"turn_ended","status":"completed"}'


def every_trap() -> list[str]:
    """Return the lines of a transcript with each kind of machine text."""
    tool = {"type": "tool_use", "name": "Shell", "input": {"command": MACHINE}}
    context = f"<open_and_recently_viewed_files>{MACHINE}</open_and_recently_viewed_files>"
    return [
        line("user", f"<timestamp>Monday</timestamp>\n{query('Which port does staging use?')}", context),
        line("assistant", "Let me look.", tool),
        line("assistant", tool),
        line("assistant", "8443.", {"type": "thinking", "thinking": MACHINE, "text": MACHINE}),
        TURN_ENDED,
        line("user", f"<system_notification>{MACHINE}</system_notification>"),
        line("user", f"The task ended: {MACHINE}"),
        line(
            "user",
            f"<git_status>{MACHINE}</git_status>\n{query('And production?')}\n<rules>{MACHINE}</rules>",
        ),
        line("user", {"type": "tool_result", "content": MACHINE, "text": MACHINE}),
        line("system", MACHINE),
        TURN_ENDED,
    ]


def write_meta(projects: Path, workspace: str, session_id: str, **facts: Any) -> None:
    """Write the facts of a session next to the folder of projects."""
    folder = projects.parent / "chats" / workspace / session_id
    folder.mkdir(parents=True)
    (folder / "meta.json").write_text(json.dumps(facts))
