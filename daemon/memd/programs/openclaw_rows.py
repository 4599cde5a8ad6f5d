"""Reads sessions and their events from OpenClaw's own database, including cold archives."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from memd.programs.openclaw_schema import (
    COLD,
    Shape,
    as_number,
    check_version,
    quoted,
    read_shape,
    write_listing,
)
from memd.system.sqlite import Database, get_int, opened_foreign

_ENDING = ".jsonl.zst"
_HEX = frozenset("0123456789abcdef")


class ColdArchive(Struct, frozen=True):
    """A part of a session that was moved out of the table of events.

    Attributes:
        name: The file's name in the folder `cold`; empty if it isn't a file, or unknown.
        embedded: Whether the archive is stored inside the database.
        last_seq: Number of its last event; 0 if unknown.
        size_bytes: Uncompressed size; 0 if unknown.
    """

    name: str
    embedded: bool
    last_seq: int
    size_bytes: int


def find_cold_archives(
    db: Database, shape: Shape, session_id: str | None
) -> dict[str, tuple[ColdArchive, ...]]:
    """Return the cold archives by session, the oldest first."""
    if not shape.cold_id:
        return {}
    columns = [
        shape.cold_id,
        " OR ".join(f"{quoted(name)} IS NOT NULL" for name in shape.cold_blobs) or "0",
        *map(quoted, shape.cold_facts),
    ]
    statement = f"SELECT {', '.join(columns)} FROM {COLD}"
    if session_id is not None:
        statement += f" WHERE {shape.cold_id} = ?"
    found: dict[str, list[ColdArchive]] = {}
    for key, embedded, *values in db.execute(statement, () if session_id is None else (session_id,)):
        known = dict(zip(shape.cold_facts, values, strict=True))
        last_seq = max([as_number(value) for name, value in known.items() if "seq" in name], default=0)
        name = "" if embedded else _name_of(known)
        archive = ColdArchive(name, bool(embedded), last_seq, as_number(known.get("raw_bytes")))
        found.setdefault(str(key), []).append(archive)
    return {key: tuple(sorted(parts, key=lambda part: part.last_seq)) for key, parts in found.items()}


def read_embedded_archives(db: Database, shape: Shape, session_id: str) -> list[bytes]:
    """Return the archives of a session that are stored inside the database."""
    if not shape.cold_id or not shape.cold_blobs:
        return []
    columns = ", ".join(map(quoted, shape.cold_blobs))
    rows = db.execute(f"SELECT {columns} FROM {COLD} WHERE {shape.cold_id} = ?", (session_id,))
    return [value for row in rows for value in row if isinstance(value, bytes)]


def _name_of(known: dict[str, object]) -> str:
    """Return the file name of an archive, taken from any of its columns; often only its hash is stored."""
    texts = [
        value.replace("\\", "/").rpartition("/")[2]
        for value in known.values()
        if isinstance(value, str) and "\0" not in value
    ]
    named = [text for text in texts if text.endswith(_ENDING) and len(text) > len(_ENDING)]
    hashes = [text + _ENDING for text in texts if len(text) == 64 and set(text) <= _HEX]
    return next(iter(named + hashes), "")


PAGE_ROWS = 256
PAGE_BYTES = 1_048_576
"""Size of a page of events, read in one transaction; between pages OpenClaw can run a checkpoint."""

_Facts = tuple[object, ...]
"""A session's row of the listing: while it is unchanged, its events are not counted again."""


class SessionRow(Struct, frozen=True):
    """One session with a transcript.

    Attributes:
        session_id: Its id.
        session_key: Key of the session, such as `agent:main:main` or `agent:main:cron:...`; may be empty.
        created_via: How it was created; may be empty.
        spawned_by: The session that started it, else empty.
        events: Number of its events in the table of events.
        size_bytes: Size of those in bytes, as stored.
        last_seq: Number of its last event, including cold ones.
        last_ms: When that was written; if all events are cold, when the session last changed.
        rewritten: Changes when OpenClaw rewrote existing events, if its release records that.
        changed: Changes with every change that OpenClaw records.
        cold: Its cold archives, the oldest first.
    """

    session_id: str
    session_key: str
    created_via: str
    spawned_by: str
    events: int
    size_bytes: int
    last_seq: int
    last_ms: int
    rewritten: str
    changed: int
    cold: tuple[ColdArchive, ...]


class TranscriptEvent(Struct, frozen=True):
    """One stored event: `text`, or `packed` as a Zstandard frame, or neither if it is damaged."""

    seq: int
    size_bytes: int
    text: str | None
    packed: bytes | None


class _View(NamedTuple):
    """A read transaction and the SQL expressions of the release."""

    db: Database
    shape: Shape


class OpenClawSessions:
    """Reads the database, which is opened for each read. For one thread at a time.

    Every method raises ForeignDatabaseError if the database can't be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode = 0
        self._schema = -1
        self._shape: Shape | None = None
        self._built: dict[str, tuple[_Facts, SessionRow]] = {}

    def __repr__(self) -> str:
        return f"<OpenClawSessions {self._path}>"

    def list_all(self) -> list[SessionRow]:
        """Return all sessions with a transcript."""
        with self._snapshot() as view:
            if view is None:
                return []
            check_version(view.db)
            rows = list(self._rows(view, None))
            self._built = {row.session_id: self._built[row.session_id] for row in rows}
            return rows

    def find(self, session_id: str) -> SessionRow | None:
        """Return the current state of one session, or None."""
        with self._snapshot() as view:
            if view is None:
                return None
            check_version(view.db)
            self._built.pop(session_id, None)
            return next(iter(list(self._rows(view, session_id))), None)

    def read_events(self, session_id: str, after_seq: int | None) -> list[TranscriptEvent]:
        """Return the next page of a session's events; empty if there are no more."""
        page: list[TranscriptEvent] = []
        size = 0
        with self._snapshot() as view:
            if view is None:
                return page
            cursor = view.db.execute(
                f"""SELECT seq, {_size_sql(view.shape)}, CAST(event_json AS BLOB), {view.shape.packed}
                    FROM transcript_events
                    WHERE session_id = ?1 AND (?2 IS NULL OR seq > ?2) ORDER BY seq LIMIT ?3""",
                (session_id, after_seq, PAGE_ROWS),
            )
            for seq, size_bytes, text, blob in cursor:
                decoded = text.decode("utf-8", "replace") if isinstance(text, bytes) else None
                packed = blob if isinstance(blob, bytes) else None
                page.append(TranscriptEvent(int(seq), as_number(size_bytes), decoded, packed))
                size += as_number(size_bytes)
                if size >= PAGE_BYTES:
                    break
            cursor.close(True)
        return page

    def read_embedded(self, session_id: str) -> list[bytes]:
        """Return the archives of a session that are stored inside the database."""
        with self._snapshot() as view:
            return [] if view is None else read_embedded_archives(view.db, view.shape, session_id)

    @contextmanager
    def _snapshot(self) -> Iterator[_View | None]:
        """Yield a read transaction; None if there is no database, or it has no tables."""
        try:
            inode = os.stat(self._path).st_ino
        except (FileNotFoundError, NotADirectoryError):
            inode = 0
        if inode != self._inode:
            self._inode, self._shape = inode, None
            self._built.clear()
        if not inode:
            yield None
            return
        with opened_foreign(self._path) as db:
            schema = get_int(db, "PRAGMA schema_version")
            if self._shape is None or schema != self._schema:
                self._shape, self._schema = read_shape(db), schema
            yield None if self._shape.empty else _View(db, self._shape)

    def _rows(self, view: _View, session_id: str | None) -> Iterator[SessionRow]:
        """Yield one session or all of them."""
        cold = find_cold_archives(view.db, view.shape, session_id)
        statement = write_listing(view.shape, one=session_id is not None)
        for key, *facts in view.db.execute(statement, () if session_id is None else (session_id,)):
            archives = cold.get(str(key), ())
            if not isinstance(key, str) or (facts[0] is None and not archives):
                continue
            listed = (*facts, archives)
            known = self._built.get(key)
            if known is None or known[0] != listed:
                known = self._built[key] = (listed, _build(view, key, facts, archives))
            yield known[1]


def _build(
    view: _View, session_id: str, facts: Sequence[object], cold: tuple[ColdArchive, ...]
) -> SessionRow:
    """Return a session from its row of the listing, and count its events."""
    last_seq, last_ms, changed_ms, rewritten, session_key, spawned_by, created_via = facts
    events, size = (0, 0) if last_seq is None else _measure(view, session_id)
    return SessionRow(
        session_id=session_id,
        session_key=str(session_key or ""),
        created_via=str(created_via or ""),
        spawned_by=str(spawned_by or ""),
        events=events,
        size_bytes=size,
        last_seq=max([as_number(last_seq), *(archive.last_seq for archive in cold)]),
        last_ms=as_number(last_ms) or as_number(changed_ms),
        rewritten=str(rewritten or ""),
        changed=zlib.crc32(f"{changed_ms} {rewritten} {cold}".encode()),
        cold=cold,
    )


def _size_sql(shape: Shape) -> str:
    """Return the SQL of an event's size in bytes; SQLite gets it without reading the text."""
    return f"coalesce(octet_length(event_json), {shape.packed_bytes}, 0)"


def _measure(view: _View, session_id: str) -> tuple[int, int]:
    """Return the number of a session's events and their size in bytes."""
    row = view.db.execute(
        f"SELECT count(*), coalesce(sum({_size_sql(view.shape)}), 0) FROM transcript_events WHERE session_id = ?",
        (session_id,),
    ).fetchall()[0]
    return as_number(row[0]), as_number(row[1])
