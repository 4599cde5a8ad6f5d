"""Databases of programs with tables of sessions and of messages, as the programs write them.

Their schemas are those of Goose, Crush, Hermes, grok-dev and Devin, with the columns that matter here.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar, Final

import apsw

from tests.support.transcript_programs.plain import CWD, NOISE, START_MS, PlainWriter, stamp

MACHINE: Final = "machine text"
"""Part of every text that must not become a message."""

QUESTION: Final = "Which port does staging use?"
ANSWER: Final = "8443."
SECOND: Final = "And production?"


class DatabasePlain(PlainWriter):
    """Writes a database with a write-ahead log, in place.

    Attributes:
        file: The database below the home.
        schema: Its tables.
        stored: Tables with the columns that hold JSON.
        optional: Columns that earlier releases lack, with their tables.
        required: A column that must exist, with its table.
    """

    file: ClassVar[str]
    schema: ClassVar[str]
    stored: ClassVar[tuple[tuple[str, str], ...]]
    required: ClassVar[tuple[str, str]]
    optional: ClassVar[tuple[tuple[str, str], ...]] = ()

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.path = home / self.file
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.db = apsw.Connection(str(self.path))
        self.db.pragma("journal_mode", "wal")
        self.db.pragma("synchronous", 0)  # no test survives a power cut
        self.db.execute(self.schema)

    def insert(self, table: str, **columns: Any) -> None:
        """Insert a row; lists and objects are stored as JSON."""
        values = [
            json.dumps(value) if isinstance(value, (list, dict)) else value for value in columns.values()
        ]
        marks = ", ".join("?" * len(values))
        self.db.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})", values)

    def write_traps(self) -> None:
        """Write a session with every kind of record, in which users and agents say QUESTION, ANSWER, and SECOND."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the database."""
        self.db.close()


class MessagesPlain(DatabasePlain):
    """A database with one message in a row. Rows are numbered within their session."""

    sessions_table = "sessions"
    messages_table = "messages"

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._rows: dict[str, int] = {}

    def add_session(self, session: str, **columns: Any) -> None:
        """Insert a session."""
        raise NotImplementedError

    def add_message(self, session: str, role: str, content: Any, **columns: Any) -> None:
        """Insert a message; a content that is a text becomes a block, unless it begins with `{`."""
        raise NotImplementedError

    def noise(self, number: int) -> tuple[str, Any]:
        """Return the role and the content of a message without words."""
        raise NotImplementedError

    def write(self, session: str, turn: int, role: str, text: str) -> int:
        """Insert a turn's row."""
        if turn == 0:
            self.add_session(session)
        self.add_message(session, role, text)
        return self._rows[session]

    def write_noise(self, session: str, number: int) -> None:
        """Insert a message without words."""
        role, content = self.noise(number)
        self.add_message(session, role, content)

    def write_unknown(self, session: str) -> None:
        """Insert a message of an unknown speaker."""
        self.add_message(session, "telepathy", NOISE)

    def delete(self, session: str) -> None:
        """Delete a session's rows."""
        self.db.execute(f"DELETE FROM {self.messages_table} WHERE session_id = ?", (session,))
        self.db.execute(f"DELETE FROM {self.sessions_table} WHERE id = ?", (session,))
        self.turns.pop(session, None)
        self._rows.pop(session, None)

    def next(self, session: str) -> int:
        """Return the number of a session's next message."""
        self._rows[session] = self._rows.get(session, 0) + 1
        return self._rows[session]

    def seconds(self, session: str) -> int:
        """Return the time of a session's last message."""
        return START_MS // 1_000 + self._rows[session] - 1


def text_blocks(content: Any) -> Any:
    """Return a text as a list of one block; JSON text and lists unchanged."""
    is_stored = not isinstance(content, str) or content.startswith("{")
    return content if is_stored else [{"type": "text", "text": content}]


class GoosePlain(MessagesPlain):
    """Goose."""

    file = ".local/share/goose/sessions/sessions.db"
    schema = """
    CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP);
    CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '',
        user_set_name BOOLEAN DEFAULT FALSE, session_type TEXT NOT NULL DEFAULT 'user', working_dir TEXT NOT NULL,
        created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        extension_data TEXT DEFAULT '{}', schedule_id TEXT, recipe_json TEXT, parent_session_id TEXT);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT, session_id TEXT NOT NULL,
        role TEXT NOT NULL, content_json TEXT NOT NULL, created_timestamp INTEGER NOT NULL,
        timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, tokens INTEGER, metadata_json TEXT);
    CREATE INDEX idx_messages_session ON messages(session_id);
    """
    stored = (("messages", "content_json"), ("messages", "metadata_json"))
    required = ("messages", "content_json")
    optional = (("sessions", "session_type"), ("sessions", "parent_session_id"), ("messages", "message_id"))

    def add_session(self, session: str, **columns: Any) -> None:
        """Insert a session."""
        times = {"created_at": "2026-11-02 08:00:00", "updated_at": "2026-11-02 08:00:00"}
        self.insert("sessions", **{"id": session, "name": "Ports", "working_dir": CWD, **times, **columns})

    def add_message(self, session: str, role: str, content: Any, **columns: Any) -> None:
        """Insert a message."""
        number = self.next(session)
        facts = {"session_id": session, "role": role, "message_id": f"msg_{session}_{number}"}
        values = {"content_json": text_blocks(content), "created_timestamp": self.seconds(session)}
        metadata = {"userVisible": True, "agentVisible": True}
        self.insert("messages", **{**facts, **values, "metadata_json": metadata, **columns})

    def noise(self, number: int) -> tuple[str, Any]:
        """Return the result of a tool, which has the role of the user, or a damaged content."""
        value = {"content": [{"type": "text", "text": NOISE}], "isError": False}
        result = {"type": "toolResponse", "id": "t1", "toolResult": {"status": "success", "value": value}}
        return "user", "{damaged noise" if number % 2 else [result]

    def write_others(self) -> dict[str, int]:
        """Insert a session of an agent, a scheduled session, and a hidden one."""
        for kind in ("sub_agent", "scheduled", "hidden"):
            self.add_session(kind, session_type=kind)
            self.add_message(kind, "user", "Search the code")
        return {"subagent": 1, "machine": 2}

    def write_traps(self) -> None:
        """Write a session with every kind of block."""
        self.add_session("s1")
        call = {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": MACHINE}}}
        answer = [
            {"type": "thinking", "thinking": MACHINE, "signature": MACHINE},
            {"type": "redactedThinking", "data": MACHINE},
            {"type": "text", "text": ANSWER},
            {"type": "toolRequest", "id": "t1", "toolCall": call},
            {"type": "frontendToolRequest", "id": "t2", "toolCall": call},
        ]
        others = (
            "toolConfirmationRequest actionRequired systemNotification conversationCompacted image".split()
        )
        self.add_message(
            "s1",
            "user",
            [
                {"type": "text", "text": f"<info-msg>\n{MACHINE}\n</info-msg>"},
                {"type": "text", "text": QUESTION},
                {"type": "text", "text": f"<turn-context>{MACHINE}</turn-context>"},
            ],
        )
        self.add_message("s1", "assistant", answer)
        value = {"content": [{"type": "text", "text": MACHINE}]}
        results = [{"status": "success", "value": value}, {"status": "error", "error": MACHINE}]
        blocks = [{"type": "toolResponse", "id": "t1", "toolResult": result} for result in results]
        self.add_message("s1", "user", blocks)
        self.add_message(
            "s1", "assistant", [{"type": kind, "msg": MACHINE, "text": MACHINE} for kind in others]
        )
        hidden = {"userVisible": False, "agentVisible": True}
        self.add_message("s1", "user", f"Summary: {MACHINE}", metadata_json=hidden)
        self.add_message("s1", "user", SECOND)


class CrushPlain(MessagesPlain):
    """Crush, in a project that it lists. Its triggers write seconds where it writes milliseconds."""

    file = "shop/.crush/crush.db"
    schema = """
    CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT NOT NULL,
        message_count INTEGER NOT NULL DEFAULT 0, cost REAL NOT NULL DEFAULT 0.0, updated_at INTEGER NOT NULL,
        created_at INTEGER NOT NULL, summary_message_id TEXT, todos TEXT);
    CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT NOT NULL, role TEXT NOT NULL,
        parts TEXT NOT NULL default '[]', model TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
        finished_at INTEGER, provider TEXT, is_summary_message INTEGER DEFAULT 0 NOT NULL,
        FOREIGN KEY (session_id) REFERENCES sessions (id) ON DELETE CASCADE);
    CREATE INDEX idx_messages_session_id ON messages (session_id);
    CREATE TRIGGER update_session_message_count_on_insert AFTER INSERT ON messages
    BEGIN UPDATE sessions SET message_count = message_count + 1 WHERE id = new.session_id; END;
    """
    stored = (("messages", "parts"),)
    required = ("messages", "parts")
    optional = (("sessions", "parent_session_id"), ("messages", "is_summary_message"))

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        listed = {"path": str(home / "shop"), "data_dir": str(self.path.parent), "last_accessed": stamp(0)}
        projects = home / ".local/share/crush/projects.json"
        projects.parent.mkdir(parents=True, exist_ok=True)
        projects.write_text(json.dumps({"projects": [listed]}))

    def add_session(self, session: str, **columns: Any) -> None:
        """Insert a session."""
        times = {"created_at": START_MS, "updated_at": START_MS // 1_000}
        self.insert("sessions", **{"id": session, "title": "Ports", **times, **columns})

    def add_message(self, session: str, role: str, content: Any, **columns: Any) -> None:
        """Insert a message."""
        number = self.next(session)
        if isinstance(content, str) and not content.startswith("{"):
            content = [
                {"type": "text", "data": {"text": content}},
                {"type": "finish", "data": {"reason": "stop"}},
            ]
        facts = {"id": f"{session}-{number}", "session_id": session, "role": role, "parts": content}
        times = dict.fromkeys(("created_at", "updated_at"), self.seconds(session))
        self.insert("messages", **{**facts, **times, **columns})

    def noise(self, number: int) -> tuple[str, Any]:
        """Return the result of a tool, or a damaged content."""
        result = {"type": "tool_result", "data": {"tool_call_id": "t1", "name": "bash", "content": NOISE}}
        return ("assistant", "{damaged noise") if number % 2 else ("tool", [result])

    def write_others(self) -> dict[str, int]:
        """Insert a session of an agent, and one that invents a title."""
        for name in ("m1$$t1", "title-s1"):
            self.add_session(name, parent_session_id="s1")
            self.add_message(name, "user", "Search the code")
        return {"subagent": 2}

    def write_traps(self) -> None:
        """Write a session with every kind of part."""
        self.add_session("s1")
        command = {"type": "shell_command", "data": {"command": MACHINE, "output": MACHINE, "exit_code": 0}}
        picture = {"type": "image_url", "data": {"url": MACHINE}}
        binary = {"type": "binary", "data": {"Path": MACHINE, "MIMEType": "image/png", "Data": "AA=="}}
        question = [{"type": "text", "data": {"text": QUESTION}}, binary, picture]
        self.add_message("s1", "user", question)
        self.add_message("s1", "user", [command])
        answer = [
            {"type": "reasoning", "data": {"thinking": MACHINE, "signature": MACHINE}},
            {"type": "text", "data": {"text": ANSWER}},
            {"type": "tool_call", "data": {"id": "t1", "name": "bash", "input": MACHINE, "finished": True}},
            {"type": "finish", "data": {"reason": "error", "message": MACHINE, "details": MACHINE}},
        ]
        self.add_message("s1", "assistant", answer)
        result = {
            "tool_call_id": "t1",
            "name": "bash",
            "content": MACHINE,
            "metadata": MACHINE,
            "is_error": False,
        }
        self.add_message("s1", "tool", [{"type": "tool_result", "data": result}])
        self.add_message("s1", "assistant", f"Summary: {MACHINE}", is_summary_message=1)
        self.add_message("s1", "system", MACHINE)
        self.add_message("s1", "user", SECOND)


class HermesPlain(MessagesPlain):
    """Hermes. A content that is no text begins with a mark."""

    file = ".hermes/state.db"
    schema = """
    CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, model TEXT, model_config TEXT,
        parent_session_id TEXT, started_at REAL NOT NULL, ended_at REAL, end_reason TEXT, cwd TEXT, git_branch TEXT,
        title TEXT, message_count INTEGER DEFAULT 0);
    CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, role TEXT NOT NULL,
        content TEXT, tool_call_id TEXT, tool_calls TEXT, tool_name TEXT, timestamp REAL NOT NULL, reasoning TEXT,
        observed INTEGER DEFAULT 0, active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0,
        api_content TEXT);
    CREATE INDEX idx_messages_session ON messages(session_id, timestamp);
    """
    stored = (("sessions", "model_config"),)
    required = ("messages", "content")
    optional = (
        ("sessions", "cwd"),
        ("sessions", "title"),
        ("messages", "observed"),
    )

    def add_session(self, session: str, **columns: Any) -> None:
        """Insert a session."""
        place = {"cwd": CWD, "git_branch": "main", "title": "Ports", "model_config": {}}
        facts = {"id": session, "source": "cli", "started_at": START_MS / 1_000}
        self.insert("sessions", **{**facts, **place, **columns})

    def add_message(self, session: str, role: str, content: Any, **columns: Any) -> None:
        """Insert a message."""
        self.next(session)
        stored = f"\0json:{json.dumps(content)}" if isinstance(content, list) else content
        facts = {"session_id": session, "role": role, "content": stored}
        self.insert("messages", **{**facts, "timestamp": self.seconds(session) + 0.25, **columns})

    def noise(self, number: int) -> tuple[str, Any]:
        """Return the result of a tool, or a call of one, which has no content."""
        return ("assistant", None) if number % 2 else ("tool", NOISE)

    def write_others(self) -> dict[str, int]:
        """Insert sessions of an agent, of a schedule and of a tool."""
        self.add_session("a1", parent_session_id="s1", model_config={"_delegate_from": "s1"})
        self.add_session("c1", source="cron")
        self.add_session("t1", source="tool")
        for name in ("a1", "c1", "t1"):
            self.add_message(name, "user", "Search the code")
        return {"subagent": 1, "machine": 2}

    def write_traps(self) -> None:
        """Write a session with every kind of message, which was compacted in place."""
        self.add_session("s1", title=None)
        memory = f"<memory-context>\n[System note: The following is recalled]\n{MACHINE}\n</memory-context>"
        old = {"active": 0, "compacted": 1}
        picture = {"type": "image_url", "image_url": {"url": MACHINE}}
        self.add_message("s1", "user", [{"type": "text", "text": QUESTION}, picture], **old)
        calls = [{"id": "c1", "function": {"name": "terminal", "arguments": MACHINE}}]
        self.add_message("s1", "assistant", None, tool_calls=calls, reasoning=MACHINE, **old)
        self.add_message("s1", "tool", MACHINE, tool_call_id="c1", **old)
        self.add_message("s1", "assistant", ANSWER, reasoning=MACHINE, **old)
        summary = f"[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted {MACHINE}"
        for role in ("user", "assistant"):
            self.add_message("s1", role, summary)
        self.add_message("s1", "assistant", ANSWER)
        skill = f'[IMPORTANT: The user has invoked the "ports" skill, indicating {MACHINE}'
        for text in (
            skill,
            f"[System: Your previous response was cut {MACHINE}",
            f"[SYSTEM: {MACHINE}",
            memory,
        ):
            self.add_message("s1", "user", text)
        self.add_message("s1", "user", f"Undone: {MACHINE}", active=0)
        self.add_message("s1", "user", f"Another in the group: {MACHINE}", observed=1)
        self.add_message("s1", "user", f"{SECOND}\n{memory}", api_content=MACHINE)
        self.add_message("s1", "system", MACHINE)


class GrokDevPlain(MessagesPlain):
    """grok-dev: messages are numbered, and are JSON with their role."""

    file = ".grok/grok.db"
    schema = """
    CREATE TABLE workspaces (id TEXT PRIMARY KEY, canonical_path TEXT NOT NULL) STRICT;
    CREATE TABLE sessions (id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, title TEXT, model TEXT NOT NULL,
        mode TEXT NOT NULL, cwd_at_start TEXT NOT NULL, cwd_last TEXT NOT NULL, status TEXT NOT NULL,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL) STRICT;
    CREATE TABLE messages (session_id TEXT NOT NULL, seq INTEGER NOT NULL, role TEXT NOT NULL,
        message_json TEXT NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (session_id, seq)) STRICT;
    """
    stored = (("messages", "message_json"),)
    required = ("sessions", "cwd_last")

    def add_session(self, session: str, **columns: Any) -> None:
        """Insert a session."""
        facts = {"id": session, "workspace_id": "w1", "model": "grok-4", "mode": "agent", "status": "active"}
        times = {"created_at": stamp(0), "updated_at": stamp(0)}
        self.insert("sessions", **{**facts, "cwd_at_start": CWD, "cwd_last": CWD, **times, **columns})

    def add_message(self, session: str, role: str, content: Any, **columns: Any) -> None:
        """Insert a message."""
        number = self.next(session)
        is_damaged = isinstance(content, str) and content.startswith("{damaged")
        stored = content if is_damaged else {"role": role, "content": content}
        facts = {"session_id": session, "seq": number, "role": role, "created_at": stamp(number - 1)}
        self.insert("messages", **{**facts, "message_json": stored, **columns})

    def noise(self, number: int) -> tuple[str, Any]:
        """Return the result of a tool, or a damaged content."""
        result = {"type": "tool-result", "toolCallId": "c1", "toolName": "bash", "output": NOISE}
        return ("assistant", "{damaged noise") if number % 2 else ("tool", [result])

    def write_traps(self) -> None:
        """Write a session with every kind of part."""
        self.add_session("s1")
        image = {"type": "image", "image": MACHINE}
        file = {"type": "file", "filename": MACHINE, "data": MACHINE}
        self.add_message("s1", "system", f"Compacted: {MACHINE}")
        self.add_message("s1", "user", [{"type": "text", "text": QUESTION}, image, file])
        call = {"type": "tool-call", "toolCallId": "c1", "toolName": "bash", "input": {"command": MACHINE}}
        self.add_message(
            "s1",
            "assistant",
            [{"type": "reasoning", "text": MACHINE}, {"type": "text", "text": ANSWER}, call],
        )
        output = {"type": "json", "value": {"success": True, "output": MACHINE}}
        self.add_message("s1", "tool", [{"type": "tool-result", "toolCallId": "c1", "output": output}])
        self.add_message("s1", "user", SECOND)


class DevinPlain(MessagesPlain):
    """Devin: messages are a tree, and the session names the last one."""

    file = ".local/share/devin/cli/sessions.db"
    messages_table = "message_nodes"
    schema = """
    CREATE TABLE sessions (id TEXT PRIMARY KEY, working_directory TEXT NOT NULL, backend_type TEXT NOT NULL,
        model TEXT NOT NULL, agent_mode TEXT NOT NULL, created_at INTEGER NOT NULL, last_activity_at INTEGER NOT NULL,
        title TEXT, main_chain_id INTEGER, hidden INTEGER NOT NULL DEFAULT 0, metadata TEXT);
    CREATE TABLE message_nodes (row_id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
        node_id INTEGER NOT NULL, parent_node_id INTEGER, chat_message TEXT NOT NULL, created_at INTEGER NOT NULL,
        metadata TEXT, UNIQUE(session_id, node_id));
    """
    stored = (("message_nodes", "chat_message"),)
    required = ("message_nodes", "chat_message")
    optional = (("sessions", "title"), ("sessions", "hidden"))

    def add_session(self, session: str, **columns: Any) -> None:
        """Insert a session."""
        facts = {
            "id": session,
            "backend_type": "cloud",
            "model": "m",
            "agent_mode": "normal",
            "title": "Ports",
        }
        times = dict.fromkeys(("created_at", "last_activity_at"), START_MS // 1_000)
        self.insert("sessions", **{**facts, "working_directory": CWD, **times, **columns})

    def add_message(self, session: str, role: str, content: Any, **columns: Any) -> None:
        """Insert a message, which becomes the last one."""
        number = self.next(session)
        is_damaged = isinstance(content, str) and content.startswith("{damaged")
        stored = content if is_damaged else {"role": role, "content": content, "thinking": MACHINE}
        facts = {"session_id": session, "node_id": number, "parent_node_id": number - 1 or None}
        self.insert(
            "message_nodes",
            **{**facts, "chat_message": stored, "created_at": self.seconds(session), **columns},
        )
        self.db.execute("UPDATE sessions SET main_chain_id = ? WHERE id = ?", (number, session))

    def noise(self, number: int) -> tuple[str, Any]:
        """Return the result of a tool, or a damaged content."""
        return ("assistant", "{damaged noise") if number % 2 else ("tool", NOISE)

    def write_others(self) -> dict[str, int]:
        """Insert a hidden session."""
        self.add_session("h1", hidden=1)
        self.add_message("h1", "user", "Search the code")
        return {"machine": 1}

    def write_traps(self) -> None:
        """Write a session with a branch that its user left."""
        self.add_session("s1")
        self.add_message("s1", "system", MACHINE)
        self.add_message("s1", "user", QUESTION)
        self.add_message("s1", "assistant", f"A first try: {MACHINE}")
        blocks = [{"type": "thinking", "thinking": MACHINE}, {"type": "text", "text": ANSWER}]
        self.add_message("s1", "assistant", blocks, parent_node_id=2)
        self.add_message("s1", "tool", MACHINE)
        self.add_message("s1", "user", SECOND)
