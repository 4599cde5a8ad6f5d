"""An agent's sources: its notes and, if enabled, its transcripts."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from operator import is_not
from pathlib import Path

from memd.settings.schema import ExtraPath
from memd.settings.sources import BUILT_IN_SOURCES
from memd.sources.added import AddedSource
from memd.sources.capacity import SourceLimits as SourceLimits
from memd.sources.capacity import limits_of as limits_of
from memd.sources.discover import UNOBSERVED, Discovery, DiscoveryObserver, SourceFile, discover
from memd.sources.read import FileText, read_file
from memd.sources.rules import is_written_by_memd
from memd.sources.source import SessionSource, Transcripts
from memd_client.errors import FileMissingError

_RECALL_RUN = re.compile(r":active-memory:[0-9a-f]{12}\Z", re.IGNORECASE)
"""Suffix of a session's key in OpenClaw's run that searches memory before a reply."""


class Sources:
    """One agent's sources.

    Args:
        workspace: Folder of its Markdown; may be missing.
        extra_paths: Further folders or files.
        limits: Limits on the indexed files; beyond them the newest files are kept.
        sessions: Its transcripts, or None if they aren't memory.
        queue: Reports whether the notes are unchanged since the last scan; by default every scan reads the disk.
        added: Sources of other programs.

    Attributes:
        transcripts: Result of the last scan of the transcripts, or None.
        added: Sources of other programs by name.
        seen: Result of the last scan of each of those.
    """

    def __init__(
        self,
        workspace: Path,
        extra_paths: Sequence[ExtraPath],
        limits: SourceLimits,
        sessions: SessionSource | None,
        queue: DiscoveryObserver = UNOBSERVED,
        added: Sequence[AddedSource] = (),
    ) -> None:
        self.added = {each.config.name: each for each in added}
        self.seen: dict[str, Transcripts] = {}
        self._workspace = workspace
        self._extra_paths = extra_paths
        self._limits = limits
        self._sessions = sessions
        self.transcripts: Transcripts | None = None
        self._scanning = threading.Lock()
        self._queue = queue
        self._seen = Discovery()
        self._merged_parts: tuple[dict[str, SourceFile], ...] = ()
        self._merged: dict[str, SourceFile] = {}

    def find(self) -> Discovery:
        """Return the current files and transcripts, within the limits (blocking)."""
        disk = self._discover()
        if self._sessions is not None:
            self.transcripts = self._sessions.find()
            disk.files = disk.files | self.transcripts.found
            disk.skipped.extend(self.transcripts.skipped)
            if not self.transcripts.complete:
                disk.unseen = frozenset({"sessions"})
        if self.added:
            self._add_sources(disk)
        _cap(disk, self._limits)
        return disk

    def _add_sources(self, disk: Discovery) -> None:
        """Add the files of other programs; a file of the agent has precedence over one with the same path."""
        for name, source in self.added.items():
            found = self.seen[name] = source.store.find()
            disk.skipped.extend(found.skipped)
            if not found.complete:
                disk.unseen |= {name}
        parts = (disk.files, *(found.found for found in self.seen.values()))
        if len(parts) != len(self._merged_parts) or any(map(is_not, parts, self._merged_parts)):
            merged: dict[str, SourceFile] = {}
            for part in reversed(parts):
                merged |= part
            self._merged_parts, self._merged = parts, merged
        disk.files = self._merged

    def find_notes(self) -> Discovery:
        """Return the current notes without transcripts, within the limits (blocking)."""
        disk = self._discover()
        _cap(disk, self._limits)
        return disk

    def find_added_note(self, path: str) -> SourceFile | None:
        """Return a note of a source of another program by its path, or None (blocking)."""
        source = self.added.get(path.partition("/")[0])
        found = None if source is None else source.store.find().found.get(path)
        return None if found is None or found.is_talk else found

    def _discover(self) -> Discovery:
        """Return all current notes, regardless of the limits; the caller may change the object except `files`."""
        with self._scanning:
            if not self._queue.is_unchanged():
                with self._queue.scan():
                    self._seen = discover(
                        self._workspace,
                        self._extra_paths,
                        self._limits.file_bytes,
                        self._seen.files,
                        self._queue,
                    )
                self._seen.before = {}  # else each scan would keep all earlier ones alive
            seen = self._seen
        return replace(seen, skipped=list(seen.skipped), partial=list(seen.partial))

    def transcript_of(self, session_key: str) -> str | None:
        """Return the path of a session's transcript, or None (blocking)."""
        if self._sessions is None:
            return None
        return self._sessions.find().by_key.get(_RECALL_RUN.sub("", session_key.strip()))

    def load(self, found: SourceFile) -> FileText:
        """Return the text of a file or transcript (blocking)."""
        if found.source == "memory":
            return read_file(found, self._limits.file_bytes, cut=True)
        if found.source in self.added:
            return self.added[found.source].store.load(found)
        if self._sessions is None:
            raise FileMissingError(f"{found.path} is no longer indexed", data={"path": found.path})
        return self._sessions.load(found)

    def close(self) -> None:
        """Release all open descriptors and connections (blocking)."""
        with self._scanning:
            self._queue.close()
        if self._sessions is not None:
            self._sessions.close()
        for source in self.added.values():
            source.store.close()


def _cap(disk: Discovery, limits: SourceLimits) -> None:
    """Remove the files beyond the limits.

    Bytes of other programs' files don't count: most of them are not text. Files that memd writes have precedence over
    other notes, notes over transcripts, newer files over older ones.
    """
    files = disk.files
    most = limits.file_bytes  # larger files are indexed up to here
    own = [found for found in files.values() if found.source in BUILT_IN_SOURCES]
    size_bytes = sum([found.size if found.size < most else most for found in own])
    if len(files) <= limits.files and size_bytes <= limits.total_bytes:
        return
    left_files, left_bytes = limits.files, limits.total_bytes
    kept: dict[str, SourceFile] = {}
    for found in sorted(files.values(), key=_precedence):
        size = min(found.size, most) if found.source in BUILT_IN_SOURCES else 0
        if left_files < 1 or size > left_bytes:
            break
        kept[found.path] = found
        left_files -= 1
        left_bytes -= size
    disk.beyond_limits = len(files) - len(kept)
    disk.files = kept
    disk.partial = [each for each in disk.partial if each.path in kept]


def _precedence(found: SourceFile) -> tuple[bool, bool, int, str]:
    """Return the sort key of a file's precedence within the limits."""
    return found.is_talk, not is_written_by_memd(found.path), -found.mtime_ns, found.path
