"""Compares files on disk with indexed files by their stat, and groups them for reading. Pure.

`compare` runs for every file in every search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from memd.index.files import FileRow
from memd.sources.source import Listing, SourceFile

CLOCK_GRAIN_NS = 20_000_000
"""A file indexed this soon after its last write may have been written again with the same time, so it is hashed.
The clock of file times has a resolution of 1 to 10 ms; twice that is safe."""

CLOCK_GRAIN_MS = CLOCK_GRAIN_NS // 1_000_000

GROUP_FILES = 16
GROUP_BYTES = 64 * 1024
"""Limits of a group: about 15 ms of work, which bounds the delay of a search and the work a killed daemon loses."""


class Changes(Struct, frozen=True):
    """Differences between disk and index: files to read, newest first, and rows of deleted files."""

    read: list[SourceFile]
    gone: list[FileRow]

    def __bool__(self) -> bool:
        return bool(self.read or self.gone)


def compare(
    disk: Listing, rows: dict[str, FileRow], refused: Mapping[str, SourceFile], *, force: bool = False
) -> Changes:
    """Return the differences between disk and rows, by (mtime, size, inode, ctime) alone."""
    read = []
    for path, found in disk.files.items():
        row = rows.get(path)
        if force or row is None:
            if force or refused.get(path) != found:
                read.append(found)
        elif (
            row.mtime_ns != found.mtime_ns
            or row.size != found.size
            or row.inode != found.inode
            or row.ctime_ns != found.ctime_ns
            or row.indexed_at * 1_000_000 - row.ctime_ns < CLOCK_GRAIN_NS
        ):  # inlined, because this runs for every file in every search
            read.append(found)
    # Subtracting keys is atomic: this runs in a thread while a sync may change the rows.
    gone = [row for path in sorted(rows.keys() - disk.files.keys()) if (row := rows.get(path)) is not None]
    if disk.unseen:
        gone = [row for row in gone if row.source not in disk.unseen]
    read.sort(key=lambda found: (-found.mtime_ns, found.path))
    return Changes(read, gone)


def has_same_stat(row: FileRow | None, found: SourceFile) -> bool:
    """Return whether a file has the stat it was indexed with; its text may still differ (`CLOCK_GRAIN_NS`)."""
    return row is not None and (row.mtime_ns, row.size, row.inode, row.ctime_ns) == found.stat


def count_behind(changes: Changes, rows: Mapping[str, FileRow]) -> int:
    """Return how many files differ from the index; files that only have to be hashed again don't count."""
    changed = [found for found in changes.read if not has_same_stat(rows.get(found.path), found)]
    return len(changed) + len(changes.gone)


def oldest_change_ms(changes: Changes, rows: Mapping[str, FileRow], last_sync_ms: int | None) -> int | None:
    """Return the time of the oldest change that is not indexed, in epoch milliseconds.

    It is never before the last sync, because a copied file may have an old time and a deleted file has none.
    """
    floor = last_sync_ms or 0
    moments = [
        max(found.ctime_ns // 1_000_000 or found.mtime_ns // 1_000_000, floor)
        for found in changes.read
        if not has_same_stat(rows.get(found.path), found)
    ]
    moments += [floor or row.indexed_at for row in changes.gone]
    return min(moments, default=None)


def group_files(files: Iterable[SourceFile]) -> Iterator[list[SourceFile]]:
    """Yield files in groups that are written in one transaction, which is most of the cost of a small file."""
    group: list[SourceFile] = []
    size_bytes = 0
    for found in files:
        if group and (len(group) == GROUP_FILES or size_bytes + found.size > GROUP_BYTES):
            yield group
            group, size_bytes = [], 0
        group.append(found)
        size_bytes += found.size
    if group:
        yield group
