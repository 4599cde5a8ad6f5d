"""The memory files of a workspace as replication sees them: what changed, and when a change has settled.

Blocking: used in worker threads.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from memd.lifecycle.files.folder_files import LIMIT_BYTES, read_bytes
from memd.lifecycle.files.kernel_files import is_open_for_writing
from memd.replication.check import is_tracked, text_of
from memd.replication.git.repository import EMPTY_ID, blob_id
from memd.replication.names import LocalNames
from memd.sources.capacity import SourceLimits
from memd.sources.rules import MEMORY_FOLDER, ROOT_FILES
from memd.sources.source import Listing, SourceFile
from memd.system.safe_open import FileStat, open_file, stat_of

SETTLE_S: Final = 1.0
"""How long a file must stay unchanged before it is replicated."""

EMPTIED_SETTLE_S: Final = 10.0
"""The same for a file that was emptied: a program may be about to write it again."""

MAX_SETTLE_S: Final = 30.0
"""A file that changes all the time is replicated after this, if no program has it open for writing."""

MIN_WAIT_S, MAX_WAIT_S = 0.1, 60.0
"""Bounds of the wait for a change to settle: it grows while a program keeps a file open."""

BUSY: Final = ""
"""In place of the id of a content that can't be read because a program has the file open for writing."""


class WorkspaceScan(Struct):
    """The files of a workspace.

    Attributes:
        files: Ids of contents by path.
        contents: Contents that are new, by id.
        busy: Paths that a program writes to.
        changed_ns: When each file last changed, by the clock of the file system.
        excluded: Paths that can't be replicated now, with the reason; the repository keeps its version of them.
        is_missing: Whether the workspace does not exist.
    """

    files: dict[str, str] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)
    excluded: dict[str, str] = field(default_factory=dict)
    busy: set[str] = field(default_factory=set)
    changed_ns: dict[str, int] = field(default_factory=dict)
    is_missing: bool = False


class WorkspaceReader:
    """Reads a workspace; unchanged files are not read again.

    Args:
        find: Returns the agent's memory files as they are on disk now (blocking).
        limits: Limits of the agent's files.
    """

    def __init__(self, find: Callable[[], Listing], limits: SourceLimits) -> None:
        self._find = find
        self._max_bytes = max_file_bytes(limits)
        self._known: dict[str, tuple[FileStat, str]] = {}

    def scan(self, names: LocalNames, kept: Mapping[str, str]) -> WorkspaceScan:
        """Return the current files, without those of extra paths.

        Args:
            names: Local names of the paths in the repository.
            kept: Contents that the repository has, by path; others are returned in `contents`.
        """
        disk = self._find()
        found = WorkspaceScan(is_missing=disk.is_missing)
        for local, file in disk.files.items():
            if not _is_of_workspace(local):
                continue
            path = names.path(local)
            if not is_tracked(path):
                found.excluded[path] = "its name can't be replicated"
            elif file.size > self._max_bytes:
                found.excluded[path] = "it is larger than the limit"
            else:
                self._add(found, path, file, kept.get(path))
        for skipped in disk.skipped:
            found.excluded[names.path(skipped.path.rstrip("/"))] = skipped.reason
        self._known = {path: self._known[path] for path in found.files if path in self._known}
        return found

    def _add(self, found: WorkspaceScan, path: str, file: SourceFile, kept: str | None) -> None:
        """Add one file to a scan."""
        state = file.stat
        found.changed_ns[path] = max(file.mtime_ns, file.ctime_ns)
        known = self._known.get(path)
        if known is not None and known[0] == state and known[1] == kept:
            found.files[path] = known[1]
            return
        try:
            data, read_state = self._read(file)
        except OSError as error:
            found.excluded[path] = f"it can't be read: {error.strerror or type(error).__name__}"
            return
        if data is None:
            found.busy.add(path)
        elif text_of(data) is None:
            found.excluded[path] = "it is not text in UTF-8"
        else:
            oid = blob_id(data)
            found.files[path] = oid
            self._known[path] = read_state, oid
            if oid != kept:
                found.contents[oid] = data

    def _read(self, file: SourceFile) -> tuple[bytes | None, FileStat]:
        """Return a file's bytes, None while a program writes to it, and its state."""
        handle = open_file(file.root, file.location)
        try:
            before = os.fstat(handle)
            state = stat_of(before)
            if not stat.S_ISREG(before.st_mode) or is_open_for_writing(handle):
                return None, state
            data = read_bytes(handle, self._max_bytes + 1)
            after = os.fstat(handle)
            is_same = (after.st_mtime_ns, after.st_size) == (before.st_mtime_ns, before.st_size)
            return (data if is_same and len(data) == before.st_size else None), state
        finally:
            os.close(handle)


class Settling:
    """Which changes have settled: a file that did not change for a while, or a state that was seen twice. Pure."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[str | None, float, float]] = {}

    def settled(
        self,
        changes: Mapping[str, str | None],
        scan: WorkspaceScan,
        kept: Mapping[str, str],
        now_s: float,
        now_ns: int,
    ) -> dict[str, str | None]:
        """Return the changes that have settled, and forget them.

        Args:
            changes: New contents by path; None: the file is gone.
            scan: The scan that found them.
            kept: The contents that the repository has.
            now_s: The time of the scan, on any clock that only moves forward.
            now_ns: The wall time of the scan. A file from the future is not judged by it.
        """
        settled: dict[str, str | None] = {}
        seen: dict[str, tuple[str | None, float, float]] = {}
        gone = {kept[path] for path, oid in changes.items() if oid is None and path in kept}
        # A file that a program has open is looked at again, because no event may come when it is closed.
        for path, oid in {**changes, **dict.fromkeys(scan.busy, BUSY)}.items():
            before, since_s, first_s = self._seen.get(path, (oid, now_s, now_s))
            if before != oid or path in scan.busy:
                since_s = now_s
            age_s = now_s - since_s
            if path in kept or oid not in gone:  # both parts of a rename settle together
                age_s = max(age_s, _age_s(scan.changed_ns.get(path), now_ns))
            is_emptied = oid == EMPTY_ID and path in kept
            is_endless = now_s - first_s >= MAX_SETTLE_S and not is_emptied
            if path in scan.busy or (
                age_s < (EMPTIED_SETTLE_S if is_emptied else SETTLE_S) and not is_endless
            ):
                seen[path] = oid, since_s, first_s
            else:
                settled[path] = oid
        self._seen = seen
        return settled

    def next_s(self, now_s: float, *, has_busy: bool = True) -> float | None:
        """Return in how many seconds another scan is useful; None if nothing is waiting.

        Args:
            now_s: The time, by the clock of the scans.
            has_busy: Whether files that a program has open count as waiting.
        """
        waits = [
            max(SETTLE_S - (now_s - since_s), min(MAX_WAIT_S, (now_s - first_s) / 2))
            for oid, since_s, first_s in self._seen.values()
            if has_busy or oid != BUSY
        ]
        return max(MIN_WAIT_S, min(waits)) if waits else None


def _age_s(changed_ns: int | None, now_ns: int) -> float:
    """Return how long ago a file changed; 0 if that is unknown or in the future."""
    return 0.0 if changed_ns is None else max(0.0, (now_ns - changed_ns) / 1e9)


def _is_of_workspace(path: str) -> bool:
    """Return whether a path is of the workspace's memory, instead of an extra path."""
    return path in ROOT_FILES or path.startswith(f"{MEMORY_FOLDER}/")


def max_file_bytes(limits: SourceLimits) -> int:
    """Return the size of the largest file that is replicated."""
    return min(limits.file_bytes, LIMIT_BYTES)


def is_folding(workspace: Path) -> bool:
    """Return whether a workspace's file system ignores case (blocking); False if that can't be determined."""
    for path in (workspace / "memory", workspace):
        other = path.with_name(path.name.swapcase())
        if other != path and path.exists():
            return other.exists() and path.samefile(other)
    return False


def is_below(path: str, skipped: Mapping[str, str]) -> bool:
    """Return whether a path, or a folder above it, could not be looked at."""
    if "." in skipped:  # the workspace itself
        return True
    while path:
        if path in skipped:
            return True
        path = path.rpartition("/")[0]
    return False
