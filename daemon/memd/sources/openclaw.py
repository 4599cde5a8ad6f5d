"""An agent's conversations from both of OpenClaw's stores: files of older releases, and the database."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from threading import Lock

from memd.programs.catalog import OPENCLAW_SOURCE
from memd.programs.conversation import Conversation
from memd.programs.openclaw import READER, find_session_id, last_record_ms
from memd.programs.openclaw_database import OpenClawAgentDatabase
from memd.settings.agents import OPENCLAW_DATABASE
from memd.sources.conversations import ConversationFiles
from memd.sources.databases import ConversationDatabases
from memd.sources.source import FileText, Listing, Source, SourceFile
from memd.sources.watch.queue import UNWATCHED, Unwatched
from memd.system.safe_open import FileStat

OUTLIVED_MS = 60_000
"""A file written so long after the last event of its session in the database has the continuation: an older release
is in use again."""

PREFIX = f"{OPENCLAW_SOURCE}/"


class OpenClawConversations(Source):
    """One agent's conversations; each session once.

    Args:
        state_dir: OpenClaw's state directory.
        agent_id: The agent.
        max_bytes: Larger conversations are skipped.
        watches: Report changes of the files and of the database.
        with_work: Whether the agent's work is indexed.
    """

    name = OPENCLAW_SOURCE
    is_conversation = True

    def __init__(
        self,
        state_dir: Path,
        agent_id: str,
        max_bytes: int,
        watches: tuple[Unwatched, Unwatched] = (UNWATCHED, UNWATCHED),
        *,
        with_work: bool = False,
    ) -> None:
        home = state_dir / "agents" / agent_id
        database = home / "agent" / OPENCLAW_DATABASE
        self._database = str(database)
        self._files = ConversationFiles(
            self.name,
            READER,
            [home / OPENCLAW_SOURCE],
            watch=watches[0],
            max_bytes=max_bytes,
            opened_from=str(home),
            with_work=with_work,
        )
        self._rows = ConversationDatabases(
            self.name,
            partial(OpenClawAgentDatabase, max_bytes=max_bytes),
            [database],
            watch=watches[1],
            max_bytes=max_bytes,
            with_work=with_work,
        )
        self.inner = self._files, self._rows
        self._lock = Lock()
        self._parts: tuple[Listing, Listing] | None = None
        self._merged = Listing()

    def __repr__(self) -> str:
        return f"<OpenClawConversations {self._files!r}, {self._rows!r}>"

    def find(self) -> Listing:
        """Return the conversations of both stores; see `Source.find`."""
        files, rows = self._files.find(), self._rows.find()
        with self._lock:
            if self._parts is None or self._parts[0] is not files or self._parts[1] is not rows:
                self._merged = self._merge(files, rows)
                self._parts = files, rows
            return self._merged

    def load(self, found: SourceFile) -> FileText:
        """Return a conversation's text; see `Source.load`."""
        return self._store_of(found).load(found)

    def load_work(self, found: SourceFile) -> Conversation | None:
        """Return a conversation with the agent's work; see `Source.load_work`."""
        return self._store_of(found).load_work(found)

    def growth(self, found: SourceFile, indexed: FileStat | None) -> tuple[int, int] | None:
        """Return by how much a conversation grew; see `Source.growth`."""
        return self._store_of(found).growth(found, indexed)

    def close(self) -> None:
        """Release connections and cached states."""
        self._files.close()
        self._rows.close()

    def _store_of(self, found: SourceFile) -> Source:
        return self._rows if found.location == self._database else self._files

    def _merge(self, files: Listing, rows: Listing) -> Listing:
        """Return one listing.

        The database decides the kind of a session, and has precedence if both have a session, unless the file is newer.
        """
        by_session: dict[str, list[SourceFile]] = {}
        for path, found in files.files.items():
            session_id = find_session_id(path.removeprefix(PREFIX)) or ""
            if session_id not in rows.kinds:
                by_session.setdefault(session_id, []).append(found)
        merged = Listing(
            rows.files.copy(),
            files.skipped + rows.skipped,
            problems=rows.problems,
            excluded=rows.excluded.copy(),
            kinds=rows.kinds.copy(),
            unseen=rows.unseen,
        )
        for session_id, kind in files.kinds.items():
            if f"{PREFIX}{session_id}.jsonl" not in rows.files:
                merged.leave_out(session_id, kind)
        from_files = 0
        for session_id, its_files in by_session.items():
            row = rows.files.get(f"{PREFIX}{session_id}.jsonl")
            if row is not None and not self._is_outlived(row, its_files):
                continue
            if row is not None:
                del merged.files[row.path]
            merged.files.update({found.path: found for found in its_files})
            from_files += len(its_files)
        by_key = files.by_key | rows.by_key
        merged.by_key = {key: path for key, path in by_key.items() if path in merged.files}
        merged.stores = {"jsonl": from_files, "sqlite": len(merged.files) - from_files}
        return merged

    def _is_outlived(self, row: SourceFile, files: list[SourceFile]) -> bool:
        """Return whether a session continued in its files after its last event in the database."""
        latest_ms = row.mtime_ns // 1_000_000 + OUTLIVED_MS
        newest = max(files, key=lambda found: found.mtime_ns)
        if newest.mtime_ns // 1_000_000 <= latest_ms:
            return False
        written = last_record_ms(newest.location, newest.size)
        return (newest.mtime_ns // 1_000_000 if written is None else written) > latest_ms
