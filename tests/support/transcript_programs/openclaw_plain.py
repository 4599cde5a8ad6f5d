"""Plain conversations of OpenClaw, in each of its stores."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.transcript_programs import work_plain
from tests.support.transcript_programs.plain import NOISE, NOISE_LINES, PlainWriter
from tests.support.transcripts import TranscriptHome, header, message


class OpenClawPlain(PlainWriter):
    """An agent of OpenClaw. A session begins with a header; its records are numbered from `first`."""

    first = 0
    noise = (
        message("toolResult", NOISE),
        message("system", NOISE),
        message("assistant", [{"type": "thinking", "thinking": NOISE}]),
        *NOISE_LINES,
        header("s"),
    )
    keys: Mapping[str, str] = {
        "c1": "agent:main:cron:job:run:c1",
        "c2": "agent:main:cron:job",
        "h": "agent:main:main:heartbeat",
        "b": "agent:main:subagent:b",
        "d": "agent:main:dreaming-narrative-light",
    }
    """Sessions that are not memory, with their keys."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self.records: dict[str, int] = {}

    def add(self, session: str, *records: str, key: str = "") -> None:
        """Add records to a session, which is made with its first ones."""
        self._add(session, records, key)
        self.records[session] = self.records.get(session, 0) + len(records)

    def write(self, session: str, turn: int, role: str, text: str) -> int:
        """Write a message, after the header if it is the first one."""
        content: object = text if role == "user" else [{"type": "text", "text": text}]
        self.add(session, *([header(session)] if turn == 0 else []), message(role, content))
        return self.records[session] - 1 + self.first

    def write_noise(self, session: str, number: int) -> None:
        """Write a record that is no message."""
        self.add(session, self.noise[number % len(self.noise)])

    records_work = True

    def write_work(self, session: str, number: int, *, has_ended: bool) -> None:
        """Write a call, or its result."""
        key = f"w{self.records.get(session, 0)}"
        self.add(session, *map(json.dumps, work_plain.pi(session, number, key, has_ended)))

    def write_unknown(self, session: str) -> None:
        """Write a record of an unknown type."""
        self.add(session, '{"type": "telepathy"}')

    def write_others(self) -> dict[str, int]:
        """Write sessions that OpenClaw started itself."""
        for session, key in self.keys.items():
            self.add(session, header(session), message("user", "Search the code"), key=key)
        return {"cron": 2, "heartbeat": 1, "subagent": 1, "dreaming": 1}

    def _add(self, session: str, records: Sequence[str], key: str) -> None:
        """Write records, with the session's key if it has one."""
        raise NotImplementedError


class OpenClawFilesPlain(OpenClawPlain):
    """Files of older releases, and their list."""

    first = 1

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._home = TranscriptHome(home)
        self._keys: dict[str, dict[str, str]] = {}

    def delete(self, session: str) -> None:
        """Delete the file."""
        (self._home.sessions / f"{session}.jsonl").unlink()
        self.turns.pop(session, None)
        self.records.pop(session, None)

    def _add(self, session: str, records: Sequence[str], key: str) -> None:
        self._home.append_file(session, records)
        if key:
            self._keys[key] = {"sessionId": session}
            self._home.write_list(self._keys)


class OpenClawDatabasePlain(OpenClawPlain):
    """The database, in which every second event is compressed."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        self._database = TranscriptHome(home).open_database()

    def delete(self, session: str) -> None:
        """Delete the session's events."""
        for table in ("transcript_events", "session_windows"):
            self._database.db.execute(f"DELETE FROM {table} WHERE session_id = ?", (session,))
        self.turns.pop(session, None)
        self.records.pop(session, None)

    def close(self) -> None:
        """Close the database."""
        self._database.db.close(True)

    def _add(self, session: str, records: Sequence[str], key: str) -> None:
        if session in self.records:
            self._database.append(session, records, packed=True)
        else:
            self._database.add_session(session, records, key=key, packed=True)
