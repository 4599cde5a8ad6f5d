"""Notes and plain conversations as each program writes them: one writer per program, with the same interface."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tests.support.transcript_programs import work_plain
from tests.support.transcript_programs.cursor import CursorWriter, answer, line, query, user
from tests.support.transcript_programs.opencode import V1, OpencodeWriter, say

CWD: Final = "/home/eva/shop"
START_MS: Final = 1_793_606_400_000
"""2026-11-02T08:00:00Z; the turns of a session are a second apart."""

Records = list[Mapping[str, Any]]

NOISE: Final = "noise"
"""A word that no message has: it is only in the output of tools, and in other records that are no messages."""

NOISE_LINES: Final = ('{"type": "noise"}', "{damaged noise", "null", '["noise"]', "")
"""Lines that are no record of any program."""


def stamp(turn: int) -> str:
    """Return the time of a turn as programs write it."""
    return datetime.fromtimestamp(START_MS / 1000 + turn, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


class PlainWriter:
    """Writes the notes or conversations of one source below a home folder. Turns are (role, text).

    Attributes:
        turns: The place of each turn of a session: its line, or its number in the database.
        records_work: Whether the program records what its agent did, and memd reads it.
        records_results: Whether a call and its result are two records.
        has_outcome: Whether it records outcomes.
    """

    records_work = False
    records_results = has_outcome = True

    def __init__(self, home: Path) -> None:
        self.home = home
        self.turns: dict[str, list[int]] = {}

    def append(self, session: str, role: str, text: str) -> None:
        """Add a turn to a session, which is made with its first one."""
        turns = self.turns.setdefault(session, [])
        turns.append(self.write(session, len(turns), role, text))

    def write(self, session: str, turn: int, role: str, text: str) -> int:
        """Write one turn; return its place."""
        raise NotImplementedError

    def write_noise(self, session: str, number: int) -> None:
        """Write a record that is no message to a session; the number chooses one of several."""
        raise NotImplementedError

    def write_work(self, session: str, number: int, *, has_ended: bool) -> None:
        """Write a call of a tool, or its result if it `has_ended`; nothing if the program doesn't record work."""

    def write_unknown(self, session: str) -> None:
        """Write a record of a type that no release has to a session."""
        raise NotImplementedError

    def write_others(self) -> dict[str, int]:
        """Write sessions that are not memory; return their number by kind, empty if the store can't express them."""
        return {}

    def delete(self, session: str) -> None:
        """Delete a session as the program does."""
        raise NotImplementedError

    def close(self) -> None:
        """Release everything."""


class NotesWriter(PlainWriter):
    """Notes in a folder below the home: each turn is a paragraph."""

    def __init__(self, home: Path, folder: str) -> None:
        super().__init__(home)
        self._folder = home / folder

    def path(self, session: str) -> Path:
        """Return the file of a note."""
        return self._folder / f"{session}.md"

    def write(self, session: str, turn: int, role: str, text: str) -> int:
        """Append a paragraph; return its line."""
        path = self.path(session)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(f"{text}\n\n")
        return 2 * turn + 1

    def delete(self, session: str) -> None:
        """Delete the file."""
        self.path(session).unlink()
        self.turns.pop(session, None)


class LinesWriter(PlainWriter):
    """A program with a file of lines per session, and with files of agents' sessions at `agents`."""

    def __init__(
        self,
        home: Path,
        place: str,
        head: Callable[[str], Records],
        record: Callable[[str, int, str, str], Records],
        agents: str = "",
        work: Callable[[str, int, str, bool], Records] | None = None,
    ) -> None:
        super().__init__(home)
        self._place, self._head, self._record, self._agents = place, head, record, agents
        self._work, self._works = work, 0
        self.records_work = work is not None

    def path(self, session: str) -> Path:
        """Return the file of a session."""
        return self.home / self._place.format(session=session)

    def write(self, session: str, turn: int, role: str, text: str) -> int:
        """Append the records of a turn; the last one is the message."""
        records = [*(self._head(session) if turn == 0 else []), *self._record(session, turn, role, text)]
        return self._write_lines(self.path(session), *map(json.dumps, records))

    def write_noise(self, session: str, number: int) -> None:
        """Append a line that is no record of the program."""
        self._write_lines(self.path(session), NOISE_LINES[number % len(NOISE_LINES)])

    def write_work(self, session: str, number: int, *, has_ended: bool) -> None:
        """Append a call, or its result."""
        if self._work is not None:
            self._works += 1
            records = self._work(session, number, f"w{self._works}", has_ended)
            self._write_lines(self.path(session), *map(json.dumps, records))

    def write_unknown(self, session: str) -> None:
        """Append a record of an unknown type."""
        record = {"type": "telepathy", "timestamp": stamp(0), "data": {}, "payload": {}}
        self._write_lines(self.path(session), json.dumps(record))

    def write_others(self) -> dict[str, int]:
        """Write a session that an agent started, if the path of its file shows that."""
        if not self._agents:
            return {}
        records = [*self._head("agent-a1"), *self._record("agent-a1", 0, "user", "Search the code")]
        self._write_lines(self.home / self._agents, *map(json.dumps, records))
        return {"subagent": 1}

    def delete(self, session: str) -> None:
        """Delete the file."""
        self.path(session).unlink()
        self.turns.pop(session, None)

    @staticmethod
    def _write_lines(path: Path, *lines: str) -> int:
        """Append lines; return the number of the last one."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        return path.read_bytes().count(b"\n")


AGENTS: Final = "0199a213-81c4-7000-8000-000000000009/subagents/agent-a1.jsonl"


def claude_code(
    home: Path,
    project: str = ".claude/projects/-home-eva-shop",
    name: str = "{session}.jsonl",
    agents: str = AGENTS,
) -> PlainWriter:
    """Claude Code, or a program that writes its records."""

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

    agents = f"{project}/{agents}" if agents else ""
    return LinesWriter(home, f"{project}/{name}", lambda _: [], record, agents, work_plain.claude_code)


def codex(home: Path, folder: str = ".codex") -> PlainWriter:
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

    place = f"{folder}/sessions/2026/11/02/rollout-2026-11-02T08-00-00-{{session}}.jsonl"
    return LinesWriter(home, place, head, record, work=work_plain.codex)


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
    chats = ".gemini/tmp/shop/chats"
    place, agents = f"{chats}/session-2026-11-02T08-00-{{session}}.jsonl", f"{chats}/p1/agent-a1.jsonl"
    return LinesWriter(home, place, head, record, agents, work_plain.gemini)


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

    return LinesWriter(home, place, head, record, work=work_plain.copilot)


def copilot_chat(home: Path) -> PlainWriter:
    """Copilot in VS Code: the same events."""
    chat = "workspaceStorage/a1b2/GitHub.copilot-chat/transcripts/{session}.jsonl"
    return copilot(home, f".config/Code/User/{chat}")


class CursorLines(LinesWriter):
    """Cursor's command line: its lines have no times, and a person's words are wrapped."""

    def __init__(self, home: Path) -> None:
        transcripts = ".cursor/projects/home-eva-shop/agent-transcripts"
        place, agents = f"{transcripts}/{{session}}/{{session}}.jsonl", f"{transcripts}/c/subagents/a1.jsonl"
        super().__init__(home, place, lambda _: [], self._records, agents, self._calls)

    records_results = has_outcome = False

    def _calls(self, session: str, number: int, key: str, has_ended: bool) -> Records:
        return [work_plain.cursor_line(number)]

    def _records(self, session: str, turn: int, role: str, text: str) -> Records:
        record: Mapping[str, Any] = json.loads(line(role, query(text) if role == "user" else text))
        return [record]

    def delete(self, session: str) -> None:
        """Delete the session's folder."""
        super().delete(session)
        shutil.rmtree(self.path(session).parent)


class OpencodePlain(PlainWriter):
    """opencode or Kilo, in one of the schemas of its database. Messages are numbered."""

    def __init__(self, home: Path, name: str, schema: str = V1) -> None:
        super().__init__(home)
        self._writer = OpencodeWriter(home / f".local/share/{name}/{name}.db", schema)
        self._is_v1 = schema == V1
        self._rows: dict[str, int] = {}

    def write(self, session: str, turn: int, role: str, text: str) -> int:
        """Insert a turn's rows."""
        if turn == 0:
            self._add_session(session)
        if self._is_v1:
            self._writer.v1(session, role, text)
        else:
            self._writer.v2(
                session, role, self._next(session), {"text": text} if role == "user" else say(text)
            )
            return self._rows[session]
        return self._next(session)

    def write_noise(self, session: str, number: int) -> None:
        """Insert a message without words: the output of a tool, or a damaged one."""
        place = self._next(session)
        tool = {"type": "tool", "text": NOISE}
        if self._is_v1:
            message_id = self._writer.v1(session, "assistant")
            self._writer.part(session, message_id, "{damaged noise" if number % 2 else tool)
        else:
            self._writer.v2(
                session, "assistant", place, "{damaged noise" if number % 2 else {"content": [tool]}
            )

    records_work, records_results = True, False

    def write_work(self, session: str, number: int, *, has_ended: bool) -> None:
        """Insert an answer with a call, which may have its result."""
        place, part = self._next(session), work_plain.opencode(number, has_ended)
        if self._is_v1:
            self._writer.v1(session, "assistant", part)
        else:
            self._writer.v2(session, "assistant", place, {"content": [part]})

    def write_unknown(self, session: str) -> None:
        """Insert a message of an unknown speaker."""
        place = self._next(session)
        if self._is_v1:
            self._writer.v1(session, "telepathy")
        else:
            self._writer.v2(session, "telepathy", place, {})

    def write_others(self) -> dict[str, int]:
        """Insert a session that an agent started."""
        self._add_session("ses_child", parent_id="ses_parent")
        if self._is_v1:
            self._writer.v1("ses_child", "user", "Search the code")
        else:
            self._writer.v2("ses_child", "user", 1, {"text": "Search the code"})
        return {"subagent": 1}

    def delete(self, session: str) -> None:
        """Delete a session's rows."""
        tables = (("part", "session_id"), ("message", "session_id"), ("session", "id"))
        if not self._is_v1:
            tables = (("session_message", "session_id"), ("session_v2", "id"), ("session_v2", "id"))
        for table, column in tables:
            self._writer.db.execute(f"DELETE FROM {table} WHERE {column} = ?", (session,))
        self.turns.pop(session, None)
        self._rows.pop(session, None)

    def close(self) -> None:
        """Close the database."""
        self._writer.close()

    def _add_session(self, session: str, **columns: str) -> None:
        self._writer.session(session, "session" if self._is_v1 else "session_v2", directory=CWD, **columns)

    def _next(self, session: str) -> int:
        """Return the number of a session's next message."""
        self._rows[session] = self._rows.get(session, 0) + 1
        return self._rows[session]


class CursorEditorPlain(PlainWriter):
    """Cursor's editor: a conversation's record lists all its messages and is rewritten with each."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._writer = CursorWriter(home / ".config/Cursor/User/globalStorage/state.vscdb")
        self._bubbles: dict[str, list[tuple[str, dict[str, Any]]]] = {}

    def write(self, session: str, turn: int, role: str, text: str) -> int:
        """Store a turn, and the conversation again."""
        return self._add(session, (user if role == "user" else answer)(text, createdAt=stamp(turn)))

    def write_noise(self, session: str, number: int) -> None:
        """Store a message without words: a tool call, or thinking."""
        noise = {"toolFormerData": {"result": NOISE}} if number % 2 else {"thinking": {"text": NOISE}}
        self._add(session, answer("", **noise))

    records_work, records_results = True, False

    def write_work(self, session: str, number: int, *, has_ended: bool) -> None:
        """Store a message with a call, which may have its result."""
        key = f"tool_{len(self._bubbles.get(session, []))}"
        self._add(session, answer("", **work_plain.cursor(number, key, has_ended)))

    def write_unknown(self, session: str) -> None:
        """Store a message of an unknown type."""
        self._add(session, {"type": 7, "text": NOISE})

    def write_others(self) -> dict[str, int]:
        """Store a conversation that an agent started."""
        self._writer.composer("child", ("b0", user("Search the code")), subagentInfo={"id": 1})
        return {"subagent": 1}

    def delete(self, session: str) -> None:
        """Delete a conversation's rows."""
        names = [f"bubbleId:{session}:{name}" for name, _ in self._bubbles.pop(session)]
        for key in (f"composerData:{session}", *names):
            self._writer.db.execute("DELETE FROM cursorDiskKV WHERE key = ?", (key,))
        self.turns.pop(session, None)

    def close(self) -> None:
        """Close the database."""
        self._writer.close()

    def _add(self, session: str, bubble: dict[str, Any]) -> int:
        bubbles = self._bubbles.setdefault(session, [])
        bubbles.append((f"b{len(bubbles)}", bubble))
        self._writer.composer(session, *bubbles, lastUpdatedAt=START_MS + 1_000 * (len(bubbles) - 1))
        return len(bubbles)
