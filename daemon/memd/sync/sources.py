"""Everything an agent remembers from, as one: its notes, and its transcripts where they were asked for."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from memd.settings.schema import ExtraPath
from memd.sync.disk.capacity import SourceLimits as SourceLimits
from memd.sync.disk.capacity import limits_of as limits_of
from memd.sync.disk.discover import UNOBSERVED, Discovery, DiscoveryObserver, Found, discover
from memd.sync.disk.read import FileText, read_file
from memd.sync.disk.rules import is_written_by_memd
from memd.sync.transcripts.session_source import SessionSource, Transcripts
from memd_client.errors import FileMissingError

_RECALL_RUN = re.compile(r":active-memory:[0-9a-f]{12}\Z", re.IGNORECASE)
"""What OpenClaw adds to a session's key for the run that looks into memory before a reply."""


class Sources:
    """One agent's sources.

    Args:
        workspace: Where its Markdown is; may be missing.
        extra_paths: Folders or files beside it.
        limits: How much is taken; of more than that the newest.
        sessions: Its transcripts, or None where they aren't memory.
        queue: Knows whether the notes are as they were seen last; without one every look is at all files.

    Attributes:
        transcripts: What the last look at the transcripts told, or None.
    """

    def __init__(
        self,
        workspace: Path,
        extra_paths: Sequence[ExtraPath],
        limits: SourceLimits,
        sessions: SessionSource | None,
        queue: DiscoveryObserver = UNOBSERVED,
    ) -> None:
        self._workspace = workspace
        self._extra_paths = extra_paths
        self._limits = limits
        self._sessions = sessions
        self.transcripts: Transcripts | None = None
        self._looking = threading.Lock()
        self._queue = queue
        self._seen = Discovery()

    def find(self) -> Discovery:
        """Return every file and transcript there is now, within the limits (blocking)."""
        disk = self._discover()
        if self._sessions is not None:
            self.transcripts = self._sessions.find()
            disk.files = disk.files | self.transcripts.found
            disk.skipped.extend(self.transcripts.skipped)
            if not self.transcripts.complete:
                disk.unseen = frozenset({"sessions"})
        _cap(disk, self._limits)
        return disk

    def find_notes(self) -> Discovery:
        """Return the notes alone: what may be read line by line (blocking)."""
        disk = self._discover()
        _cap(disk, self._limits)
        return disk

    def _discover(self) -> Discovery:
        """Return every note there is now, whatever the limits on all together; the caller's to change but for files."""
        with self._looking:
            if not self._queue.is_unchanged():
                with self._queue.look():
                    self._seen = discover(
                        self._workspace,
                        self._extra_paths,
                        self._limits.file_bytes,
                        self._seen.files,
                        self._queue,
                    )
                self._seen.before = {}  # of the last look alone: a chain of all would never end
            seen = self._seen
        return replace(seen, skipped=list(seen.skipped), partial=list(seen.partial))

    def transcript_of(self, session_key: str) -> str | None:
        """Return the path of a session's transcript, or None where there is none (blocking)."""
        if self._sessions is None:
            return None
        return self._sessions.find().by_key.get(_RECALL_RUN.sub("", session_key.strip()))

    def load(self, found: Found) -> FileText:
        """Return the text of something found (blocking)."""
        if found.source == "memory":
            return read_file(found, self._limits.file_bytes, cut=True)
        if self._sessions is None:
            raise FileMissingError(f"{found.path} is no longer indexed", data={"path": found.path})
        return self._sessions.load(found)

    def close(self) -> None:
        """Let go of whatever is open (blocking)."""
        with self._looking:
            self._queue.close()
        if self._sessions is not None:
            self._sessions.close()


def _cap(disk: Discovery, limits: SourceLimits) -> None:
    """Leave out what is beyond the limits.

    What memd has written stays before other notes, notes before transcripts, the newest before the oldest.
    """
    files = disk.files
    most = limits.file_bytes  # of a larger file no more is indexed
    if (
        len(files) <= limits.files
        and sum([found.size if found.size < most else most for found in files.values()]) <= limits.total_bytes
    ):
        return
    room_files, room_bytes = limits.files, limits.total_bytes
    kept: dict[str, Found] = {}
    for found in sorted(files.values(), key=_precedence):
        size = min(found.size, most)
        if room_files < 1 or size > room_bytes:
            break
        kept[found.path] = found
        room_files -= 1
        room_bytes -= size
    disk.beyond_limits = len(files) - len(kept)
    disk.files = kept
    disk.partial = [each for each in disk.partial if each.path in kept]


def _precedence(found: Found) -> tuple[bool, bool, int, str]:
    """Return what sorts files by which are indexed when not all can be."""
    is_transcript = found.source != "memory"
    return is_transcript, not is_written_by_memd(found.path), -found.mtime_ns, found.path
