"""Conversations of OpenClaw 2026.8 and later: events in the agent's database, old ones in cold archives."""

from __future__ import annotations

import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from memd.programs.catalog import OPENCLAW_SOURCE
from memd.programs.conversation import Conversation
from memd.programs.openclaw import OpenClawReader
from memd.programs.openclaw_cold import ColdRecord, read_archive, unpack_archive
from memd.programs.openclaw_rows import ColdArchive, OpenClawSessions, SessionRow, TranscriptEvent
from memd.programs.packed import decompress
from memd.programs.program import ConversationDatabase, StoredSession
from memd.programs.unreadable import being_written, describe_size, unreadable
from memd.programs.values import LATEST_MS
from memd.programs.work import WorkLog
from memd.system.lru import LruCache
from memd.text.transcripts.messages import kind_of_key
from memd_client.errors import FileUnreadableError
from memd_client.messages import Problem

if TYPE_CHECKING:
    from hashlib import _Hash

MAX_EVENT_BYTES: Final = 4 * 1_048_576
"""Largest decompressed event; OpenClaw writes no larger ones."""

READ_TRIES: Final = 3
"""Attempts to read a session that changes while it is read, before it is left to the next sync."""

RECENT_SESSIONS: Final = 4
"""Sessions whose state is cached, so that only further events are parsed."""

_KIND_OF_ORIGIN: Final = {"cron": "cron", "internal": "internal", "spawn": "subagent"}


class _Progress(Struct):
    """The part of a session that was read.

    Attributes:
        reader: The reader that was fed it.
        sha: Hash of the numbers and texts of all events.
        cold_sha: The same, of the archives only.
        row: The session's row when it was read; None before.
        last_seq: The last event read from the table, or None.
        size: (number, stored bytes) of the table's events up to that one.
        cold_seqs: Numbers of events read from archives.
        unpacked: Decompressed bytes of all events.
        warning: Why archives can't be read; empty if they can.
    """

    reader: OpenClawReader
    sha: _Hash = field(default_factory=hashlib.sha256)
    cold_sha: _Hash = field(default_factory=hashlib.sha256)
    row: SessionRow | None = None
    last_seq: int | None = None
    size: tuple[int, int] = (0, 0)
    cold_seqs: frozenset[int] = frozenset()
    unpacked: int = 0
    warning: str = ""


class OpenClawAgentDatabase(ConversationDatabase):
    """An agent's database of OpenClaw.

    Args:
        path: The database.
        max_bytes: Most decompressed bytes of a session.
    """

    problem_code = "openclaw_database"
    hint = "upgrade memd to a release that supports this OpenClaw, or repair the file"
    keeps_facts = False
    has_work = True

    def __init__(self, path: Path, max_bytes: int) -> None:
        self._path = path
        self._cold = path.parent.parent / OPENCLAW_SOURCE / "cold"
        self._max_bytes = max_bytes
        self._listing, self._reading = OpenClawSessions(path), OpenClawSessions(path)
        self._recent: LruCache[str, _Progress] = LruCache(RECENT_SESSIONS)

    def __repr__(self) -> str:
        return f"<OpenClawAgentDatabase {self._path}, {len(self._recent)} sessions cached>"

    def sessions(self) -> list[StoredSession]:
        """Return all sessions with events; see `ConversationDatabase.sessions`."""
        found, lost = [], 0
        for row in self._listing.list_all():
            kind = _kind_of(row)
            is_missing = any(not archive.embedded and not self._cold_bytes(archive) for archive in row.cold)
            lost += is_missing and kind == "main"
            problem = "its cold history is missing" if is_missing and not row.events else ""
            found.append(
                StoredSession(
                    row.session_id, self._stat(row), kind, row.last_seq + 1, row.session_key, problem
                )
            )
        self.problems = [] if not lost else [self._lost_history(lost)]
        return found

    def read(self, session_id: str) -> Conversation | None:
        """Return a conversation; see `ConversationDatabase.read`. Each page of events is one transaction."""
        progress = self._recent.take(session_id) or _Progress(OpenClawReader(session_id, WorkLog()))
        for _ in range(READ_TRIES):
            row = self._reading.find(session_id)
            if row is None:
                return None
            progress = self._read_up_to(row, progress)
            after = self._reading.find(session_id)
            if after is None:
                return None
            if _covers(progress, row, after):
                progress.row = after
                self._recent.put(session_id, progress)
                conversation = progress.reader.conversation()
                conversation.digest, conversation.warning = progress.sha.hexdigest(), progress.warning
                if (log := progress.reader.work) is not None:
                    conversation.work, conversation.fetches = log.steps, log.fetches
                return conversation
        self._recent.put(session_id, progress)
        raise being_written(self._shown(session_id))

    def close(self) -> None:
        """Forget the cached states."""
        self._recent.clear()
        self.problems = ()

    def name_of(self, session_id: str) -> str:
        """Return the name that the session's file had in older releases."""
        is_plain = bool(session_id) and session_id.isprintable() and "/" not in session_id
        return f"{session_id}.jsonl" if is_plain else ""

    @staticmethod
    def _shown(session_id: str) -> str:
        return f"sessions/{session_id}.jsonl"

    def _stat(self, row: SessionRow) -> tuple[int, int, int, int]:
        """Return the stat of a session.

        The database's times are in milliseconds; the digits below are a checksum of other changes: an event that is
        rewritten in place, a new archive.
        """
        sizes = [archive.size_bytes or self._cold_bytes(archive) for archive in row.cold]
        checksum = zlib.crc32(f"{row.changed} {[self._cold_bytes(archive) for archive in row.cold]}".encode())
        time_ns = min(max(row.last_ms, 0), LATEST_MS) * 1_000_000 + checksum % 1_000_000
        return time_ns, row.size_bytes + sum(sizes), row.last_seq, 0

    def _cold_bytes(self, archive: ColdArchive) -> int:
        """Return the size of an archive's file; 0 if it is missing."""
        try:
            return os.lstat(self._cold / archive.name).st_size if archive.name else 0
        except (OSError, ValueError):
            return 0

    def _lost_history(self, lost: int) -> Problem:
        return Problem(
            self.problem_code,
            f"the cold history of {lost} sessions in {self._path} is missing from {self._cold}",
            "restore that folder from a backup of OpenClaw; everything else is searched",
        )

    # --- one session --------------------------------------------------------------------------------

    def _read_up_to(self, row: SessionRow, progress: _Progress) -> _Progress:
        """Read the rest of a session, or all of it if the part that was read has changed."""
        if progress.row == row:
            return progress
        if not self._is_continuation(row, progress):
            progress = _Progress(OpenClawReader(row.session_id, WorkLog()))
            for record in self._cold_records(row, progress):
                self._feed(progress, record.number, record.text)
            progress.cold_sha = progress.sha.copy()
        for event in self._events(row.session_id, progress.last_seq):
            progress.last_seq = event.seq
            progress.size = (progress.size[0] + 1, progress.size[1] + event.size_bytes)
            if event.seq not in progress.cold_seqs:
                self._feed(progress, event.seq, _text_of(event))
        progress.row = row
        return progress

    def _is_continuation(self, row: SessionRow, progress: _Progress) -> bool:
        """Return whether a session has only grown since it was read: the part that was read is unchanged.

        Its events are hashed again, because an event can be rewritten in place; that is cheap compared to parsing them.
        """
        if (
            progress.row is None
            or progress.last_seq is None
            or progress.row.cold != row.cold
            or progress.warning
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

    def _cold_records(self, row: SessionRow, progress: _Progress) -> list[ColdRecord]:
        """Return the events of a session's archives; none if they can't be read but the table has events."""
        records: list[ColdRecord] = []
        try:
            if any(archive.embedded for archive in row.cold):
                for frame in self._reading.read_embedded(row.session_id):
                    records += unpack_archive(frame, self._shown(row.session_id), self._max_bytes)
            for archive in row.cold:
                if not archive.embedded:
                    records += read_archive(self._cold, archive, self._max_bytes)
        except FileUnreadableError as error:
            if not row.events:
                raise
            progress.warning = error.message
        progress.cold_seqs = frozenset(record.number for record in records if record.numbered)
        return records

    def _events(self, session_id: str, after_seq: int | None) -> Iterator[TranscriptEvent]:
        """Yield the events of the table after a number, page by page."""
        while page := self._reading.read_events(session_id, after_seq):
            yield from page
            after_seq = page[-1].seq

    def _feed(self, progress: _Progress, seq: int, text: str) -> None:
        """Feed an event to the reader."""
        progress.unpacked += _hash(progress.sha, seq, text)
        if progress.unpacked > self._max_bytes:
            too_big = f"is {describe_size(progress.unpacked, self._max_bytes)}"
            raise unreadable(self._shown(progress.reader.conversation().session.id), too_big, "too_big")
        progress.reader.read_record(text, seq)


def _hash(sha: _Hash, seq: int, text: str) -> int:
    """Add an event to a hash; return its size in bytes."""
    data = text.encode("utf-8", "surrogatepass")
    sha.update(b"%d %d\n" % (seq, len(data)))
    sha.update(data)
    return len(data)


def _covers(progress: _Progress, row: SessionRow, after: SessionRow) -> bool:
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


def _kind_of(row: SessionRow) -> str:
    """Return the kind of a session: `main` for a conversation, `cron` and others for what isn't memory."""
    kind = kind_of_key(row.session_key) or _KIND_OF_ORIGIN.get(row.created_via)
    return kind or ("subagent" if row.spawned_by else "main")
