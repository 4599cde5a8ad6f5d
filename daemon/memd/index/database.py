"""The border to SQLite: connections, their settings, and its errors turned into ours.

Nothing but this module makes a connection. It knows no table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import apsw

from memd.system.cancellation import WorkCancelledError
from memd_client.errors import (
    DeadlineExceededError,
    IndexClosedError,
    IndexCorruptError,
    IndexIOError,
    IndexLostError,
    MemdError,
)

Database: TypeAlias = apsw.Connection
"""A connection; the functions of this room take one and know nothing of threads."""

Setting: TypeAlias = Callable[[Database], None]
"""One named setting of a connection."""

PAGE_BYTES = 8192
"""Page size. Vectors of 384 to 1536 dimensions (1.5 to 6 kB) fit a page without an overflow chain."""

BUSY_MS = 5_000
"""How long a statement waits for a lock. Only the daemon opens the file, so this is met only by an
outsider (a backup, a curious `sqlite3`)."""

WAL_PAGES = 1_000
"""Pages after which the write that is just made brings the log into the file: 8 MB. That write waits for the disk,
and a note written during a long sync waits behind it: at 2 MB, one in six came too late for its search."""

WAL_LIMIT_BYTES = 8 * 1_048_576
"""What the log file shrinks to after a burst, so that one long transaction doesn't hold disk for ever."""

WRITER_CACHE_KIB = 8_192
READER_CACHE_KIB = 49_152
"""Page cache of a connection. The system caches the file as well, but to read a page of it costs a call: with 4 MB a
search among 15,000 chunks made 490 of them, with 16 MB 130, with this next to none, which is a tenth of its time. It
is given back at rest, and `limit_page_caches` bounds all of them together."""

MAPPED_BYTES = 2_147_418_112
"""As much of a file as SQLite maps into memory at most; nearly all indexes are smaller."""

UNREADABLE = (
    apsw.SQLITE_IOERR_READ,
    apsw.SQLITE_IOERR_SHORT_READ,
    apsw.SQLITE_IOERR_DATA,
    apsw.SQLITE_IOERR_CORRUPTFS,
)
"""What SQLite says of a file whose bytes can't be had: opening it anew helps, or building it anew."""


def wait_for_locks(db: Database) -> None:
    """Wait for an outsider's lock instead of failing at once."""
    db.set_busy_timeout(BUSY_MS)


def shrink_by_itself(db: Database) -> None:
    """Let deleted pages go back to the system; counts only before the first table."""
    if db.pragma("auto_vacuum") != 2:  # said again, it would be written again
        db.pragma("page_size", PAGE_BYTES)
        db.pragma("auto_vacuum", 2)


def log_ahead(db: Database) -> None:
    """Write to a log first: readers never wait, and a kill at any moment leaves the last commit."""
    db.pragma("journal_mode", "wal")
    db.pragma("wal_autocheckpoint", WAL_PAGES)
    db.pragma("journal_size_limit", WAL_LIMIT_BYTES)


def sync_at_checkpoints(db: Database) -> None:
    """Sync at checkpoints only: a crash of the machine may lose the newest commits, never the file."""
    db.pragma("synchronous", 1)


def keep_references(db: Database) -> None:
    """Enforce foreign keys, should a later table have some."""
    db.pragma("foreign_keys", 1)


def cache_for_writing(db: Database) -> None:
    """Set the writer's page cache."""
    db.pragma("cache_size", -WRITER_CACHE_KIB)


def cache_for_reading(db: Database) -> None:
    """Set a reader's page cache."""
    db.pragma("cache_size", -READER_CACHE_KIB)


def map_pages(db: Database) -> None:
    """Read pages where the system has them, instead of copies of one's own.

    Processes that search the same index then have them once, in memory and in the cores' caches: of two that search at
    the same time each takes a fifteenth less of the processor, and 23 of 95 MB less memory. A process is killed where
    somebody cuts the file short under it: nothing for the daemon itself.
    """
    db.pragma("mmap_size", MAPPED_BYTES)


def limit_page_caches(limit_bytes: int) -> None:
    """Bound the page caches of all connections of this process together; beyond it pages are used again."""
    apsw.soft_heap_limit(limit_bytes)


def page_cache_bytes() -> int:
    """Return the memory SQLite holds for all connections of this process, in bytes."""
    return int(apsw.memory_used())


def refuse_writing(db: Database) -> None:
    """Make any write through this connection an error."""
    db.pragma("query_only", 1)


WRITER: tuple[Setting, ...] = (
    wait_for_locks,
    shrink_by_itself,
    log_ahead,
    sync_at_checkpoints,
    keep_references,
    cache_for_writing,
)
READER: tuple[Setting, ...] = (wait_for_locks, cache_for_reading, refuse_writing)
MAPPING_READER: tuple[Setting, ...] = (*READER, map_pages)
BESIDE: tuple[Setting, ...] = (wait_for_locks, shrink_by_itself, cache_for_writing)
"""A file built beside another and moved over it when whole: no log, synced at its one commit."""
FOREIGN: tuple[Setting, ...] = (wait_for_locks, refuse_writing)


def connect(path: Path | str, settings: Sequence[Setting]) -> Database:
    """Open a file for reading and writing, making it where it is missing."""
    return with_settings(apsw.Connection(str(path)), settings)


def connect_read_only(path: Path) -> Database:
    """Open a file that may be someone else's: nothing is written, no log is switched on."""
    return with_settings(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY), FOREIGN)


def with_settings(db: Database, settings: Sequence[Setting]) -> Database:
    """Apply settings, closing the connection where one fails."""
    try:
        for apply in settings:
            apply(db)
    except BaseException:
        db.close(True)
        raise
    return db


def connect_reader(path: Path, load_extension: Callable[[Database], object]) -> Database:
    """Return a new reader."""
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
    """Return whether a database is sound, by reading the whole of it."""
    return db.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)]


def get_int(db: Database, statement: str, values: Sequence[str | int] = ()) -> int:
    """Return the one number a statement gives."""
    return int(db.execute(statement, values).get)


@contextmanager
def savepoint(db: Database) -> Iterator[None]:
    """Run a block inside a transaction; where it fails, only the block is undone."""
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
    """Run a block in one write transaction: committed whole, or as if it had never begun."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # a full disk makes SQLite roll back by itself
            db.execute("ROLLBACK")
        raise


@contextmanager
def reading(db: Database) -> Iterator[None]:
    """Run a block in one read transaction: all of it sees the index as it is at its first read."""
    db.execute("BEGIN")
    try:
        yield
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def renew_snapshot(db: Database) -> None:
    """Let a reader see the newest commit from here on, where it is inside a transaction."""
    if db.in_transaction:
        db.execute("COMMIT")
        db.execute("BEGIN")


@contextmanager
def map_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite and the file system raise into the errors of memd, naming the file."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise damaged(path) from error
    except (apsw.ConnectionClosedError, apsw.CursorClosedError) as error:
        raise IndexClosedError(f"the index {path} is closed") from error
    except (apsw.InterruptError, WorkCancelledError) as error:
        raise DeadlineExceededError("the index took longer than the request allowed") from error
    except apsw.FullError as error:
        raise io_error(path, "there is no space left for it") from error
    except apsw.ReadOnlyError as error:
        if extended_code(error) == apsw.SQLITE_READONLY_DBMOVED:
            raise IndexLostError(
                f"the index {path} was moved away while it was open", data={"path": str(path)}
            ) from error
        raise io_error(path, "it is read-only") from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise io_error(path, "another process holds it locked") from error
    except (apsw.CantOpenError, apsw.PermissionsError) as error:
        raise io_error(path, "it can't be opened") from error
    except (apsw.IOError, apsw.NoLFSError, apsw.NoMemError) as error:
        if extended_code(error) in UNREADABLE:
            raise IndexLostError(
                f"the index {path} can't be read any more", data={"path": str(path)}
            ) from error
        raise io_error(path, "reading or writing it failed") from error
    except UnicodeDecodeError as error:
        raise IndexCorruptError(
            f"the index {path} is damaged: it holds text that is none", data={"path": str(path)}
        ) from error
    except apsw.Error as error:
        # SQLite's own words may quote memory text, so only the kind of error is handed on.
        raise MemdError(f"a statement on the index {path} failed: {type(error).__name__}") from error
    except OSError as error:
        raise io_error(path, error.strerror or type(error).__name__) from error


def extended_code(error: apsw.Error) -> int:
    """Return SQLite's more exact code of an error, 0 where it gave none."""
    return int(getattr(error, "extendedresult", 0))


def damaged(path: Path) -> IndexCorruptError:
    """Return an error that names the file."""
    return IndexCorruptError(f"the index {path} is damaged", data={"path": str(path)})


def io_error(path: Path, reason: str) -> IndexIOError:
    """Return an error that names the file and what is wrong with it."""
    return IndexIOError(f"the index {path} can't be used: {reason}", data={"path": str(path)})
