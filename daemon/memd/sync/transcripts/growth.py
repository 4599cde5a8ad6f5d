"""How much a transcript has grown since it was indexed."""

from __future__ import annotations

import os

from memd.index.files import FileRow
from memd.settings.schema import SessionSync
from memd.sync.disk.discover import Found
from memd.sync.disk.safe_open import open_unlinked


def has_grown(found: Found, row: FileRow | None, limits: SessionSync) -> bool:
    """Return whether a transcript has grown enough to be worth indexing before anybody asks (blocking)."""
    if not found.ctime_ns:  # no file: a session in a database, whose inode is the number of its last event
        return found.inode - (row.inode if row is not None else 0) >= limits.delta_messages
    indexed = row.size if row is not None else 0
    grown = found.size - indexed
    if grown < 0 or grown >= limits.delta_bytes or (row is not None and found.inode != row.inode):
        return True
    return _count_lines(found.location, indexed, grown) >= limits.delta_messages


def _count_lines(location: str, start: int, length: int) -> int:
    """Return how many lines a part of a file has; 0 where it can't be read."""
    try:
        handle = open_unlinked(location)
        try:
            return os.pread(handle, length, start).count(b"\n")
        finally:
            os.close(handle)
    except OSError:
        return 0
