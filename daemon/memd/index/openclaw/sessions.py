"""Sessions and their events in OpenClaw's own database, cold archives included; only read."""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import apsw

from memd.index.database import Database, connect_read_only, get_int
from memd.index.openclaw.schema import (
    COLD,
    OpenClawDatabaseError,
    Shape,
    as_number,
    check_version,
    quoted,
    read_shape,
    write_listing,
)

_ENDING = ".jsonl.zst"
_HEX = frozenset("0123456789abcdef")


@dataclass(frozen=True, slots=True)
class ColdArchive:
    """Where a part of a session is that was moved out of the table of events.

    Attributes:
        name: The file's name in the folder `cold`; empty where it isn't a file, or can't be made out.
        embedded: Whether the archive is kept inside the database.
        last_seq: Number of its last event; 0 where it isn't said.
        size_bytes: How much it holds; 0 where it isn't said.
    """

    name: str
    embedded: bool
    last_seq: int
    size_bytes: int


def find_cold_archives(
    db: Database, shape: Shape, session_id: str | None
) -> dict[str, tuple[ColdArchive, ...]]:
    """Return where cold events are, by session, the oldest first."""
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
    for key, inside, *values in db.execute(statement, () if session_id is None else (session_id,)):
        known = dict(zip(shape.cold_facts, values, strict=True))
        last_seq = max([as_number(value) for name, value in known.items() if "seq" in name], default=0)
        name = "" if inside else _name_of(known)
        archive = ColdArchive(name, bool(inside), last_seq, as_number(known.get("raw_bytes")))
        found.setdefault(str(key), []).append(archive)
    return {key: tuple(sorted(parts, key=lambda part: part.last_seq)) for key, parts in found.items()}


def read_embedded_archives(db: Database, shape: Shape, session_id: str) -> list[bytes]:
    """Return the archives of a session that are kept inside the database."""
    if not shape.cold_id or not shape.cold_blobs:
        return []
    columns = ", ".join(map(quoted, shape.cold_blobs))
    rows = db.execute(f"SELECT {columns} FROM {COLD} WHERE {shape.cold_id} = ?", (session_id,))
    return [value for row in rows for value in row if isinstance(value, bytes)]


def _name_of(known: dict[str, object]) -> str:
    """Return the name of an archive's file, without its folders; often that is a hash in a column beside it."""
    texts = [
        value.replace("\\", "/").rpartition("/")[2]
        for value in known.values()
        if isinstance(value, str) and "\0" not in value
    ]
    named = [text for text in texts if text.endswith(_ENDING) and len(text) > len(_ENDING)]
    hashes = [text + _ENDING for text in texts if len(text) == 64 and set(text) <= _HEX]
    return next(iter(named + hashes), "")


BUSY_MS = 100
"""How long a read waits for a lock. Readers of a write-ahead log hardly ever meet one."""

PAGE_ROWS = 256
PAGE_BYTES = 1_048_576
"""Where a page of events ends: so much is read at once, then OpenClaw may fold its log."""

_Facts = tuple[object, ...]
"""A session's row of the listing: while it is the same, its events are not counted again."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session with a transcript.

    Attributes:
        session_id: Its id.
        session_key: What it belongs to: `agent:main:main`, `agent:main:cron:...`; may be empty.
        created_via: Who opened it; may be empty.
        spawned_by: The session that started it, else empty.
        events: How many events the table of events has of it.
        size_bytes: Their size there in bytes, compressed or not.
        last_seq: The number of the last one, cold ones included.
        last_ms: When it was written, or where all events are cold, when the session last changed.
        rewritten: Moves when OpenClaw rewrote what it had already written, where it says so.
        changed: Moves with every change OpenClaw notes.
        cold: Parts of it that were moved out, the oldest first.
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


@dataclass(frozen=True, slots=True)
class TranscriptEvent:
    """One event as it is stored: `text`, or `packed` as a Zstandard frame, or neither where it is damaged."""

    seq: int
    size_bytes: int
    text: str | None
    packed: bytes | None


class _View(NamedTuple):
    """One state of the database, and what its release calls things."""

    db: Database
    shape: Shape


class OpenClawSessions:
    """One connection to the database, opened when it is needed. Used by one thread at a time.

    Every method raises OpenClawDatabaseError where the database can't be read now, or not at all.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._db: Database | None = None
        self._identity: tuple[int, int] | None = None
        self._shape: Shape | None = None
        self._schema = self._seen = -1
        self._built: dict[str, tuple[_Facts, SessionRow]] = {}

    def __repr__(self) -> str:
        return f"<OpenClawSessions {'open' if self._db is not None else 'closed'}>"

    def look(self) -> list[SessionRow] | None:
        """Return all sessions with a transcript, or None where nothing was committed since the last look."""
        with self._snapshot() as view:
            if view is None:
                return []
            version = get_int(view.db, "PRAGMA data_version")
            if version == self._seen:
                return None
            check_version(view.db)
            rows = list(self._rows(view, None))
            self._built = {row.session_id: self._built[row.session_id] for row in rows}
            self._seen = version
            return rows

    def find(self, session_id: str) -> SessionRow | None:
        """Return one session as it is now, or None where there is none."""
        with self._snapshot() as view:
            if view is None:
                return None
            check_version(view.db)
            self._built.pop(session_id, None)
            return next(iter(list(self._rows(view, session_id))), None)

    def correct(self, row: SessionRow) -> None:
        """Take over a session's size as another connection has just seen it."""
        known = self._built.get(row.session_id)
        if known is not None:
            self._built[row.session_id] = (
                known[0],
                replace(known[1], events=row.events, size_bytes=row.size_bytes),
            )

    def read_events(self, session_id: str, after_seq: int | None) -> list[TranscriptEvent]:
        """Return the next events of a session, some at a time; none where there are no more."""
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
                said = text.decode("utf-8", "replace") if isinstance(text, bytes) else None
                packed = blob if isinstance(blob, bytes) else None
                page.append(TranscriptEvent(int(seq), as_number(size_bytes), said, packed))
                size += as_number(size_bytes)
                if size >= PAGE_BYTES:
                    break
            cursor.close(True)
        return page

    def read_embedded(self, session_id: str) -> list[bytes]:
        """Return the archives of a session that are kept inside the database."""
        with self._snapshot() as view:
            return [] if view is None else read_embedded_archives(view.db, view.shape, session_id)

    def close(self) -> None:
        """Close the connection; the next call opens one again."""
        db, self._db = self._db, None
        self._identity = self._shape = None
        self._schema = self._seen = -1
        self._built.clear()
        if db is not None:
            db.close(True)

    # --- one short read -----------------------------------------------------------------------------

    @contextmanager
    def _snapshot(self) -> Iterator[_View | None]:
        """Run a block on one state of the database; None where there is none, or no table in it."""
        try:
            db = self._connect()
            if db is None:
                yield None
                return
            db.execute("BEGIN")
            try:
                shape = self._known_shape(db)
                yield None if shape.empty else _View(db, shape)
            finally:
                if db.in_transaction:
                    db.execute("COMMIT")
        except (apsw.BusyError, apsw.LockedError):
            raise OpenClawDatabaseError("OpenClaw holds it locked", busy=True) from None
        except UnicodeDecodeError:
            raise OpenClawDatabaseError("it holds text that is no UTF-8") from None
        except (apsw.NotADBError, apsw.CorruptError) as error:
            self.close()
            raise OpenClawDatabaseError(f"it is damaged ({type(error).__name__})", unknown=True) from None
        except apsw.SQLError:
            self.close()
            raise OpenClawDatabaseError("its tables aren't those this release knows", unknown=True) from None
        except apsw.Error as error:
            self.close()
            raise OpenClawDatabaseError(f"it can't be read ({type(error).__name__})") from None

    def _connect(self) -> Database | None:
        """Return the connection to the file that is there now, or None where there is none."""
        try:
            facts = os.lstat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            self.close()
            return None
        except OSError as error:
            self.close()
            raise OpenClawDatabaseError(f"it can't be read: {error.strerror}") from None
        if not stat.S_ISREG(facts.st_mode):
            self.close()
            raise OpenClawDatabaseError("it is a link or no file, and links are not followed", unknown=True)
        if self._db is None or (facts.st_dev, facts.st_ino) != self._identity:
            self.close()
            self._db = connect_read_only(self._path)
            self._db.set_busy_timeout(BUSY_MS)
            self._identity = (facts.st_dev, facts.st_ino)
        return self._db

    def _known_shape(self, db: Database) -> Shape:
        """Return the shape of the database, read again where its tables changed."""
        schema = get_int(db, "PRAGMA schema_version")
        if self._shape is None or schema != self._schema:
            self._shape, self._schema = read_shape(db), schema
        return self._shape

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
    """Return a session out of what the listing tells of it; its events are counted."""
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
    """Return the SQL of an event's size in bytes; a length is read without its text."""
    return f"coalesce(octet_length(event_json), {shape.packed_bytes}, 0)"


def _measure(view: _View, session_id: str) -> tuple[int, int]:
    """Return how many events a session has, and their size in bytes."""
    row = view.db.execute(
        f"SELECT count(*), coalesce(sum({_size_sql(view.shape)}), 0) FROM transcript_events WHERE session_id = ?",
        (session_id,),
    ).fetchall()[0]
    return as_number(row[0]), as_number(row[1])
