"""Disk against rows: what differs, by stat alone, and in which groups it is read. Pure.

`compare` runs for every file in every search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from memd.index.files import FileRow
from memd.sync.disk.discover import Discovery, Found

CLOCK_GRAIN_NS = 20_000_000
"""A file indexed this soon after its last write may have been written again with the same time: it is
hashed. Kernels stamp files by a clock of 1 to 10 ms; twice that is safe."""

CLOCK_GRAIN_MS = CLOCK_GRAIN_NS // 1_000_000

GROUP_FILES = 16
GROUP_BYTES = 64 * 1024
"""Limits of a group: some 15 ms of work, the longest a search may be held up, and what a kill loses."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between disk and rows: files to read, newest first, and rows whose file is gone."""

    read: list[Found]
    gone: list[FileRow]

    def __bool__(self) -> bool:
        return bool(self.read or self.gone)


def compare(
    disk: Discovery, rows: dict[str, FileRow], refused: Mapping[str, Found], *, force: bool = False
) -> Changes:
    """Return what differs between disk and rows, by (mtime, size, inode, ctime) alone."""
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
        ):  # spelled out: this runs for every file in every search
            read.append(found)
    # Keys are subtracted in one step of C: this runs in a thread while a sync may change the rows.
    gone = [row for path in sorted(rows.keys() - disk.files.keys()) if (row := rows.get(path)) is not None]
    if disk.unseen:
        gone = [row for row in gone if row.source not in disk.unseen]
    read.sort(key=lambda found: (-found.mtime_ns, found.path))
    return Changes(read, gone)


def looks_same(row: FileRow | None, found: Found) -> bool:
    """Return whether a stat says that a file is what was indexed; a racily clean file may still differ."""
    return row is not None and (row.mtime_ns, row.size, row.inode, row.ctime_ns) == (
        found.mtime_ns,
        found.size,
        found.inode,
        found.ctime_ns,
    )


def count_behind(changes: Changes, rows: Mapping[str, FileRow]) -> int:
    """Return how many files are known to differ from the index; those merely to be hashed again don't count."""
    surely = [found for found in changes.read if not looks_same(rows.get(found.path), found)]
    return len(surely) + len(changes.gone)


def oldest_change_ms(changes: Changes, rows: Mapping[str, FileRow], last_sync_ms: int | None) -> int | None:
    """Return since when, in epoch milliseconds, the index has lacked the oldest of some changes.

    A file's own time is not enough: a copy keeps an old one, and what is gone has none. But whatever the last
    sync didn't see has happened after it.
    """
    floor = last_sync_ms or 0
    moments = [
        max(found.ctime_ns // 1_000_000 or found.mtime_ns // 1_000_000, floor)
        for found in changes.read
        if not looks_same(rows.get(found.path), found)
    ]
    moments += [floor or row.indexed_at for row in changes.gone]
    return min(moments, default=None)


def grouped(files: Iterable[Found]) -> Iterator[list[Found]]:
    """Yield files in groups that are read and written together: most of a small file's cost is per transaction."""
    group: list[Found] = []
    size_bytes = 0
    for found in files:
        if group and (len(group) == GROUP_FILES or size_bytes + found.size > GROUP_BYTES):
            yield group
            group, size_bytes = [], 0
        group.append(found)
        size_bytes += found.size
    if group:
        yield group
