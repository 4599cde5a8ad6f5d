"""One agent's transcripts from both of OpenClaw's stores: JSONL files of older releases, and the database."""

from __future__ import annotations

from pathlib import Path

from memd.settings.agents import OPENCLAW_DATABASE
from memd.sources.discover import SourceFile
from memd.sources.openclaw_jsonl import JsonlSessions, find_session_id
from memd.sources.openclaw_sqlite import SqliteSessions
from memd.sources.read import FileText
from memd.sources.source import PREFIX, Transcripts, path_of

OUTLIVED_MS = 60_000
"""A file written so long after the last event of its session in the database has the continuation: an older release
is in use again."""


class AgentSessions:
    """One agent's transcripts; each session once."""

    def __init__(self, state_dir: Path, agent_id: str, max_file_bytes: int) -> None:
        home = state_dir / "agents" / agent_id
        database = home / "agent" / OPENCLAW_DATABASE
        self._database = str(database)
        self._jsonl = JsonlSessions(home / "sessions", max_file_bytes)
        self._sqlite = SqliteSessions(database, home / "sessions" / "cold", max_file_bytes)

    def find(self) -> Transcripts:
        """Return the transcripts of both stores; see `SessionSource.find`.

        The database decides the kind of a session, and has precedence if both have a session, unless the file is newer.
        """
        files, rows = self._jsonl.find(), self._sqlite.find()
        by_session: dict[str, list[SourceFile]] = {}
        for path, found in files.found.items():
            session_id = find_session_id(path.removeprefix(PREFIX)) or ""
            if session_id not in rows.kinds:
                by_session.setdefault(session_id, []).append(found)
        every = Transcripts(
            rows.found,
            rows.left_out,
            files.skipped + rows.skipped,
            files.problems + rows.problems,
            kinds=rows.kinds,
            complete=rows.complete,
        )
        for session_id, kind in files.kinds.items():
            if path_of(session_id) not in rows.found:
                every.leave_out(session_id, kind)
        from_files = 0
        for session_id, its_files in by_session.items():
            row = rows.found.get(path_of(session_id))
            if row is not None and not self._outlived(row, its_files):
                continue
            if row is not None:
                del every.found[row.path]
            every.found.update({found.path: found for found in its_files})
            from_files += len(its_files)
        every.by_key = {
            key: path for key, path in (files.by_key | rows.by_key).items() if path in every.found
        }
        every.eras = {"jsonl": from_files, "sqlite": len(every.found) - from_files}
        return every

    def load(self, found: SourceFile) -> FileText:
        """Return a transcript's text; see `SessionSource.load`."""
        store = self._sqlite if found.location == self._database else self._jsonl
        return store.load(found)

    def close(self) -> None:
        """Release connections and cached states."""
        self._jsonl.close()
        self._sqlite.close()

    def _outlived(self, row: SourceFile, files: list[SourceFile]) -> bool:
        """Return whether a session continued in its files after its last event in the database."""
        latest_ms = row.mtime_ns // 1_000_000 + OUTLIVED_MS
        newest = max(files, key=lambda found: found.mtime_ns)
        return newest.mtime_ns // 1_000_000 > latest_ms and self._jsonl.last_written_ms(newest) > latest_ms
