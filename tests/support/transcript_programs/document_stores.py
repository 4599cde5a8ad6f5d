"""Stores that keep a whole conversation in one value: Zed, Amazon Q and Kiro, early chats of editors; and files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import zstandard

from tests.support.transcript_programs.plain import CWD, NOISE, START_MS, PlainWriter, stamp
from tests.support.transcript_programs.tables import ANSWER, MACHINE, QUESTION, SECOND, DatabasePlain


class DocumentsPlain(DatabasePlain):
    """A database with one conversation in a value, which is written again with each turn."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._items: dict[str, list[Any]] = {}

    def item(self, turn: int, role: str, text: str) -> Any:
        """Return a turn as an item of a conversation."""
        raise NotImplementedError

    def noise(self, number: int) -> Any:
        """Return an item without words."""
        raise NotImplementedError

    def unknown(self) -> Any:
        """Return an item of an unknown type."""
        raise NotImplementedError

    def place_of(self, number: int, role: str) -> int:
        """Return the place of the item with a number, from 1."""
        return number

    def store(self, session: str, items: list[Any], **columns: Any) -> None:
        """Write a conversation."""
        raise NotImplementedError

    def remove(self, session: str) -> None:
        """Delete a conversation."""
        raise NotImplementedError

    def add(self, session: str, item: Any) -> int:
        """Add an item to a conversation, and return its number."""
        items = self._items.setdefault(session, [])
        items.append(item)
        self.store(session, items)
        return len(items)

    def write(self, session: str, turn: int, role: str, text: str) -> int:
        """Write a turn."""
        return self.place_of(self.add(session, self.item(turn, role, text)), role)

    def write_noise(self, session: str, number: int) -> None:
        """Write an item without words."""
        self.add(session, self.noise(number))

    def write_unknown(self, session: str) -> None:
        """Write an item of an unknown type."""
        self.add(session, self.unknown())

    def delete(self, session: str) -> None:
        """Delete a conversation."""
        self.remove(session)
        self.turns.pop(session, None)
        self._items.pop(session, None)


class ZedPlain(DocumentsPlain):
    """Zed, with compressed documents."""

    file = ".local/share/zed/threads/threads.db"
    schema = """
    CREATE TABLE threads (id TEXT PRIMARY KEY, summary TEXT NOT NULL, updated_at TEXT NOT NULL,
        data_type TEXT NOT NULL, data BLOB NOT NULL);
    ALTER TABLE threads ADD COLUMN parent_id TEXT;
    ALTER TABLE threads ADD COLUMN folder_paths TEXT;
    ALTER TABLE threads ADD COLUMN folder_paths_order TEXT;
    ALTER TABLE threads ADD COLUMN created_at TEXT;
    """
    stored = (("threads", "data"),)
    required = ("threads", "data_type")
    optional = (("threads", "parent_id"), ("threads", "folder_paths"), ("threads", "created_at"))
    is_packed = True

    def item(self, turn: int, role: str, text: str) -> Any:
        """Return a message."""
        if role == "user":
            return {"User": {"id": f"m{turn}", "content": [{"Text": text}]}}
        return {"Agent": {"content": [{"Text": text}], "tool_results": {}}}

    def noise(self, number: int) -> Any:
        """Return a message without words."""
        results = {"t1": {"tool_name": "terminal", "content": [{"Text": NOISE}], "output": NOISE}}
        use = {"ToolUse": {"id": "t1", "name": "terminal", "raw_input": NOISE, "input": {"command": NOISE}}}
        return {"Agent": {"content": [use], "tool_results": results}} if number % 2 else "Resume"

    def unknown(self) -> Any:
        """Return a message of an unknown speaker."""
        return {"Telepathy": {"content": [{"Text": NOISE}]}}

    def store(self, session: str, items: list[Any], **columns: Any) -> None:
        """Write a thread as a compressed document."""
        self.write_document(session, {"title": "Ports", "version": "0.3.0", "messages": items}, **columns)

    def write_document(self, session: str, document: Any, **columns: Any) -> None:
        """Write a thread."""
        data = json.dumps(document).encode()
        self.remove(session)
        self.insert(
            "threads",
            **{
                "id": session,
                "summary": "Ports",
                "created_at": stamp(0),
                "updated_at": "2026-11-02T08:00:00+00:00",
                "data_type": "zstd" if self.is_packed else "json",
                "data": zstandard.compress(data) if self.is_packed else data,
                "folder_paths": f"{CWD}\n/home/eva/tools",
                **columns,
            },
        )

    def remove(self, session: str) -> None:
        """Delete a thread."""
        self.db.execute("DELETE FROM threads WHERE id = ?", (session,))

    def write_others(self) -> dict[str, int]:
        """Write a thread that an agent started."""
        self.store("child", [self.item(0, "user", "Search the code")], parent_id="parent")
        return {"subagent": 1}

    def write_traps(self) -> None:
        """Write a thread with every kind of content."""
        mention = {"Mention": {"uri": {"File": {"abs_path": "/a"}}, "content": MACHINE}}
        image = {"Image": {"source": MACHINE, "size": None}}
        use = {
            "ToolUse": {"id": "t1", "name": "terminal", "raw_input": MACHINE, "input": {"command": MACHINE}}
        }
        thinking = {"Thinking": {"text": MACHINE, "signature": MACHINE}}
        results = {"t1": {"tool_name": "terminal", "is_error": False, "content": [{"Text": MACHINE}]}}
        blocks = [thinking, {"RedactedThinking": MACHINE}, {"Text": ANSWER}, use]
        messages = [
            {
                "User": {
                    "id": "u1",
                    "content": [{"Text": "Which port "}, mention, image, {"Text": "does staging use?"}],
                }
            },
            {"Agent": {"content": blocks, "tool_results": results, "reasoning_details": {"text": MACHINE}}},
            "Resume",
            {"User": {"id": "u2", "content": [{"Text": SECOND}]}},
        ]
        document = {"title": "Ports", "messages": messages, "version": "0.3.0", "detailed_summary": MACHINE}
        self.write_document("s1", {**document, "draft_prompt": [{"type": "text", "text": MACHINE}]})


class ZedJsonPlain(ZedPlain):
    """Zed before it compressed its documents, in the form of early 2025."""

    is_packed = False

    def item(self, turn: int, role: str, text: str) -> Any:
        """Return a message."""
        return {"id": turn, "role": role, "segments": [{"type": "text", "text": text}], "tool_results": []}

    def noise(self, number: int) -> Any:
        """Return a message without words."""
        hidden = {"id": 9, "role": "user", "segments": [{"type": "text", "text": NOISE}], "is_hidden": True}
        thinking = {"id": 9, "role": "assistant", "segments": [{"type": "thinking", "text": NOISE}]}
        return hidden if number % 2 else thinking

    def unknown(self) -> Any:
        """Return a message of an unknown speaker."""
        return {"id": 9, "role": "telepathy", "segments": []}

    def store(self, session: str, items: list[Any], **columns: Any) -> None:
        """Write a thread."""
        self.write_document(session, {"summary": "Ports", "version": "0.2.0", "messages": items}, **columns)

    def write_traps(self) -> None:
        """Write a thread with every kind of message."""
        segments = [
            {"type": "thinking", "text": MACHINE},
            {"type": "text", "text": ANSWER},
            {"type": "RedactedThinking", "data": MACHINE},
        ]
        uses = [{"id": "t1", "name": "terminal", "input": {"command": MACHINE}}]
        messages = [
            {"id": 0, "role": "system", "segments": [{"type": "text", "text": MACHINE}]},
            {"id": 1, "role": "user", "text": QUESTION, "context": MACHINE},
            {"id": 2, "role": "assistant", "segments": segments, "tool_uses": uses},
            {
                "id": 3,
                "role": "user",
                "segments": [],
                "tool_results": [{"tool_use_id": "t1", "content": MACHINE}],
            },
            {"id": 4, "role": "user", "segments": [{"type": "text", "text": MACHINE}], "is_hidden": True},
            {"id": 5, "role": "user", "segments": [{"type": "text", "text": SECOND}], "context": MACHINE},
        ]
        self.write_document("s1", {"summary": "Ports", "version": "0.2.0", "messages": messages})


class KiroDatabasePlain(DocumentsPlain):
    """Kiro's command line before its files. The rows of earlier releases are copied when it starts."""

    file = ".local/share/kiro-cli/data.sqlite3"
    schema = """
    CREATE TABLE auth_kv (key TEXT PRIMARY KEY, value TEXT);
    CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT);
    CREATE TABLE conversations_v2 (key TEXT NOT NULL, conversation_id TEXT NOT NULL, value TEXT NOT NULL,
        created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, PRIMARY KEY (key, conversation_id));
    """
    stored = (("conversations_v2", "value"),)
    required = ("conversations_v2", "value")

    def item(self, turn: int, role: str, text: str) -> Any:
        """Return a turn: a prompt without an answer, or the results of tools with one."""
        if role == "user":
            return self.turn(
                {"Prompt": {"prompt": text}}, {"Response": {"message_id": None, "content": ""}}, turn
            )
        results = {
            "ToolUseResults": {"tool_use_results": [{"content": [{"Text": NOISE}], "status": "Success"}]}
        }
        return self.turn(results, {"Response": {"message_id": f"m{turn}", "content": text}}, turn)

    def turn(self, content: Any, answer: Any, number: int = 0) -> Any:
        """Return a turn."""
        user = {
            "additional_context": MACHINE,
            "env_context": {},
            "content": content,
            "timestamp": stamp(number),
        }
        return {"user": user, "assistant": answer, "request_metadata": {"message_id": MACHINE}}

    def noise(self, number: int) -> Any:
        """Return a turn with a tool's result and a further call."""
        use = {
            "ToolUse": {"message_id": None, "content": "", "tool_uses": [{"id": "t1", "args": {"c": NOISE}}]}
        }
        return self.turn({"ToolUseResults": {"tool_use_results": [{"content": [{"Text": NOISE}]}]}}, use)

    def unknown(self) -> Any:
        """Return a turn with an unknown answer."""
        return self.turn({"ToolUseResults": {"tool_use_results": []}}, {"Telepathy": {"content": NOISE}})

    def place_of(self, number: int, role: str) -> int:
        """Return the place of a turn's prompt, or of its answer."""
        return 2 * number - (role == "user")

    def store(self, session: str, items: list[Any], **columns: Any) -> None:
        """Write a conversation."""
        self.remove(session)
        times = {"created_at": START_MS, "updated_at": START_MS}
        value = {
            "conversation_id": session,
            "history": items,
            "transcript": [MACHINE],
            "latest_summary": None,
        }
        self.insert("conversations_v2", key=CWD, conversation_id=session, value=value, **times)

    def remove(self, session: str) -> None:
        """Delete a conversation."""
        self.db.execute("DELETE FROM conversations_v2 WHERE conversation_id = ?", (session,))

    def write_traps(self) -> None:
        """Write a conversation with every kind of turn."""
        results = [{"tool_use_id": "t1", "content": [{"Json": {"text": MACHINE}}, {"Text": MACHINE}]}]
        uses = [{"id": "t1", "name": "execute_bash", "args": {"command": MACHINE}, "orig_args": {}}]
        use = {
            "ToolUse": {"message_id": "a", "content": "", "tool_uses": uses, "thinking": {"text": MACHINE}}
        }
        done = {"Response": {"message_id": "b", "content": ANSWER, "thinking": {"text": MACHINE}}}
        empty = {"Response": {"message_id": "c", "content": ""}}
        turns = [
            self.turn({"Prompt": {"prompt": QUESTION}}, use, 1),
            self.turn({"ToolUseResults": {"tool_use_results": results}}, done, 2),
            self.turn({"CancelledToolUses": {"prompt": None, "tool_use_results": results}}, empty, 3),
            self.turn({"CancelledToolUses": {"prompt": SECOND, "tool_use_results": results}}, empty, 4),
        ]
        self.store("s1", turns)


class AmazonQPlain(KiroDatabasePlain):
    """Amazon Q, with one conversation for each folder, whose turns are pairs."""

    file = ".local/share/amazon-q/data.sqlite3"
    schema = """
    CREATE TABLE auth_kv (key TEXT PRIMARY KEY, value TEXT);
    CREATE TABLE conversations (key TEXT PRIMARY KEY, value TEXT);
    """
    stored = (("conversations", "value"),)
    required = ("conversations", "value")

    def turn(self, content: Any, answer: Any, number: int = 0) -> Any:
        """Return a turn."""
        user = {
            "additional_context": MACHINE,
            "env_context": {},
            "content": content,
            "timestamp": stamp(number),
        }
        return [user, answer]

    def store(self, session: str, items: list[Any], **columns: Any) -> None:
        """Write a conversation."""
        self.remove(session)
        self.insert("conversations", key=session, value={"conversation_id": "c1", "history": items})

    def remove(self, session: str) -> None:
        """Delete a conversation."""
        self.db.execute("DELETE FROM conversations WHERE key = ?", (session,))


class CursorWorkspacePlain(DocumentsPlain):
    """A workspace of an early Cursor, whose value lists all conversations."""

    file = ".config/Cursor/User/workspaceStorage/a1b2/state.vscdb"
    schema = "CREATE TABLE ItemTable (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB);"
    stored = (("ItemTable", "value"),)
    required = ("ItemTable", "value")
    key = "composer.composerData"

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        workspace = {"folder": f"file://{CWD}"}
        (self.path.parent / "workspace.json").write_text(json.dumps(workspace))
        self.insert("ItemTable", key="secret://token", value=MACHINE)

    def item(self, turn: int, role: str, text: str) -> Any:
        """Return a message."""
        return {"type": 1 if role == "user" else 2, "bubbleId": f"b{turn}", "text": text}

    def noise(self, number: int) -> Any:
        """Return a message without words."""
        return {"type": 2, "text": "", "thinking": {"text": NOISE}}

    def unknown(self) -> Any:
        """Return a message of an unknown type."""
        return {"type": 7, "text": NOISE}

    def listed(self) -> dict[str, Any]:
        """Return the value with all conversations."""
        chats = [
            {"composerId": session, "name": "Ports", "createdAt": START_MS, "conversation": items}
            for session, items in self._items.items()
        ]
        return {"allComposers": [*chats, {"composerId": "listed-only", "name": "In the other database"}]}

    def store(self, session: str, items: list[Any], **columns: Any) -> None:
        """Write all conversations."""
        self.insert("ItemTable", key=self.key, value=self.listed())

    def remove(self, session: str) -> None:
        """Write all other conversations."""
        del self._items[session]
        self.store(session, [])

    def write_traps(self) -> None:
        """Write a conversation, and values that are none."""
        for turn, role, text in ((0, "user", QUESTION), (1, "assistant", ANSWER), (2, "user", SECOND)):
            self.add("s1", self.item(turn, role, text))
        self.add("s1", self.noise(0))
        for key in ("aiService.prompts", "aiService.generations"):
            self.insert("ItemTable", key=key, value=[{"text": MACHINE, "commandType": 4}])


class WindsurfWorkspacePlain(CursorWorkspacePlain):
    """A workspace of an early Windsurf: chats in tabs."""

    file = ".config/Windsurf/User/workspaceStorage/a1b2/state.vscdb"
    key = "aiChat.chatdata"

    def item(self, turn: int, role: str, text: str) -> Any:
        """Return a message."""
        kind = "user" if role == "user" else "ai"
        return {"type": kind, "id": f"b{turn}", "rawText": text, "selections": [{"text": MACHINE}]}

    def listed(self) -> dict[str, Any]:
        """Return the value with all chats."""
        tabs = [
            {"tabId": session, "chatTitle": "Ports", "lastSendTime": START_MS, "bubbles": items}
            for session, items in self._items.items()
        ]
        return {"tabs": tabs}


class OpencodeFilesPlain(PlainWriter):
    """opencode before its database, or MiMo Code: a file for each session, message and part."""

    def __init__(self, home: Path, name: str = "opencode") -> None:
        super().__init__(home)
        self.root = home / f".local/share/{name}/storage"
        self.root.mkdir(parents=True)
        self._rows: dict[str, int] = {}

    def put(self, path: str, value: Any) -> None:
        """Write a file."""
        file = self.root / f"{path}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value if isinstance(value, str) else json.dumps(value))

    def session(self, session: str, **facts: Any) -> None:
        """Write a session's file."""
        times = {"created": START_MS, "updated": START_MS}
        known = {"id": session, "version": "0.15.3", "projectID": "p1", "directory": CWD, "title": "Ports"}
        self.put(f"session/p1/{session}", {**known, "time": times, **facts})

    def message(self, session: str, role: str, *parts: Any, turn: int = 0, **facts: Any) -> int:
        """Write a message with parts, and return its number."""
        self._rows[session] = number = self._rows.get(session, 0) + 1
        key = f"msg_{number:06d}"
        times = {"created": START_MS + 1_000 * turn}
        for at, part in enumerate(parts):
            self.put(f"part/{key}-{session}/prt_{at}", part)
        self.put(f"message/{session}/{key}-{session}", {"id": key, "role": role, "time": times, **facts})
        return number

    def write(self, session: str, turn: int, role: str, text: str) -> int:
        """Write a turn."""
        if turn == 0:
            self.session(session)
        return self.message(session, role, {"type": "text", "text": text}, turn=turn)

    def write_noise(self, session: str, number: int) -> None:
        """Write a message without words."""
        self.message(
            session, "assistant", {"type": "tool", "text": NOISE} if number % 2 else "{damaged noise"
        )

    def write_unknown(self, session: str) -> None:
        """Write a message of an unknown speaker."""
        self.message(session, "telepathy", {"type": "text", "text": NOISE})

    def write_others(self) -> dict[str, int]:
        """Write a session that an agent started."""
        self.session("ses_child", parentID="ses_parent")
        self.message("ses_child", "user", {"type": "text", "text": "Search the code"})
        return {"subagent": 1}

    def delete(self, session: str) -> None:
        """Delete a session's files."""
        (self.root / f"session/p1/{session}.json").unlink()
        shutil.rmtree(self.root / "message" / session)
        self.turns.pop(session, None)
        self._rows.pop(session, None)
