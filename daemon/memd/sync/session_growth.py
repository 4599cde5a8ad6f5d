"""How much a transcript has grown since it was indexed."""

from __future__ import annotations

import os

from memd.config import SessionSync
from memd.index.files import FileRow
from memd.sync.descend import open_unlinked
from memd.sync.discover import Found


def has_grown(found: Found, row: FileRow | None, limits: SessionSync) -> bool:
    """Return whether a transcript has grown enough to be worth indexing before anybody asks (blocking).

    Args:
        found: The transcript as it is now.
        row: As it was indexed, or None where it never was.
        limits: The growth that is enough, in bytes or in messages; 0 turns a limit into "any growth".
    """
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
