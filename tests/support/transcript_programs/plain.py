"""Plain conversations as each program writes them: one writer per program, with the same interface."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.support.transcript_programs.cursor import CursorWriter, answer, line, query, user
from tests.support.transcript_programs.opencode import V1, OpencodeWriter, say

CWD: Final = "/home/eva/shop"
START_MS: Final = 1_793_606_400_000
"""2026-11-02T08:00:00Z; the turns of a session are a second apart."""

Records = list[Mapping[str, Any]]


def stamp(turn: int) -> str:
    """Return the time of a turn as programs write it."""
    return datetime.fromtimestamp(START_MS / 1000 + turn, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


class PlainWriter:
    """Writes conversations of one program below a home folder. Turns are (role, text)."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.turns: dict[str, int] = {}

    def append(self, session: str, role: str, text: str) -> None:
        """Add a turn to a session, which is made with its first one."""
        turn = self.turns.setdefault(session, 0)
        self.write(session, turn, role, text)
        self.turns[session] = turn + 1

    def write(self, session: str, turn: int, role: str, text: str) -> None:
        """Write one turn."""
        raise NotImplementedError

    def write_unknown(self, session: str) -> None:
        """Write a record of an unknown type to a session; by default the store has no such records."""

    def delete(self, session: str) -> None:
        """Delete a session as the program does."""
        raise NotImplementedError

    def close(self) -> None:
        """Release everything."""


class LinesWriter(PlainWriter):
    """A program with a file of lines per session."""

    def __init__(
        self,
        home: Path,
        place: str,
        head: Callable[[str], Records],
        record: Callable[[str, int, str, str], Records],
    ) -> None:
        super().__init__(home)
        self._place, self._head, self._record = place, head, record

    def path(self, session: str) -> Path:
        """Return the file of a session."""
        return self.home / self._place.format(session=session)

    def write(self, session: str, turn: int, role: str, text: str) -> None:
        """Append the records of a turn."""
        path = self.path(session)
        records = [*(self._head(session) if turn == 0 else []), *self._record(session, turn, role, text)]
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.writelines(json.dumps(each) + "\n" for each in records)

    def write_unknown(self, session: str) -> None:
        """Append a record of a type that no release has."""
        with self.path(session).open("a") as file:
            file.write(
                json.dumps({"type": "telepathy", "timestamp": stamp(0), "data": {}, "payload": {}}) + "\n"
            )

    def delete(self, session: str) -> None:
        """Delete the file."""
        self.path(session).unlink()


def claude_code(home: Path) -> PlainWriter:
    """Claude Code."""

    def record(session: str, turn: int, role: str, text: str) -> Records:
        content: Any = text if role == "user" else [{"type": "text", "text": text}]
        return [
            {
                "type": role,
                "uuid": f"{session}-{turn}",
                "parentUuid": f"{session}-{turn - 1}" if turn else None,
                "sessionId": session,
                "timestamp": stamp(turn),
                "cwd": CWD,
                "gitBranch": "main",
                "isSidechain": False,
                "message": {"id": f"m{turn}", "role": role, "content": content},
            }
        ]

    return LinesWriter(home, ".claude/projects/-home-eva-shop/{session}.jsonl", lambda _: [], record)


def codex(home: Path) -> PlainWriter:
    """Codex with legacy events."""

    def head(session: str) -> Records:
        payload = {
            "id": session,
            "session_id": session,
            "cwd": CWD,
            "source": "cli",
            "git": {"branch": "main"},
        }
        return [{"timestamp": stamp(0), "type": "session_meta", "payload": payload}]

    def record(session: str, turn: int, role: str, text: str) -> Records:
        kind = "user_message" if role == "user" else "agent_message"
        return [{"timestamp": stamp(turn), "type": "event_msg", "payload": {"type": kind, "message": text}}]

    place = ".codex/sessions/2026/11/02/rollout-2026-11-02T08-00-00-{session}.jsonl"
    return LinesWriter(home, place, head, record)


def gemini(home: Path) -> PlainWriter:
    """Gemini CLI."""

    def head(session: str) -> Records:
        times = {"startTime": stamp(0), "lastUpdated": stamp(0)}
        return [{"sessionId": session, "projectHash": "shop", "kind": "main", **times}]

    def record(session: str, turn: int, role: str, text: str) -> Records:
        kind, content = ("user", [{"text": text}]) if role == "user" else ("gemini", text)
        return [{"id": f"{session}-{turn}", "timestamp": stamp(turn), "type": kind, "content": content}]

    root = home / ".gemini/tmp/shop"
    root.mkdir(parents=True, exist_ok=True)
    (root / ".project_root").write_text(CWD)
    return LinesWriter(home, ".gemini/tmp/shop/chats/session-2026-11-02T08-00-{session}.jsonl", head, record)


def copilot(home: Path, place: str = ".copilot/session-state/{session}/events.jsonl") -> PlainWriter:
    """Copilot CLI."""

    def head(session: str) -> Records:
        data = {"sessionId": session, "context": {"cwd": CWD, "gitRoot": CWD, "branch": "main"}}
        return [{"type": "session.start", "id": "0", "parentId": None, "timestamp": stamp(0), "data": data}]

    def record(session: str, turn: int, role: str, text: str) -> Records:
        return [
            {
                "type": f"{role}.message",
                "id": f"{session}-{turn}",
                "parentId": None,
                "timestamp": stamp(turn),
                "data": {"content": text},
            }
        ]

    return LinesWriter(home, place, head, record)


def copilot_chat(home: Path) -> PlainWriter:
    """Copilot in VS Code: the same events."""
    chat = "workspaceStorage/a1b2/GitHub.copilot-chat/transcripts/{session}.jsonl"
    return copilot(home, f".config/Code/User/{chat}")


class CursorLines(LinesWriter):
    """Cursor's command line: its lines have no times, and a person's words are wrapped."""

    def __init__(self, home: Path) -> None:
        place = ".cursor/projects/home-eva-shop/agent-transcripts/{session}/{session}.jsonl"
        super().__init__(home, place, lambda _: [], self._records)

    def _records(self, session: str, turn: int, role: str, text: str) -> Records:
        record: Mapping[str, Any] = json.loads(line(role, query(text) if role == "user" else text))
        return [record]

    def delete(self, session: str) -> None:
        """Delete the session's folder."""
        shutil.rmtree(self.path(session).parent)


class OpencodePlain(PlainWriter):
    """opencode or Kilo, in one of the schemas of its database."""

    def __init__(self, home: Path, name: str, schema: str = V1) -> None:
        super().__init__(home)
        self._writer = OpencodeWriter(home / f".local/share/{name}/{name}.db", schema)
        self._is_v1 = schema == V1

    def write(self, session: str, turn: int, role: str, text: str) -> None:
        """Insert a turn's rows."""
        table = "session" if self._is_v1 else "session_v2"
        if turn == 0:
            self._writer.session(session, table, directory=CWD)
        if self._is_v1:
            self._writer.v1(session, role, text)
        else:
            self._writer.v2(session, role, turn + 1, {"text": text} if role == "user" else say(text))

    def delete(self, session: str) -> None:
        """Delete a session's rows."""
        tables = (("part", "session_id"), ("message", "session_id"), ("session", "id"))
        if not self._is_v1:
            tables = (("session_message", "session_id"), ("session_v2", "id"), ("session_v2", "id"))
        for table, column in tables:
            self._writer.db.execute(f"DELETE FROM {table} WHERE {column} = ?", (session,))

    def close(self) -> None:
        """Close the database."""
        self._writer.close()


class CursorEditorPlain(PlainWriter):
    """Cursor's editor: a conversation's record lists all its messages and is rewritten with each."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._writer = CursorWriter(home / ".config/Cursor/User/globalStorage/state.vscdb")
        self._bubbles: dict[str, list[tuple[str, dict[str, Any]]]] = {}

    def write(self, session: str, turn: int, role: str, text: str) -> None:
        """Store a turn, and the conversation again."""
        bubbles = self._bubbles.setdefault(session, [])
        bubbles.append((f"b{turn}", (user if role == "user" else answer)(text, createdAt=stamp(turn))))
        self._writer.composer(session, *bubbles, lastUpdatedAt=START_MS + 1_000 * turn)

    def delete(self, session: str) -> None:
        """Delete a conversation's rows."""
        for key in (
            f"composerData:{session}",
            *(f"bubbleId:{session}:{name}" for name, _ in self._bubbles[session]),
        ):
            self._writer.db.execute("DELETE FROM cursorDiskKV WHERE key = ?", (key,))

    def close(self) -> None:
        """Close the database."""
        self._writer.close()
