"""One session of OpenClaw's database, read page by page, and gone on with where it has only grown."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from memd.index.openclaw.schema import OpenClawDatabaseError
from memd.index.openclaw.sessions import Event, OpenClawSessions, SessionRow
from memd.sync.disk.read import READ_TRIES
from memd.sync.transcripts.cold import ColdRecord, read_archive, unpack_archive
from memd.sync.transcripts.session_source import describe_size
from memd.sync.transcripts.talk import Recent, Talk
from memd.sync.transcripts.zstd import decompress
from memd_client.errors import FileMissingError, FileUnreadableError

if TYPE_CHECKING:
    from hashlib import _Hash

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
            raise FileUnreadableError(
                f"{path} can't be read from {self._path}: {error.reason}",
                hint="Nothing to do: the next search or sync tries again.",
                data={"path": path, "reason": "moving" if error.busy else "database"},
            ) from None
        self._recent.keep(path, reading)
        raise FileUnreadableError(
            f"{path} is being written to; it is read again with the next change",
            hint="Nothing to do: the next search or sync reads it.",
            data={"path": path, "reason": "moving"},
        )

    def close(self) -> None:
        """Let go of the connection and of what was kept."""
        with self._lock:
            self._database.close()
        self._recent.clear()

    def _find(self, session_id: str, path: str) -> SessionRow:
        """Return a session as it is now."""
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
        """Return whether a session has only grown since it was read: all that was read still stands there.

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

    def _events(self, session_id: str, after_seq: int | None) -> Iterator[Event]:
        """Yield the events of the table after a number, page by page."""
        while True:
            with self._lock:
                page = self._database.read_events(session_id, after_seq)
            if not page:
                return
            yield from page
            after_seq = page[-1].seq

    def _count(self, reading: Reading, seq: int, text: str, path: str) -> None:
        """Count an event in."""
        reading.unpacked += _hash(reading.sha, seq, text)
        if reading.unpacked > self._max_bytes:
            raise FileUnreadableError(
                f"{path} is {describe_size(reading.unpacked, self._max_bytes)}",
                data={"path": path, "reason": "too_big"},
            )


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


def _text_of(event: Event) -> str:
    """Return an event's JSON; one that is damaged is nothing, and ends nothing."""
    if event.packed is None:
        return event.text or ""
    try:
        return decompress(event.packed, MAX_EVENT_BYTES, f"event {event.seq}").decode("utf-8", "replace")
    except FileUnreadableError as error:
        if error.data.get("reason") == "zstd_missing":
            raise
        return ""
