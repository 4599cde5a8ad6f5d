"""The notes of a workspace by events, to be compared with what is on disk."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

from memd.settings.schema import ExtraPath
from memd.sources.notes import WorkspaceNotes
from memd.sources.source import MEMORY, Listing
from memd.sources.watch.queue import Scan
from memd.sources.watch.watcher import Watcher
from tests.support.watching import QueueClock, watcher_by

MAX_BYTES = 4_000
"""Larger notes are indexed in part; some of the edits write such notes."""


class CountedNotes(WorkspaceNotes):
    """A workspace's notes, with all scans counted."""

    looks = 0

    def _update(self, scan: Scan) -> None:
        self.looks += 1
        super()._update(scan)


class WatchedNotes:
    """One agent's notes by events, to be compared with a new listing of them."""

    def __init__(
        self, workspace: Path, extras: tuple[ExtraPath, ...] = (), watcher: Watcher | None = None
    ) -> None:
        self.workspace = workspace
        self.extras = extras
        self.clock = QueueClock()
        self.watcher = watcher or watcher_by(self.clock)
        self.queue = self.watcher.queue("ann", MEMORY)
        self.notes = CountedNotes(workspace, extras, MAX_BYTES, self.queue)
        self._before: tuple[Listing, Listing] | None = None

    @property
    def looks(self) -> int:
        """How many scans there were."""
        return self.notes.looks

    def find(self) -> Listing:
        """Return the notes by events."""
        return self.notes.find()

    def really(self) -> Listing:
        """Return the notes on disk."""
        return WorkspaceNotes(self.workspace, self.extras, MAX_BYTES).find()

    def is_right(self) -> bool:
        """Return whether the two agree; a listing that was returned never changes."""
        if self._before is not None:
            assert self._before[0] == self._before[1]
        told, real = self.find(), self.really()
        self._before = told, deepcopy(told)
        return comparable(told) == comparable(real)


def comparable(listing: Listing) -> tuple[object, ...]:
    """Return the contents of a listing; the order of skipped files doesn't matter."""
    return (
        listing.files,
        sorted((file.path, file.reason) for file in listing.skipped),
        sorted((file.path, file.reason) for file in listing.partial),
        listing.is_missing,
    )
