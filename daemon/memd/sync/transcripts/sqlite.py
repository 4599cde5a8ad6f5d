"""Transcripts of OpenClaw 2026.8 and later: events in the agent's own database, old ones in cold archives."""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from threading import Lock

import structlog

from memd.index.openclaw.cold import ColdArchive
from memd.index.openclaw.schema import OpenClawDatabaseError
from memd.index.openclaw.sessions import OpenClawSessions, SessionRow
from memd.sync.disk.discover import Found
from memd.sync.disk.read import FileText
from memd.sync.transcripts.session_reader import SessionReader
from memd.sync.transcripts.session_source import PREFIX, Transcripts, describe_size, path_of
from memd.text.transcripts.messages import kind_of_key
from memd_client.messages import Problem

log = structlog.get_logger(__name__)

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
        return FileText(
            reading.talk.text,
            reading.sha.hexdigest(),
            fresh.mtime_ns,
            fresh.size,
            fresh.inode,
            fresh.ctime_ns,
            tuple(reading.talk.numbers),
            reading.talk.redactions,
            reading.talk.resets,
        )

    def close(self) -> None:
        """Let go of both connections and of what was kept."""
        with self._finding:
            self._listing.close()
            self._known.clear()
        self._reader.close()

    # --- finding ------------------------------------------------------------------------------------

    def _look(self) -> OpenClawDatabaseError | None:
        """List anew what changed; return what is wrong, where it should be told."""
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

        Below the millisecond, which is all the database knows of time, stands a checksum of what else changes when
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
        """Let the listing know a size that moved by itself: events may be compressed where they stand."""
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
        """Return what is wrong with the database, and the way out."""
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
