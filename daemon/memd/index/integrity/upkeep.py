"""Upkeep of an open index: free pages, checkpoints, integrity and identity checks, and clean shutdown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from memd.index.database import WAL_LIMIT_BYTES, passes_check, transaction
from memd.index.integrity.quarantine import remove_logs
from memd.index.meta import find_meta, set_meta
from memd.system.sqlite import LOCK_TIMEOUT_MS, Database, get_int
from memd_client.errors import IndexCorruptError, IndexLostError

FREE_PAGES_KEPT = 256
FREE_SHARE = 8
"""Free pages are released when there are more than 256 (2 MB), and more than 1/8 of the file."""

FREE_PAGES_AT_ONCE = 512
"""Pages released after one write: 4 MB, a few milliseconds."""

ALL_PAGES = 2**31 - 1
"""All free pages are released when the index closes, because no request waits then."""

TABLES = frozenset(
    {"meta", "files", "chunks", "embedding_cache", "chunks_fts", "transcripts", "refused_texts", "work"}
)
"""Tables of every current index."""


def wal_path(path: Path) -> Path:
    """Return the path of a database's write-ahead log."""
    return path.with_name(path.name + "-wal")


def file_size(path: Path) -> int:
    """Return the size of a file in bytes, 0 if it is missing."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def release_free_pages(db: Database, pages: int = FREE_PAGES_AT_ONCE) -> None:
    """Release free pages to the file system if there are many."""
    free = get_int(db, "PRAGMA freelist_count")
    if free > FREE_PAGES_KEPT and free * FREE_SHARE > get_int(db, "PRAGMA page_count"):
        db.execute(f"PRAGMA incremental_vacuum({pages})").fetchall()


def checkpoint(db: Database, *, wait: bool) -> bool:
    """Run a checkpoint and truncate the log; return False if a reader still needs the log."""
    db.set_busy_timeout(LOCK_TIMEOUT_MS if wait else 0)
    try:
        row = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        db.set_busy_timeout(LOCK_TIMEOUT_MS)
    return row is not None and row[0] == 0


def checkpoint_long_log(db: Database, path: Path) -> None:
    """Run a checkpoint if the log exceeds its limit, because there may be no later write to do so."""
    if file_size(wal_path(path)) > WAL_LIMIT_BYTES + WAL_LIMIT_BYTES // 8:
        checkpoint(db, wait=False)


def is_sound(connect: Callable[[], Database]) -> bool:
    """Return whether an index has all its tables and passes SQLite's check."""
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
"""Validity of a full check, even after a clean shutdown: a failing disk changes no file time."""


def written_at(path: Path) -> int | None:
    """Return the mtime of a file in nanoseconds; None if it is missing or its log is not empty."""
    try:
        return path.stat().st_mtime_ns if file_size(wal_path(path)) == 0 else None
    except FileNotFoundError:
        return None


def was_closed_cleanly(db: Database, written_ns: int | None, now_ms: int) -> bool:
    """Return whether an index is unchanged since a clean shutdown and was fully checked recently."""
    if written_ns is None or find_meta(db, CLOSED) != str(written_ns):
        return False
    checked_ms = int(find_meta(db, CHECKED) or 0)
    return 0 <= now_ms - checked_ms < CHECKED_FOR_MS


def note_checked(db: Database, now_ms: int) -> None:
    """Record that the file passed a full check."""
    with transaction(db):
        set_meta(db, CHECKED, str(now_ms))


def note_clean_shutdown(db: Database, path: Path, now_ms: int) -> int | None:
    """Record a clean shutdown in an index; return the mtime the file needs for it, or None if it has it."""
    if was_closed_cleanly(db, written_at(path), now_ms):
        return None
    closed_ns = now_ms * 1_000_000
    with transaction(db):
        set_meta(db, CLOSED, str(closed_ns))
    return closed_ns


def stamp_clean_shutdown(path: Path, closed_ns: int | None) -> None:
    """Set the mtime of a closed file to its recorded shutdown. If that fails, the next opening checks the file."""
    if closed_ns is not None:
        with suppress(OSError):
            os.utime(path, ns=(closed_ns, closed_ns))


_Identity = tuple[int, int]


class FileIdentityCheck:
    """Checks that an open index and its log are still the files at their paths."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._log = path.with_name(path.name + "-wal")
        found = os.stat(path)
        self._identity: _Identity = (found.st_dev, found.st_ino)
        self._log_identity = _identity_of(self._log)
        self._least = found.st_size

    def check(self) -> None:
        """Raise if the file or its log was removed, replaced or truncated."""
        least = self._least
        try:
            found = os.stat(self._path)
        except (FileNotFoundError, NotADirectoryError):
            raise self._lost("was removed") from None
        except OSError:
            return  # the connection is still open and raises its own errors
        if (found.st_dev, found.st_ino) != self._identity:
            raise self._lost("was replaced by another file")
        if found.st_size < least and self._least == least:
            raise IndexCorruptError(
                f"the index {self._path} was truncated while it was open", data={"path": str(self._path)}
            )
        if self._log_identity is None:
            self._log_identity = _identity_of(self._log)
        elif _identity_of(self._log) != self._log_identity:
            raise self._lost("lost its log")

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Run `check`, and allow the file to shrink inside the block: its writer may release pages."""
        self.check()
        self._least = 0
        try:
            yield
        finally:
            with suppress(OSError):  # the next check says why
                self._least = os.stat(self._path).st_size

    def is_in_place(self) -> bool:
        """Return whether the file at the path is the one that was opened."""
        return _identity_of(self._path) == self._identity

    def remove_log(self) -> None:
        """Remove the log of a missing file, which must not be applied to another file at the path."""
        if self._log_identity is not None and _identity_of(self._log) == self._log_identity:
            with suppress(OSError):
                remove_logs(self._path)

    def _lost(self, how: str) -> IndexLostError:
        return IndexLostError(
            f"the index {self._path} {how} while it was open", data={"path": str(self._path)}
        )


def _identity_of(path: Path) -> _Identity | None:
    """Return the device and inode of the file at a path, or None."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino
