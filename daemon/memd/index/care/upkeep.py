"""Upkeep of an open index: free pages, its log, whether it is sound and in place, and its clean shutdown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from memd.index.care.quarantine import remove_logs
from memd.index.database import BUSY_MS, WAL_LIMIT_BYTES, Database, get_int, passes_check, transaction
from memd.index.meta import find_meta, set_meta
from memd_client.errors import IndexCorruptError, IndexLostError

FREE_PAGES_KEPT = 256
FREE_SHARE = 8
"""Pages are given back when more than 256 (2 MB), and more than an eighth of the file, are free."""

FREE_PAGES_AT_ONCE = 512
"""Pages given back after one write: 4 MB, some milliseconds."""

ALL_PAGES = 2**31 - 1
"""At closing no request waits: everything free is given back."""

TABLES = frozenset(
    {"meta", "files", "chunks", "embedding_cache", "chunks_fts", "transcripts", "refused_texts"}
)
"""What every current index has."""


def log_of(path: Path) -> Path:
    """Return where SQLite keeps the write-ahead log of a file."""
    return path.with_name(path.name + "-wal")


def size_of(path: Path) -> int:
    """Return the length of a file, 0 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def give_back(db: Database, pages: int = FREE_PAGES_AT_ONCE) -> None:
    """Give free pages back to the system where there are many."""
    free = get_int(db, "PRAGMA freelist_count")
    if free > FREE_PAGES_KEPT and free * FREE_SHARE > get_int(db, "PRAGMA page_count"):
        db.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()


def fold_log(db: Database, *, wait: bool) -> bool:
    """Bring the log into the file and truncate it, unless a reader still needs it; return whether that was done."""
    db.set_busy_timeout(BUSY_MS if wait else 0)
    try:
        row = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        db.set_busy_timeout(BUSY_MS)
    return row is not None and row[0] == 0


def fold_long_log(db: Database, path: Path) -> None:
    """Bring the log into the file where it has outgrown its limit: no later write may come to do that."""
    if size_of(log_of(path)) > WAL_LIMIT_BYTES + WAL_LIMIT_BYTES // 8:
        fold_log(db, wait=False)


def is_sound(connect: Callable[[], Database]) -> bool:
    """Return whether an index has all its tables and SQLite finds them sound."""
    try:
        db = connect()
    except (apsw.CorruptError, apsw.NotADBError):
        return False
    try:
        names = {row[0] for row in db.execute("SELECT name FROM sqlite_schema")}
        return names >= TABLES and passes_check(db)
    except (apsw.CorruptError, apsw.NotADBError, apsw.SQLError):
        return False
    finally:
        db.close(True)


CLOSED = "closed_ns"
CHECKED = "checked_ms"

CHECKED_FOR_MS = 7 * 86_400_000
"""How long a check of the whole file counts, marked or not: a disk that loses bytes changes no file time."""


def written_at(path: Path) -> int | None:
    """Return when a file was last written, in nanoseconds; None if it is missing or its log is not empty."""
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


_Identity = tuple[int, int]


class FileIdentityCheck:
    """What an index and its log were when they were opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = path.with_name(path.name + "-wal")
        found = os.stat(path)
        self._identity: _Identity = (found.st_dev, found.st_ino)
        self._log_identity = _identity_of(self._log)
        self._least = found.st_size

    def check(self) -> None:
        """Look whether the file and its log are still those that are open."""
        least = self._least
        try:
            found = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            raise self._lost("was removed") from None
        except OSError:
            return  # the connection is open all the same; what it can't do it says itself
        if (found.st_dev, found.st_ino) != self._identity:
            raise self._lost("was replaced by another file")
        if found.st_size < least and self._least == least:
            raise IndexCorruptError(
                f"the index {self._path} was cut short while it was open", data={"path": str(self._path)}
            )
        if self._log_identity is None:
            self._log_identity = _identity_of(self._log)
        elif _identity_of(self._log) != self._log_identity:
            raise self._lost("lost its log")

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Look, as `check` does, and allow the file to shrink inside the block: its writer may give pages back."""
        self.check()
        self._least = 0
        try:
            yield
        finally:
            with suppress(OSError):  # the next check says why
                self._least = os.stat(self._path).st_size

    def is_in_place(self) -> bool:
        """Return whether what lies at the path is the file that was opened."""
        return _identity_of(self._path) == self._identity

    def remove_log(self) -> None:
        """Remove the log of a file that is gone: nothing can use it, and another file at the path must not."""
        if self._log_identity is not None and _identity_of(self._log) == self._log_identity:
            with suppress(OSError):
                remove_logs(self._path)

    def _lost(self, how: str) -> IndexLostError:
        return IndexLostError(
            f"the index {self._path} {how} while it was open", data={"path": str(self._path)}
        )


def _identity_of(path: Path) -> _Identity | None:
    """Return which file lies at a path, None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
