"""Homes with conversations, as OpenClaw's releases store them: files, a database, or both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import zstandard

from memd.programs.openclaw import READER
from memd.programs.openclaw_database import OpenClawAgentDatabase
from memd.sources.conversations import ConversationFiles
from memd.sources.databases import ConversationDatabases
from memd.sources.source import Source

START_MS = 1_767_607_200_000
"""2026-01-05 10:00 UTC: the time of the first message of every conversation."""

STAMP = "2026-01-06T04-00-00.000Z"
"""Time stamp of a rotated file."""

MAX_TRANSCRIPT_BYTES = 1_048_576
"""Largest transcript in tests, in bytes."""

SCHEMA = """
CREATE TABLE schema_meta (
    meta_key TEXT PRIMARY KEY, role TEXT, schema_version INTEGER, agent_id TEXT, app_version TEXT,
    created_at INTEGER, updated_at INTEGER
);
CREATE TABLE session_nodes (
    session_key TEXT NOT NULL PRIMARY KEY, current_session_id TEXT, entry_json TEXT NOT NULL, created_via TEXT,
    archived_at INTEGER
) STRICT;
CREATE TABLE session_windows (
    session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL, previous_session_id TEXT, reason TEXT,
    session_scope TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, transcript_updated_at INTEGER,
    chat_type TEXT, channel TEXT, hook_external_content_source TEXT, parent_session_key TEXT, spawned_by TEXT,
    display_name TEXT
) STRICT;
CREATE TABLE transcript_events (
    session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER NOT NULL, event_zstd BLOB,
    event_utf8_bytes INTEGER, navigation_json TEXT, PRIMARY KEY (session_id, seq),
    CHECK ((event_json IS NULL) <> (event_zstd IS NULL))
) STRICT;
CREATE TABLE session_transcript_cold_archives (
    session_id TEXT NOT NULL PRIMARY KEY, generation TEXT NOT NULL, archive_name TEXT NOT NULL,
    archive_sha256 TEXT NOT NULL, event_count INTEGER NOT NULL, raw_bytes INTEGER NOT NULL,
    archive_bytes INTEGER NOT NULL, last_seq INTEGER NOT NULL, archived_at INTEGER NOT NULL, storage TEXT NOT NULL,
    archive_blob BLOB
) STRICT;
CREATE TABLE memory_embedding_cache (
    provider TEXT, model TEXT, provider_key TEXT, hash TEXT, embedding BLOB, dims INTEGER, updated_at INTEGER
);
PRAGMA user_version = 23;
INSERT INTO schema_meta VALUES ('agent', 'agent', 23, 'main', '2026.9.6', 0, 0);
"""


def moment(at_ms: int) -> str:
    """Return a time in the format of OpenClaw's records."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def message(role: str, content: object, at_ms: int = START_MS, **more: object) -> str:
    """Return a message as a transcript record."""
    record = {
        "type": "message",
        "timestamp": moment(at_ms),
        "message": {"role": role, "content": content, **more},
    }
    return json.dumps(record, ensure_ascii=False)


def header(session_id: str) -> str:
    """Return the first record of a transcript."""
    return json.dumps({"type": "session", "version": 3, "id": session_id, "timestamp": moment(START_MS)})


def reset(first_kept: str = "", at_ms: int = START_MS) -> str:
    """Return the record between two conversations of a session; the later one continues with the given record."""
    kept = {"firstKeptEntryId": first_kept} if first_kept else {}
    return json.dumps({"type": "reset", "id": "r", "timestamp": moment(at_ms), "reason": "new", **kept})


def conversation(session_id: str, turns: int, words: str = "") -> list[str]:
    """Return the records of a conversation: user messages, tool output, and answers."""
    records = [header(session_id)]
    for turn in range(turns):
        at_ms = START_MS + turn * 60_000
        asked = f"Question {turn} of {session_id} {words if turn == 0 else ''}".strip()
        records += [
            message("user", asked, at_ms),
            message("toolResult", f"printed {turn} of {session_id}\n" * 3, at_ms + 1_000),
            message("assistant", [{"type": "text", "text": f"Answer {turn} of {session_id}"}], at_ms + 2_000),
        ]
    return records


class TranscriptHome:
    """One agent's part of a state directory."""

    def __init__(self, state: Path, agent: str = "main") -> None:
        self.state = state
        self.agent = agent
        self.sessions = state / "agents" / agent / "sessions"
        self.cold = self.sessions / "cold"
        self.database = state / "agents" / agent / "agent" / "openclaw-agent.sqlite"
        self.sessions.mkdir(parents=True, exist_ok=True)

    # --- transcript files ---------------------------------------------------------------------------

    def write_file(self, name: str, records: Iterable[str]) -> Path:
        """Write a transcript file; `name` is a session id or a whole file name."""
        location = self.sessions / (name if "." in name else f"{name}.jsonl")
        location.write_text("".join(f"{record}\n" for record in records), encoding="utf-8")
        return location

    def append_file(self, name: str, records: Iterable[str]) -> None:
        """Add records to a session's file."""
        with (self.sessions / f"{name}.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(f"{record}\n" for record in records)

    def write_list(self, entries: Mapping[str, Mapping[str, Any]]) -> None:
        """Write OpenClaw's list of sessions by key."""
        (self.sessions / "sessions.json").write_text(json.dumps(entries), encoding="utf-8")

    # --- the database -------------------------------------------------------------------------------

    def open_database(self) -> OpenClawDatabase:
        """Return a connection to OpenClaw's database, which is created if missing."""
        self.database.parent.mkdir(parents=True, exist_ok=True)
        return OpenClawDatabase(self.database, self.cold)


class OpenClawDatabase:
    """The database as OpenClaw writes it: with a write-ahead log, one transaction per change."""

    def __init__(self, path: Path, cold: Path) -> None:
        new = not path.exists()
        self.cold = cold
        self.db = apsw.Connection(str(path))
        self.db.set_busy_timeout(0)
        self.db.pragma("journal_mode", "wal")
        self.db.pragma("synchronous", 0)  # no test survives a power cut
        if new:
            self.db.execute(SCHEMA)

    def __enter__(self) -> OpenClawDatabase:
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close(True)

    def add_session(
        self,
        session_id: str,
        records: Sequence[str] = (),
        *,
        key: str = "",
        created_via: str = "channel",
        spawned_by: str | None = None,
        packed: bool = False,
    ) -> None:
        """Write a session with its events; `packed` compresses every second one."""
        key = key or f"agent:main:direct:{session_id}"
        with self.db:
            self.db.execute(
                "INSERT OR IGNORE INTO session_nodes (session_key, current_session_id, entry_json, created_via)"
                " VALUES (?, ?, '{}', ?)",
                (key, session_id, created_via),
            )
            self.db.execute(
                "INSERT INTO session_windows (session_id, session_key, created_at, updated_at,"
                " transcript_updated_at, chat_type, spawned_by) VALUES (?, ?, ?, ?, ?, 'direct', ?)",
                (session_id, key, START_MS, START_MS, START_MS, spawned_by),
            )
            self.append(session_id, records, packed=packed)

    def append(self, session_id: str, records: Sequence[str], *, packed: bool = False) -> None:
        """Append events to a session, one second apart."""
        with self.db:
            last = self.db.execute(
                "SELECT max(seq), max(created_at) FROM transcript_events WHERE session_id = ?", (session_id,)
            ).fetchall()[0]
            seq = 0 if last[0] is None else int(str(last[0])) + 1
            at_ms = START_MS if last[1] is None else int(str(last[1])) + 1_000
            for offset, record in enumerate(records):
                is_packed = packed and (seq + offset) % 2 == 1
                frame = zstandard.ZstdCompressor(1).compress(record.encode()) if is_packed else None
                self.db.execute(
                    "INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?, ?, NULL)",
                    (
                        session_id,
                        seq + offset,
                        None if frame else record,
                        at_ms + offset * 1_000,
                        frame,
                        len(record.encode()),
                    ),
                )
            self.db.execute(
                "UPDATE session_windows SET transcript_updated_at = ? WHERE session_id = ?",
                (at_ms + len(records) * 1_000, session_id),
            )

    def freeze(self, session_id: str, *, up_to: int | None = None, embedded: bool = False) -> Path:
        """Move a session's events into a cold archive, all of them or up to a number."""
        rows = self.db.execute(
            "SELECT seq, event_json, created_at FROM transcript_events WHERE session_id = ?1"
            " AND (?2 IS NULL OR seq <= ?2) ORDER BY seq",
            (session_id, up_to),
        ).fetchall()
        lines: list[dict[str, Any]] = [
            {"kind": "header", "version": 1, "sessionId": session_id, "generation": "g1"}
        ]
        for seq, text, at_ms in rows:
            lines.append({"kind": "event", "row": {"seq": seq, "event_json": text, "created_at": at_ms}})
            lines.append({"kind": "fts", "row": {"text": "what OpenClaw searches by", "role": "user"}})
        data = zstandard.ZstdCompressor().compress("\n".join(map(json.dumps, lines)).encode())
        digest = hashlib.sha256(data).hexdigest()
        location = self.cold / f"{digest}.jsonl.zst"
        if not embedded:
            self.cold.mkdir(exist_ok=True)
            location.write_bytes(data)
        last = rows[-1][0]
        raw = sum(len(str(row[1]).encode()) for row in rows)
        with self.db:
            self.db.execute(
                "INSERT INTO session_transcript_cold_archives VALUES (?, 'g1', ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(session_id, location.name, digest, len(rows), raw, len(data), last, START_MS),
                    *(("sqlite", data) if embedded else ("file", None)),
                ),
            )
            self.db.execute(
                "DELETE FROM transcript_events WHERE session_id = ? AND seq <= ?", (session_id, last)
            )
        return location


def files_of(home: TranscriptHome) -> ConversationFiles:
    """Return the source of a home's transcript files alone."""
    return ConversationFiles(
        "sessions",
        READER,
        [home.sessions],
        max_bytes=MAX_TRANSCRIPT_BYTES,
        opened_from=str(home.sessions.parent),
        with_work=True,
    )


def database_of(home: TranscriptHome) -> ConversationDatabases:
    """Return the source of a home's database alone."""
    opener = partial(OpenClawAgentDatabase, max_bytes=MAX_TRANSCRIPT_BYTES)
    limit = MAX_TRANSCRIPT_BYTES
    return ConversationDatabases("sessions", opener, [home.database], max_bytes=limit, with_work=True)


def text_of(source: Source, session_id: str) -> str:
    """Return the messages of a session."""
    return source.load(source.find().files[f"sessions/{session_id}.jsonl"]).text
