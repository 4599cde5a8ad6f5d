"""Transcripts of OpenClaw 2026.8 and later: events in the agent's database, old ones in cold archives."""

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

from memd.programs.openclaw_cold import ColdRecord, read_archive, unpack_archive
from memd.programs.openclaw_rows import ColdArchive, OpenClawSessions, SessionRow, TranscriptEvent
from memd.programs.openclaw_schema import OpenClawDatabaseError
from memd.programs.packed import decompress
from memd.programs.unreadable import being_written, describe_size, unreadable
from memd.programs.values import LATEST_MS
from memd.sources.discover import SourceFile
from memd.sources.openclaw_text import TranscriptText
from memd.sources.read import READ_TRIES, FileText
from memd.sources.source import PREFIX, Transcripts, path_of
from memd.sources.state_cache import StateCache
from memd.text.transcripts.messages import kind_of_key
from memd_client.errors import FileMissingError, FileUnreadableError
from memd_client.messages import Problem

if TYPE_CHECKING:
    from hashlib import _Hash

log = structlog.get_logger(__name__)

MAX_EVENT_BYTES = 4 * 1_048_576
"""Largest decompressed event; OpenClaw writes no larger ones."""


@dataclass(slots=True)
class SessionProgress:
    """The part of a session that was read.

    Attributes:
        talk: Its text.
        sha: Hash of the numbers and texts of all events.
        cold_sha: The same, of the archives only.
        row: The session's row when it was read; None before.
        last_seq: The last event read from the table, or None.
        size: (number, stored bytes) of the table's events up to that one.
        cold_seqs: Numbers of events read from archives.
        unpacked: Decompressed bytes of all events.
    """

    talk: TranscriptText = field(default_factory=TranscriptText)
    sha: _Hash = field(default_factory=hashlib.sha256)
    cold_sha: _Hash = field(default_factory=hashlib.sha256)
    row: SessionRow | None = None
    last_seq: int | None = None
    size: tuple[int, int] = (0, 0)
    cold_seqs: frozenset[int] = frozenset()
    unpacked: int = 0


class SessionReader:
    """Reads sessions, one page of events per transaction. Thread-safe."""

    def __init__(self, database: Path, cold: Path, max_bytes: int) -> None:
        self._path = database
        self._cold = cold
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._database = OpenClawSessions(database)
        self._recent: StateCache[SessionProgress] = StateCache()
        self._bad_cold: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"<SessionReader {self._recent!r}>"

    def bad_cold(self) -> dict[str, str]:
        """Return the transcripts whose archives couldn't be read: reasons by path."""
        return dict(self._bad_cold)

    def read(self, session_id: str, path: str) -> tuple[SessionRow, SessionProgress]:
        """Return a session's row and the text that belongs to it."""
        progress = self._recent.take(path) or SessionProgress()
        try:
            for _ in range(READ_TRIES):
                row = self._find(session_id, path)
                progress = self._read_up_to(row, progress, path)
                after = self._find(session_id, path)
                if _covers(progress, row, after):
                    progress.row = after
                    self._recent.keep(path, progress)
                    return after, progress
        except OpenClawDatabaseError as error:
            raise unreadable(
                path,
                f"can't be read from {self._path}: {error.reason}",
                "moving" if error.busy else "database",
                "search again in a moment: the next search or sync retries",
            ) from None
        self._recent.keep(path, progress)
        raise being_written(path)

    def close(self) -> None:
        """Release the connection and the cached states."""
        with self._lock:
            self._database.close()
        self._recent.clear()

    def _find(self, session_id: str, path: str) -> SessionRow:
        with self._lock:
            row = self._database.find(session_id)
        if row is None:
            raise FileMissingError(f"{path} no longer exists", data={"path": path})
        return row

    def _read_up_to(self, row: SessionRow, progress: SessionProgress, path: str) -> SessionProgress:
        """Read the rest of a session, or all of it if the part that was read has changed."""
        if progress.row == row:
            return progress
        if not self._is_continuation(row, progress, path):
            progress = SessionProgress()
            progress.talk = progress.talk.with_records(self._cold_records(row, progress, path))
        progress.talk = progress.talk.with_records(self._hot_records(row, progress, path))
        progress.row = row
        return progress

    def _is_continuation(self, row: SessionRow, progress: SessionProgress, path: str) -> bool:
        """Return whether a session has only grown since it was read: the part that was read is unchanged.

        Its events are hashed again, because an event can be rewritten in place; that is cheap compared to parsing them.
        """
        if (
            progress.row is None
            or progress.last_seq is None
            or progress.row.cold != row.cold
            or path in self._bad_cold
        ):
            return False
        sha, size, seq = progress.cold_sha.copy(), (0, 0), None
        for event in self._events(row.session_id, None):
            if event.seq > progress.last_seq:
                break
            seq = event.seq
            size = (size[0] + 1, size[1] + event.size_bytes)
            if seq not in progress.cold_seqs:
                _hash(sha, seq, _text_of(event))
        if seq != progress.last_seq or sha.digest() != progress.sha.digest():
            return False
        progress.size = size  # an event may have been compressed in place
        return True

    def _cold_records(
        self, row: SessionRow, progress: SessionProgress, path: str
    ) -> Iterator[tuple[int, str]]:
        """Yield the events of a session's archives; none if they can't be read but the table has events."""
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
        progress.cold_seqs = frozenset(record.number for record in records if record.numbered)
        for number, text, _ in records:
            self._count(progress, number, text, path)
            yield number, text
        progress.cold_sha = progress.sha.copy()

    def _hot_records(
        self, row: SessionRow, progress: SessionProgress, path: str
    ) -> Iterator[tuple[int, str]]:
        """Yield the unread events of the table."""
        for event in self._events(row.session_id, progress.last_seq):
            progress.last_seq = event.seq
            progress.size = (progress.size[0] + 1, progress.size[1] + event.size_bytes)
            if event.seq not in progress.cold_seqs:
                text = _text_of(event)
                self._count(progress, event.seq, text, path)
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

    def _count(self, progress: SessionProgress, seq: int, text: str, path: str) -> None:
        progress.unpacked += _hash(progress.sha, seq, text)
        if progress.unpacked > self._max_bytes:
            raise unreadable(path, f"is {describe_size(progress.unpacked, self._max_bytes)}", "too_big")


def _hash(sha: _Hash, seq: int, text: str) -> int:
    """Add an event to a hash; return its size in bytes."""
    data = text.encode("utf-8", "surrogatepass")
    sha.update(b"%d %d\n" % (seq, len(data)))
    sha.update(data)
    return len(data)


def _covers(progress: SessionProgress, row: SessionRow, after: SessionRow) -> bool:
    """Return whether all of a session was read, given its rows before and after reading."""
    grown = after.events > row.events and (after.cold, after.rewritten) == (row.cold, row.rewritten)
    return (after == row or grown) and progress.size == (after.events, after.size_bytes)


def _text_of(event: TranscriptEvent) -> str:
    """Return an event's JSON; empty if the event is damaged."""
    if event.packed is None:
        return event.text or ""
    try:
        return decompress(event.packed, MAX_EVENT_BYTES, f"event {event.seq}").decode("utf-8", "replace")
    except FileUnreadableError as error:
        if error.data.get("reason") == "zstd_missing":
            raise
        return ""


_KIND_OF_ORIGIN = {"cron": "cron", "internal": "internal", "spawn": "subagent"}


class SqliteSessions:
    """One agent's transcripts in OpenClaw's database."""

    def __init__(self, database: Path, cold: Path, max_file_bytes: int) -> None:
        self._database = database
        self._cold = cold
        self._max_bytes = max_file_bytes
        self._scanning = Lock()
        self._listing = OpenClawSessions(database)
        self._listed: Transcripts | None = None
        self._known: dict[str, tuple[SessionRow, str | None, SourceFile]] = {}
        self._reason = ""
        self._reader = SessionReader(database, cold, max_file_bytes)

    def __repr__(self) -> str:
        count = len(self._listed.found) if self._listed is not None else 0
        return f"<SqliteSessions {count} transcripts{', ' + self._reason if self._reason else ''}>"

    def find(self) -> Transcripts:
        """Return the current transcripts; see `SessionSource.find`."""
        with self._scanning:
            error = self._scan()
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

    def load(self, found: SourceFile) -> FileText:
        """Return a transcript's text; see `SessionSource.load`."""
        row, progress = self._reader.read(found.path.removeprefix(PREFIX).removesuffix(".jsonl"), found.path)
        fresh = self._found(row)
        self._correct(row, fresh)
        return progress.talk.file_text(progress.sha.hexdigest(), fresh.stat)

    def close(self) -> None:
        """Release both connections and the cached states."""
        with self._scanning:
            self._listing.close()
            self._known.clear()
        self._reader.close()

    # --- scanning -----------------------------------------------------------------------------------

    def _scan(self) -> OpenClawDatabaseError | None:
        """Update the list of sessions; return an error if it has to be reported."""
        try:
            rows = self._listing.list_changed()
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
        """Return the sessions of the database that are memory, and those left out."""
        listed = Transcripts()
        seen: dict[str, tuple[SessionRow, str | None, SourceFile]] = {}
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
                listed.skip(path, "its cold history is missing")
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
                    f"the cold history of {lost} sessions in {self._database} is missing from {self._cold}",
                    "restore that folder from a backup of OpenClaw; everything else is searched",
                )
            )
        return listed

    def _found(self, row: SessionRow) -> SourceFile:
        """Return a session as a discovered file.

        The database's times are in milliseconds; the digits below are a checksum of other changes: an event that is
        rewritten in place, a new archive.
        """
        sizes = [archive.size_bytes or self._cold_bytes(archive) for archive in row.cold]
        checksum = zlib.crc32(f"{row.changed} {[self._cold_bytes(archive) for archive in row.cold]}".encode())
        return SourceFile(
            path_of(row.session_id),
            str(self._database),
            min(max(row.last_ms, 0), LATEST_MS) * 1_000_000 + checksum % 1_000_000,
            row.size_bytes + sum(sizes),
            row.last_seq,
            0,
            "sessions",
            is_talk=True,
        )

    def _correct(self, row: SessionRow, fresh: SourceFile) -> None:
        """Correct a listed size, because events may be compressed in place."""
        with self._scanning:
            listed = self._listed.found.get(fresh.path) if self._listed is not None else None
            if self._listed is not None and listed is not None and listed._replace(size=fresh.size) == fresh:
                self._listed.found[fresh.path] = fresh
                self._listing.correct(row)

    def _cold_bytes(self, archive: ColdArchive) -> int:
        """Return the size of an archive's file; 0 if it is missing."""
        try:
            return os.lstat(self._cold / archive.name).st_size if archive.name else 0
        except (OSError, ValueError):
            return 0

    def _problem(self, error: OpenClawDatabaseError) -> Problem:
        return Problem(
            "openclaw_database",
            f"the sessions in {self._database} can't be read: {error.reason}; notes and older transcripts are searched",
            "upgrade memd to a release that supports this OpenClaw, or repair the file"
            if error.unknown
            else "search again in a moment: the next search retries",
        )


def _kind_of(row: SessionRow) -> str | None:
    """Return the kind of a session that isn't memory, such as `cron`; None for a conversation."""
    kind = kind_of_key(row.session_key) or _KIND_OF_ORIGIN.get(row.created_via)
    return kind or ("subagent" if row.spawned_by else None)


def _is_plain(session_id: str) -> bool:
    """Return whether a session id can be part of a path."""
    return bool(session_id) and session_id.isprintable() and "/" not in session_id
