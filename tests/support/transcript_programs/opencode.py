"""Databases as opencode writes them, in both schemas, with text that is no person's and no answer."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import apsw

MACHINE: Final = "machine text"
"""Part of every text that must not become a message."""

START_MS: Final = 1_793_606_400_000

V1 = """
CREATE TABLE session (id text PRIMARY KEY, project_id text, parent_id text, slug text, directory text NOT NULL,
    title text NOT NULL, version text, summary_diffs text, revert text, time_created integer NOT NULL,
    time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
    time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
    time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_message_id_id_idx ON part (message_id, id);
CREATE INDEX part_session_idx ON part (session_id);
"""

V2_SESSION = """
CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text, parent_id text, fork_session_id text,
    fork_boundary text, directory text NOT NULL, title text, revert text, time_created integer NOT NULL,
    time_updated integer NOT NULL);
"""

V2_MESSAGE = """
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL,
    seq integer NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE UNIQUE INDEX session_message_session_seq_idx ON session_message (session_id, seq);
CREATE INDEX session_message_session_type_seq_idx ON session_message (session_id, type, seq);
"""


class OpencodeWriter:
    """Writes a database as opencode does: with a write-ahead log, in place.

    Args:
        path: The database.
        schema: Its tables.
    """

    def __init__(self, path: Path, schema: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.db = apsw.Connection(str(path))
        self.db.pragma("journal_mode", "wal")
        self.db.pragma("synchronous", 0)  # no test survives a power cut
        self.db.execute(schema)
        self._at_ms = START_MS
        self._ids = 0

    def __enter__(self) -> OpencodeWriter:
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

    def tick(self) -> int:
        """Return the next time."""
        self._at_ms += 1_000
        return self._at_ms

    def new_id(self, kind: str) -> str:
        """Return the next id; ids ascend."""
        self._ids += 1
        return f"{kind}_{self._ids:06d}"

    def session(self, session_id: str, table: str = "session", **columns: Any) -> str:
        """Add a session."""
        now = self.tick()
        known = {"title": "Ports", "directory": "/home/eva/shop", "time_created": now, "time_updated": now}
        values = {"id": session_id, **known, **columns}
        self.db.execute(
            f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})",
            tuple(values.values()),
        )
        return session_id

    def v1(
        self,
        session_id: str,
        role: str,
        *texts: str | dict[str, Any],
        message_id: str = "",
        at_ms: int | None = None,
        **data: Any,
    ) -> str:
        """Add a 1.x message with parts: texts, or the data of other parts."""
        now = at_ms or self.tick()
        key = message_id or self.new_id("msg")
        record = json.dumps({"role": role, "time": {"created": now}, **data})
        self.db.execute("INSERT INTO message VALUES (?, ?, ?, ?, ?)", (key, session_id, now, now, record))
        for text in texts:
            self.part(session_id, key, {"type": "text", "text": text} if isinstance(text, str) else text)
        return key

    def part(self, session_id: str, message_id: str, data: object, part_id: str = "") -> str:
        """Add a part to a 1.x message."""
        now, key = self.tick(), part_id or self.new_id("prt")
        stored = data if isinstance(data, str) else json.dumps(data)
        self.db.execute(
            "INSERT INTO part VALUES (?, ?, ?, ?, ?, ?)", (key, message_id, session_id, now, now, stored)
        )
        return key

    def v2(self, session_id: str, kind: str, seq: int, data: object, message_id: str = "") -> str:
        """Add a 2.x message."""
        now, key = self.tick(), message_id or self.new_id("msg")
        stored = data if isinstance(data, str) else json.dumps(data)
        self.db.execute(
            "INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)",
            (key, session_id, kind, seq, now, now, stored),
        )
        return key

    def fork(self, source: str, fork_id: str, boundary: object) -> None:
        """Fork a 2.x session at a message, as opencode does: rows are copied with their numbers under new ids."""
        kind, message = (
            json.loads(json.dumps(boundary))["type"],
            json.loads(json.dumps(boundary))["messageID"],
        )
        (cut,) = self.db.execute("SELECT seq FROM session_message WHERE id = ?", (message,)).fetchall()[0]
        self.session(fork_id, "session_v2", fork_session_id=source, fork_boundary=json.dumps(boundary))
        rows = self.db.execute(
            "SELECT type, seq, time_created, time_updated, data FROM session_message WHERE session_id = ? AND seq < ?",
            (source, int(str(cut)) + (kind == "through")),
        ).fetchall()
        for row in rows:
            key = f"msg_{fork_id}_{row[1]}"
            self.db.execute("INSERT INTO session_message VALUES (?, ?, ?, ?, ?, ?, ?)", (key, fork_id, *row))


def say(text: str) -> dict[str, Any]:
    """Return the data of a 2.x answer."""
    return {"content": [{"type": "text", "text": text}]}


def write_every_trap(writer: OpencodeWriter) -> None:
    """Write sessions with each kind of machine text; the persons' and the answers' words have none of it."""
    writer.session("ses_v1")
    writer.v1("ses_v1", "user", "Which port does staging use?", *machine_parts())
    writer.v1("ses_v1", "assistant", "8443.", *machine_parts(), finish="stop")
    writer.v1("ses_v1", "assistant", f"Summary: {MACHINE}", summary=True, mode="compaction")
    writer.v1("ses_v1", "user", "And production?", summary={"title": "Ports", "diffs": []})
    writer.v1("ses_v1", "system", f"{MACHINE}")


def machine_parts() -> list[dict[str, Any]]:
    """Return a part of each type that isn't words, and text that opencode wrote itself."""
    return [
        {"type": "text", "text": f"Called the Read tool: {MACHINE}", "synthetic": True},
        {"type": "text", "text": f"The user executed a command: {MACHINE}", "ignored": True},
        {"type": "reasoning", "text": MACHINE},
        {"type": "tool", "tool": "bash", "state": {"output": MACHINE}, "text": MACHINE},
        {"type": "file", "url": "file:///a", "text": MACHINE},
        {"type": "compaction", "text": MACHINE},
        {"type": "subtask", "prompt": MACHINE, "text": MACHINE},
        *(
            {"type": kind, "text": MACHINE}
            for kind in "step-start step-finish snapshot patch agent retry".split()
        ),
    ]


def write_every_v2_trap(writer: OpencodeWriter) -> None:
    """Write a 2.x session with a message of each type; only those of people and assistants are words."""
    writer.session("ses_v2", "session_v2")
    writer.v2("ses_v2", "system", 1, {"text": MACHINE})
    writer.v2("ses_v2", "agent-switched", 2, {"agent": "build", "text": MACHINE})
    writer.v2("ses_v2", "user", 3, {"text": "Which port does staging use?", "files": [{"text": MACHINE}]})
    blocks = [
        {"type": "reasoning", "text": MACHINE},
        {"type": "text", "text": "8443."},
        {"type": "tool", "name": "bash", "text": MACHINE, "state": {"output": MACHINE}},
    ]
    writer.v2("ses_v2", "assistant", 4, {"content": blocks, "agent": "build"})
    for seq, kind in enumerate("synthetic shell compaction model-switched idle".split(), start=5):
        writer.v2(
            "ses_v2",
            kind,
            seq,
            {"text": MACHINE, "summary": MACHINE, "content": [{"type": "text", "text": MACHINE}]},
        )
    writer.v2("ses_v2", "user", 10, {"text": "And production?"})
