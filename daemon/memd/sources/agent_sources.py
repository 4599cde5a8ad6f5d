"""An agent's sources in the order of their precedence, within its limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import is_not

from msgspec.structs import replace

from memd.git.authors import Authors
from memd.programs.conversation import Conversation
from memd.settings.sources import BUILT_IN_SOURCES
from memd.sources.capacity import SourceLimits
from memd.sources.exclusions import NOTHING_EXCLUDED, Exclusions
from memd.sources.forgotten import ForgottenOf, conversation_text
from memd.sources.projects import find_project
from memd.sources.rules import is_written_by_memd
from memd.sources.source import FileText, Listing, Source, SourceFile
from memd.system.safe_open import FileStat
from memd.text.forgotten import NOTHING_FORGOTTEN
from memd_client.errors import FileMissingError

_RECALL_RUN = re.compile(r":active-memory:[0-9a-f]{12}\Z", re.IGNORECASE)
"""Suffix of a session's key in OpenClaw's run that searches memory before a reply."""


class AgentSources:
    """One agent's sources.

    Args:
        sources: The sources; of two files with the same path, that of the first source counts.
        limits: Limits on the indexed files; beyond them the newest files are kept.
        exclusions: Folders and projects that are not indexed.
        forgotten: Returns what is masked in all texts.

    Attributes:
        by_name: The sources by name.
        listings: The last listing of each source.
        authors: Finds the lines of notes that other people committed.
    """

    def __init__(
        self,
        sources: Iterable[Source],
        limits: SourceLimits,
        exclusions: Exclusions = NOTHING_EXCLUDED,
        forgotten: ForgottenOf = lambda: NOTHING_FORGOTTEN,
    ) -> None:
        self.by_name = {source.name: source for source in sources}
        self._notes = set[str]()
        parts = list(self.by_name.values())
        for source in parts:
            source.notes = self._notes
            parts += source.inner
        self.listings: dict[str, Listing] = {}
        self.exclusions = exclusions
        self.authors = Authors()
        self.forgotten = forgotten
        self._limits = limits
        self._filtered: dict[str, tuple[Listing, Listing]] = {}
        self._merged: dict[bool, tuple[list[Listing], Listing]] = {}

    def find(self) -> Listing:
        """Return the current files within the limits; the same object while nothing changed (blocking)."""
        return self._find(with_conversations=True)

    def find_notes(self) -> Listing:
        """Return the current notes, within the limits (blocking)."""
        return self._find(with_conversations=False)

    def is_conversation(self, name: str) -> bool:
        """Return whether a source has conversations."""
        source = self.by_name.get(name)
        return source is not None and source.is_conversation

    def find_session(self, session_key: str) -> str | None:
        """Return the path of the conversation of one of OpenClaw's sessions, or None (blocking)."""
        key = _RECALL_RUN.sub("", session_key.strip())
        conversations = [source for source in self.by_name.values() if source.is_conversation]
        return next((path for source in conversations if (path := source.find().by_key.get(key))), None)

    def load(self, found: SourceFile) -> FileText:
        """Return the text of a file (blocking)."""
        source = self.by_name.get(found.source)
        if source is None:
            raise FileMissingError(f"{found.path} is no longer indexed", data={"path": found.path})
        text = source.load(found)
        if not found.is_conversation:
            origins = self.authors.lowered(found.path, found.location, text.text, text.origins)
            text = replace(text, origins=origins)
        elif self.exclusions:
            text = self.exclusions.blanked(text)
        masked: FileText = self.forgotten().mask_all(text)
        return masked

    def load_work(self, found: SourceFile) -> Conversation | None:
        """Return a conversation with the agent's work; see `Source.load_work`."""
        source = self.by_name.get(found.source)
        conversation: Conversation | None = None if source is None else source.load_work(found)
        conversation = self.forgotten().mask_all(conversation)
        if conversation is None or not self.exclusions:
            return conversation
        cwd = conversation.session.cwd
        return None if self.exclusions.excludes(cwd, find_project(cwd)) else conversation

    def growth(self, found: SourceFile, indexed: FileStat | None) -> tuple[int, int] | None:
        """Return by how much a conversation grew; see `Source.growth`."""
        source = self.by_name.get(found.source)
        return None if source is None else source.growth(found, indexed)

    def close(self) -> None:
        """Release all open descriptors and connections (blocking)."""
        for source in self.by_name.values():
            source.close()

    def _find(self, *, with_conversations: bool) -> Listing:
        """Return the files of all sources, merged again only if a listing differs from the last one."""
        parts = []
        for name, source in self.by_name.items():
            if with_conversations or not source.is_conversation:
                listing = self.listings[name] = self._without_excluded(name, source.find())
                parts.append(listing)
        before, merged = self._merged.get(with_conversations, ([], None))
        if merged is None or len(parts) != len(before) or any(map(is_not, parts, before)):
            merged = _merge(parts, self._limits)
            self._merged[with_conversations] = parts, merged
            self._notes |= {file.location for file in merged.files.values() if not file.is_conversation}
        return merged

    def _is_forgotten(self, file: SourceFile) -> bool:
        return file.is_conversation and self.forgotten().has(conversation_text(file.path))

    def _without_excluded(self, name: str, listing: Listing) -> Listing:
        """Return a listing without excluded and forgotten files; the same object for the same listing."""
        if not self.exclusions and not self.forgotten():
            return listing
        before, filtered = self._filtered.get(name, (None, listing))
        if before is not listing:
            filtered = self.exclusions.filtered(listing, self._is_forgotten)
            self._filtered[name] = listing, filtered
        return filtered


def _merge(parts: Sequence[Listing], limits: SourceLimits) -> Listing:
    """Return one listing of several sources, without the files beyond the limits."""
    merged = Listing(is_missing=parts[0].is_missing if parts else False)
    for part in reversed(parts):
        merged.files = merged.files | part.files if merged.files else part.files
    for part in parts:
        merged.skipped += part.skipped
        merged.partial += part.partial
        merged.unseen |= part.unseen
    _cap(merged, limits)
    return merged


def _cap(listing: Listing, limits: SourceLimits) -> None:
    """Remove the files beyond the limits.

    Bytes of other programs' files don't count: most of them are not text. Files that memd writes have precedence over
    other notes, notes over conversations, newer files over older ones.
    """
    files = listing.files
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
    listing.beyond_limits = len(files) - len(kept)
    listing.files = kept
    listing.partial = [each for each in listing.partial if each.path in kept]


def _precedence(found: SourceFile) -> tuple[bool, bool, int, str]:
    """Return the sort key of a file's precedence within the limits."""
    return found.is_conversation, not is_written_by_memd(found.path), -found.mtime_ns, found.path
