"""The mark a clean stop leaves in an index: with it the next opening needn't read the whole file to trust it.

The mark is the file's own time of its last write, written into the file before it is closed and set on it afterwards.
Whoever writes to the file later, memd included, moves that time, and so does away with the mark.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from memd.index.care.upkeep import log_of, size_of
from memd.index.database import Database, transaction
from memd.index.meta import find_meta, set_meta

CLOSED = "closed_ns"
CHECKED = "checked_ms"

CHECKED_FOR_MS = 7 * 86_400_000
"""How long a check of the whole file is good for, marks or not: what a disk loses by itself moves no time."""


def written_at(path: Path) -> int | None:
    """Return when a file was last written, in nanoseconds; None where it isn't there or a log beside it has more."""
    try:
        return path.stat().st_mtime_ns if size_of(log_of(path)) == 0 else None
    except FileNotFoundError:
        return None


def is_as_closed(db: Database, written_ns: int | None, now_ms: int) -> bool:
    """Return whether an index is just as a clean stop left it, and was checked as a whole not long ago."""
    if written_ns is None or find_meta(db, CLOSED) != str(written_ns):
        return False
    checked_ms = int(find_meta(db, CHECKED) or 0)
    return 0 <= now_ms - checked_ms < CHECKED_FOR_MS


def note_checked(db: Database, now_ms: int) -> None:
    """Note that the whole file was found sound."""
    with transaction(db):
        set_meta(db, CHECKED, str(now_ms))


def write_mark(db: Database, path: Path, now_ms: int) -> int | None:
    """Write the mark into an index that is about to be closed."""
    if is_as_closed(db, written_at(path), now_ms):
        return None
    mark_ns = now_ms * 1_000_000
    with transaction(db):
        set_meta(db, CLOSED, str(mark_ns))
    return mark_ns


def set_mark(path: Path, mark_ns: int | None) -> None:
    """Set the time of a file that is closed. Where that fails, the next opening reads the file as a whole."""
    if mark_ns is not None:
        with suppress(OSError):
            os.utime(path, ns=(mark_ns, mark_ns))
