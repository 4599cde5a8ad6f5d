"""Connections to an index: their settings, and the mapping of errors. Independent of the schema."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import apsw

from memd.system.cancellation import WorkCancelledError
from memd.system.sqlite import Database, Setting, refuse_writing, wait_for_locks, with_settings
from memd_client.errors import (
    DeadlineExceededError,
    IndexClosedError,
    IndexCorruptError,
    IndexIOError,
    IndexLostError,
    MemdError,
)

PAGE_BYTES = 8192
"""Page size. Vectors of 384 to 1536 dimensions (1.5 to 6 kB) fit a page without an overflow chain."""

WAL_PAGES = 1_000
"""Log size at which a write runs a checkpoint: 8 MB. That write waits for the disk, and so do the writes behind it; a
smaller log would delay more of the notes written during a long sync."""

WAL_LIMIT_BYTES = 8 * 1_048_576
"""Size to which the log file shrinks after a long transaction."""

WRITER_CACHE_KIB = 8_192
READER_CACHE_KIB = 49_152
"""Page cache of a connection. The system caches the file as well, but each page read from it is a system call. Idle
indexes release their caches, and `limit_page_caches` bounds all of them together."""

UNREADABLE_CODES = (
    apsw.SQLITE_IOERR_READ,
    apsw.SQLITE_IOERR_SHORT_READ,
    apsw.SQLITE_IOERR_DATA,
    apsw.SQLITE_IOERR_CORRUPTFS,
)
"""SQLite's codes for an unreadable file: reopening or rebuilding it may help."""


def enable_auto_vacuum(db: Database) -> None:
    """Allow free pages to be released; effective only before the first table is created."""
    if db.pragma("auto_vacuum") != 2:  # setting it again would write to the file
        db.pragma("page_size", PAGE_BYTES)
        db.pragma("auto_vacuum", 2)


def log_ahead(db: Database) -> None:
    """Use a write-ahead log: readers never wait, and a killed process loses no commit."""
    db.pragma("journal_mode", "wal")
    db.pragma("wal_autocheckpoint", WAL_PAGES)
    db.pragma("journal_size_limit", WAL_LIMIT_BYTES)


def sync_at_checkpoints(db: Database) -> None:
    """Sync at checkpoints only: a power cut may lose the latest commits, but never damages the file."""
    db.pragma("synchronous", 1)


def overwrite_deleted(db: Database) -> None:
    """Overwrite what is deleted with zeros, so that forgotten text doesn't stay in the file's free space."""
    db.pragma("secure_delete", 1)


def cache_for_writing(db: Database) -> None:
    """Set the writer's page cache."""
    db.pragma("cache_size", -WRITER_CACHE_KIB)


def cache_for_reading(db: Database) -> None:
    """Set a reader's page cache."""
    db.pragma("cache_size", -READER_CACHE_KIB)


def limit_page_caches(limit_bytes: int) -> None:
    """Bound the total size of the page caches of this process; beyond it pages are reused."""
    apsw.soft_heap_limit(limit_bytes)


def page_cache_bytes() -> int:
    """Return the RAM that SQLite uses in this process, in bytes."""
    return int(apsw.memory_used())


WRITER: tuple[Setting, ...] = (
    wait_for_locks,
    enable_auto_vacuum,
    log_ahead,
    sync_at_checkpoints,
    overwrite_deleted,
    cache_for_writing,
)
READER: tuple[Setting, ...] = (wait_for_locks, cache_for_reading, refuse_writing)
NEW_FILE: tuple[Setting, ...] = (wait_for_locks, enable_auto_vacuum, cache_for_writing)
"""For a file that is built under a temporary name and then moved: no log, synced at its only commit."""


def connect(path: Path | str, settings: Sequence[Setting]) -> Database:
    """Open a file for reading and writing, creating it if it is missing."""
    return with_settings(apsw.Connection(str(path)), settings)


def connect_reader(path: Path, load_extension: Callable[[Database], object]) -> Database:
    """Return a new reader connection."""
    db = connect(path, READER)
    try:
        load_extension(db)
    except BaseException:
        db.close(True)
        raise
    return db


def has_module(db: Database, name: str) -> bool:
    """Return whether a virtual table module is loaded on this connection."""
    row = db.execute("SELECT 1 FROM pragma_module_list WHERE name = ?", (name,)).fetchone()
    return row is not None


def passes_check(db: Database) -> bool:
    """Return whether a database passes SQLite's quick check, which reads the whole file."""
    return db.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)]


@contextmanager
def savepoint(db: Database) -> Iterator[None]:
    """Run a block inside a transaction; if it raises, only the block is rolled back."""
    db.execute("SAVEPOINT part")
    try:
        yield
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK TO part")
            db.execute("RELEASE part")
        raise
    db.execute("RELEASE part")


@contextmanager
def transaction(db: Database) -> Iterator[None]:
    """Run a block in one write transaction; roll back if it raises."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # on a full disk SQLite rolls back itself
            db.execute("ROLLBACK")
        raise


@contextmanager
def reading(db: Database) -> Iterator[None]:
    """Run a block in one read transaction, which sees the index as of its first read."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def renew_snapshot(db: Database) -> None:
    """Restart a reader's transaction, if it is inside one, so that it sees the latest commit."""
    if db.in_transaction:
        db.execute("COMMIT")
        db.execute("BEGIN")


@contextmanager
def map_errors(path: Path) -> Iterator[None]:
    """Map errors of SQLite and of the file system to memd's errors, which name the file."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise damaged(path) from error
    except (apsw.ConnectionClosedError, apsw.CursorClosedError) as error:
        raise IndexClosedError(f"the index {path} is closed") from error
    except (apsw.InterruptError, WorkCancelledError) as error:
        raise DeadlineExceededError("reading the index exceeded the request's deadline") from error
    except apsw.FullError as error:
        raise io_error(path, "no space left on the disk") from error
    except apsw.ReadOnlyError as error:
        if extended_code(error) == apsw.SQLITE_READONLY_DBMOVED:
            raise IndexLostError(
                f"the index {path} was moved away while it was open", data={"path": str(path)}
            ) from error
        raise io_error(path, "it is read-only") from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise io_error(path, "it is locked by another process") from error
    except (apsw.CantOpenError, apsw.PermissionsError) as error:
        raise io_error(path, "it can't be opened") from error
    except (apsw.IOError, apsw.NoLFSError, apsw.NoMemError) as error:
        if extended_code(error) in UNREADABLE_CODES:
            raise IndexLostError(f"the index {path} became unreadable", data={"path": str(path)}) from error
        raise io_error(path, "reading or writing it failed") from error
    except UnicodeDecodeError as error:
        raise IndexCorruptError(
            f"the index {path} is damaged: it contains invalid UTF-8", data={"path": str(path)}
        ) from error
    except apsw.Error as error:
        # SQLite's own message may quote memory text, so only the type of the error is passed on.
        raise MemdError(f"a statement on the index {path} failed: {type(error).__name__}") from error
    except OSError as error:
        raise io_error(path, error.strerror or type(error).__name__) from error


def extended_code(error: apsw.Error) -> int:
    """Return SQLite's extended result code of an error, 0 if there is none."""
    return int(getattr(error, "extendedresult", 0))


def damaged(path: Path) -> IndexCorruptError:
    """Return the error for a damaged index."""
    return IndexCorruptError(f"the index {path} is damaged", data={"path": str(path)})


def io_error(path: Path, reason: str) -> IndexIOError:
    """Return the error for an index that can't be read or written, with the reason."""
    return IndexIOError(f"the index {path} can't be used: {reason}", data={"path": str(path)})
