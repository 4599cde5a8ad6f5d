"""Transcripts of OpenClaw 2026.8 and later: events in the agent's own database, old ones in cold archives."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

import structlog

from memd.index.openclaw.schema import OpenClawDatabaseError
from memd.index.openclaw.sessions import ColdArchive, OpenClawSessions, SessionRow, TranscriptEvent
from memd.sync.disk.discover import Found
from memd.sync.disk.read import READ_TRIES, FileText
from memd.sync.transcripts.cold import ColdRecord, decompress, read_archive, unpack_archive
from memd.sync.transcripts.session_source import (
    PREFIX,
    Transcripts,
    being_written,
    describe_size,
    path_of,
    unreadable,
)
from memd.sync.transcripts.talk import Recent, Talk
from memd.text.transcripts.messages import kind_of_key
from memd_client.errors import FileMissingError, FileUnreadableError
from memd_client.messages import Problem

if TYPE_CHECKING:
    from hashlib import _Hash

log = structlog.get_logger(__name__)

MAX_EVENT_BYTES = 4 * 1_048_576
"""What one event may unpack to; OpenClaw writes none that is larger."""


@dataclass(slots=True)
class Reading:
    """How far a session has been read.

    Attributes:
        talk: Its talk so far.
        sha: Of the numbers and texts of all events so far.
        cold_sha: The same, after the archives.
        row: What the session was when it was read; None before.
        last_seq: The last event of the table that was read, or None.
        size: (events of the table, their room) up to that one.
        cold_seqs: Events that were read from archives.
        unpacked: Bytes of all events so far.
    """

    talk: Talk = field(default_factory=Talk)
    sha: _Hash = field(default_factory=hashlib.sha256)
    cold_sha: _Hash = field(default_factory=hashlib.sha256)
    row: SessionRow | None = None
    last_seq: int | None = None
    size: tuple[int, int] = (0, 0)
    cold_seqs: frozenset[int] = frozenset()
    unpacked: int = 0


class SessionReader:
    """Reads sessions for any thread; the database is held for a page at a time."""

    def __init__(self, database: Path, cold: Path, max_bytes: int) -> None:
        self._path = database
        self._cold = cold
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._database = OpenClawSessions(database)
        self._recent: Recent[Reading] = Recent()
        self._bad_cold: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<SessionReader {self._recent!r}>"

    def bad_cold(self) -> dict[str, str]:
        """Return the transcripts whose archives couldn't be read, by path, with the reason."""
        return dict(self._bad_cold)

    def read(self, session_id: str, path: str) -> tuple[SessionRow, Reading]:
        """Return a session and its talk, both of one moment."""
        reading = self._recent.take(path) or Reading()
        try:
            for _ in range(READ_TRIES):
                row = self._find(session_id, path)
                reading = self._read_up_to(row, reading, path)
                after = self._find(session_id, path)
                if _covers(reading, row, after):
                    reading.row = after
                    self._recent.keep(path, reading)
                    return after, reading
        except OpenClawDatabaseError as error:
            raise unreadable(
                path,
                f"can't be read from {self._path}: {error.reason}",
                "moving" if error.busy else "database",
                "Nothing to do: the next search or sync tries again.",
            ) from None
        self._recent.keep(path, reading)
        raise being_written(path)

    def close(self) -> None:
        """Let go of the connection and of what was kept."""
        with self._lock:
            self._database.close()
        self._recent.clear()

    def _find(self, session_id: str, path: str) -> SessionRow:
        with self._lock:
            row = self._database.find(session_id)
        if row is None:
            raise FileMissingError(f"{path} is gone", data={"path": path})
        return row

    def _read_up_to(self, row: SessionRow, reading: Reading, path: str) -> Reading:
        """Return a reading of all of a session: one that goes on where that is right, else a new one."""
        if reading.row == row:
            return reading
        if not self._goes_on(row, reading, path):
            reading = Reading()
            reading.talk = reading.talk.with_records(self._cold_records(row, reading, path))
        reading.talk = reading.talk.with_records(self._hot_records(row, reading, path))
        reading.row = row
        return reading

    def _goes_on(self, row: SessionRow, reading: Reading, path: str) -> bool:
        """Return whether a session has only grown since it was read: all that was read is still there.

        Reading it again is cheap beside taking it apart, and an event can be rewritten in its place.
        """
        if (
            reading.row is None
            or reading.last_seq is None
            or reading.row.cold != row.cold
            or path in self._bad_cold
        ):
            return False
        sha, size, seq = reading.cold_sha.copy(), (0, 0), None
        for event in self._events(row.session_id, None):
            if event.seq > reading.last_seq:
                break
            seq = event.seq
            size = (size[0] + 1, size[1] + event.size_bytes)
            if seq not in reading.cold_seqs:
                _hash(sha, seq, _text_of(event))
        if seq != reading.last_seq or sha.digest() != reading.sha.digest():
            return False
        reading.size = size  # an event may have been compressed where it stands
        return True

    def _cold_records(self, row: SessionRow, reading: Reading, path: str) -> Iterator[tuple[int, str]]:
        """Yield the events of a session's archives; where they can't be read, what is hot is all there is."""
        records: list[ColdRecord] = []
        try:
            if any(archive.embedded for archive in row.cold):
                with self._lock:
                    frames = self._database.read_embedded(row.session_id)
                for frame in frames:
                    records += unpack_archive(frame, path, self._max_bytes)
            for archive in row.cold:
                if not archive.embedded:
                    records += read_archive(self._cold, archive, self._max_bytes)
            self._bad_cold.pop(path, None)
        except FileUnreadableError as error:
            if not row.events:
                raise
            self._bad_cold[path] = error.message
        reading.cold_seqs = frozenset(record.number for record in records if record.numbered)
        for number, text, _ in records:
            self._count(reading, number, text, path)
            yield number, text
        reading.cold_sha = reading.sha.copy()

    def _hot_records(self, row: SessionRow, reading: Reading, path: str) -> Iterator[tuple[int, str]]:
        """Yield the events of the table that weren't read yet."""
        for event in self._events(row.session_id, reading.last_seq):
            reading.last_seq = event.seq
            reading.size = (reading.size[0] + 1, reading.size[1] + event.size_bytes)
            if event.seq not in reading.cold_seqs:
                text = _text_of(event)
                self._count(reading, event.seq, text, path)
                yield event.seq, text

    def _events(self, session_id: str, after_seq: int | None) -> Iterator[TranscriptEvent]:
        """Yield the events of the table after a number, page by page."""
        while True:
            with self._lock:
                page = self._database.read_events(session_id, after_seq)
            if not page:
                return
            yield from page
            after_seq = page[-1].seq

    def _count(self, reading: Reading, seq: int, text: str, path: str) -> None:
        reading.unpacked += _hash(reading.sha, seq, text)
        if reading.unpacked > self._max_bytes:
            raise unreadable(path, f"is {describe_size(reading.unpacked, self._max_bytes)}", "too_big")


def _hash(sha: _Hash, seq: int, text: str) -> int:
    """Take an event into a hash; return how many bytes it has."""
    data = text.encode("utf-8", "surrogatepass")
    sha.update(b"%d %d\n" % (seq, len(data)))
    sha.update(data)
    return len(data)


def _covers(reading: Reading, row: SessionRow, after: SessionRow) -> bool:
    """Return whether a reading is all of a session as it is after it was read: unmoved, or grown and all seen."""
    grown = after.events > row.events and (after.cold, after.rewritten) == (row.cold, row.rewritten)
    return (after == row or grown) and reading.size == (after.events, after.size_bytes)


def _text_of(event: TranscriptEvent) -> str:
    """Return an event's JSON; one that is damaged is nothing, and ends nothing."""
    if event.packed is None:
        return event.text or ""
    try:
        return decompress(event.packed, MAX_EVENT_BYTES, f"event {event.seq}").decode("utf-8", "replace")
    except FileUnreadableError as error:
        if error.data.get("reason") == "zstd_missing":
            raise
        return ""


_LATEST_MS = 9_000_000_000_000
"""The year 2255: later moments don't fit the index's nanoseconds."""

_KIND_OF_ORIGIN = {"cron": "cron", "internal": "internal", "spawn": "subagent"}


class SqliteSessions:
    """One agent's transcripts in OpenClaw's database."""

    def __init__(self, database: Path, cold: Path, max_file_bytes: int) -> None:
        self._database = database
        self._cold = cold
        self._max_bytes = max_file_bytes
        self._finding = Lock()
        self._listing = OpenClawSessions(database)
        self._listed: Transcripts | None = None
        self._known: dict[str, tuple[SessionRow, str | None, Found]] = {}
        self._reason = ""
        self._reader = SessionReader(database, cold, max_file_bytes)

    def __repr__(self) -> str:
        count = len(self._listed.found) if self._listed is not None else 0
        return f"<SqliteSessions {count} transcripts{', ' + self._reason if self._reason else ''}>"

    def find(self) -> Transcripts:
        """Return the transcripts there are now; see `SessionSource.find`."""
        with self._finding:
            error = self._look()
            listed = self._listed or Transcripts()
            found = Transcripts(
                dict(listed.found),
                dict(listed.left_out),
                list(listed.skipped),
                list(listed.problems),
                {"sqlite": len(listed.found)},
                dict(listed.kinds),
                dict(listed.by_key),
            )
            if error is not None:
                found.problems.append(self._problem(error))
                found.complete = error.unknown or self._listed is not None
        for path, reason in self._reader.bad_cold().items():
            if path in found.found:
                found.skip(path + " (cold history)", reason)
        return found

    def load(self, found: Found) -> FileText:
        """Return a transcript's talk; see `SessionSource.load`."""
        row, reading = self._reader.read(found.path.removeprefix(PREFIX).removesuffix(".jsonl"), found.path)
        fresh = self._found(row)
        self._correct(row, fresh)
        return reading.talk.file_text(
            reading.sha.hexdigest(), fresh.mtime_ns, fresh.size, fresh.inode, fresh.ctime_ns
        )

    def close(self) -> None:
        """Let go of both connections and of what was kept."""
        with self._finding:
            self._listing.close()
            self._known.clear()
        self._reader.close()

    # --- finding ------------------------------------------------------------------------------------

    def _look(self) -> OpenClawDatabaseError | None:
        """List what changed; return an error that is to be reported."""
        try:
            rows = self._listing.look()
        except OpenClawDatabaseError as error:
            if error.unknown:
                self._listed = None
            if error.reason != self._reason:
                log.warning(
                    "sync.openclaw_database_unreadable", database=str(self._database), reason=error.reason
                )
            self._reason = error.reason
            return error if error.unknown or not error.busy or self._listed is None else None
        self._reason = ""
        if rows is not None:
            self._listed = self._list(rows)
        return None

    def _list(self, rows: list[SessionRow]) -> Transcripts:
        """Return the sessions of the database that are memory, and what is left out."""
        listed = Transcripts()
        seen: dict[str, tuple[SessionRow, str | None, Found]] = {}
        lost = 0
        for row in rows:
            path = path_of(row.session_id)
            known = self._known.get(row.session_id)
            if known is None or known[0] is not row or row.cold:
                known = (row, _kind_of(row), self._found(row))
            seen[row.session_id] = known
            kind, found = known[1:]
            missing = any(not archive.embedded and not self._cold_bytes(archive) for archive in row.cold)
            lost += missing and kind is None
            if not _is_plain(row.session_id):
                listed.skip(path, "its session id can't be part of a path")
            elif kind is not None:
                listed.leave_out(row.session_id, kind)
            elif found.size > self._max_bytes:
                listed.skip(path, describe_size(found.size, self._max_bytes))
            elif missing and not row.events:
                listed.skip(path, "its cold history can't be found")
            else:
                listed.found[path] = found
                last = listed.found.get(listed.by_key.get(row.session_key, ""))
                if row.session_key and (last is None or found.mtime_ns >= last.mtime_ns):
                    listed.by_key[row.session_key] = path
        self._known = seen
        if lost:
            listed.problems.append(
                Problem(
                    "openclaw_database",
                    f"the cold history of {lost} sessions that {self._database} speaks of isn't in {self._cold}",
                    "Restore that folder from a backup of OpenClaw; everything else is searched.",
                )
            )
        return listed

    def _found(self, row: SessionRow) -> Found:
        """Return a session as discovery sees it.

        The digits below the millisecond, the database's resolution, are a checksum of what else changes when
        a transcript does: an event that is rewritten in its place, an archive that appears.
        """
        sizes = [archive.size_bytes or self._cold_bytes(archive) for archive in row.cold]
        moved = zlib.crc32(f"{row.changed} {[self._cold_bytes(archive) for archive in row.cold]}".encode())
        return Found(
            path_of(row.session_id),
            str(self._database),
            min(max(row.last_ms, 0), _LATEST_MS) * 1_000_000 + moved % 1_000_000,
            row.size_bytes + sum(sizes),
            row.last_seq,
            0,
            "sessions",
        )

    def _correct(self, row: SessionRow, fresh: Found) -> None:
        """Correct a listed size: events may be compressed in place."""
        with self._finding:
            listed = self._listed.found.get(fresh.path) if self._listed is not None else None
            if self._listed is not None and listed is not None and listed._replace(size=fresh.size) == fresh:
                self._listed.found[fresh.path] = fresh
                self._listing.correct(row)

    def _cold_bytes(self, archive: ColdArchive) -> int:
        """Return the size of an archive's file; 0 where there is none."""
        try:
            return os.lstat(self._cold / archive.name).st_size if archive.name else 0
        except (OSError, ValueError):
            return 0

    def _problem(self, error: OpenClawDatabaseError) -> Problem:
        return Problem(
            "openclaw_database",
            f"the sessions in {self._database} can't be read: {error.reason}; notes and older transcripts are searched",
            "Upgrade memd to a release that knows this OpenClaw, or mend the file; nothing is lost meanwhile."
            if error.unknown
            else "Nothing to do: the next search tries again.",
        )


def _kind_of(row: SessionRow) -> str | None:
    """Return what kind of session it is that is no memory, or None for a conversation."""
    kind = kind_of_key(row.session_key) or _KIND_OF_ORIGIN.get(row.created_via)
    return kind or ("subagent" if row.spawned_by else None)


def _is_plain(session_id: str) -> bool:
    """Return whether a session id can be part of a path."""
    return bool(session_id) and session_id.isprintable() and "/" not in session_id
