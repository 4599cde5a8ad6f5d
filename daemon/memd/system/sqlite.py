"""SQLite connections, and databases of other programs.

Those are opened for short reads that create no file and end, whatever the file contains.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

import apsw
import trio

from memd.system.unlogged import unlogged_vfs

Database: TypeAlias = apsw.Connection
"""A connection. Functions that take one are independent of threads."""

Setting: TypeAlias = Callable[[Database], None]
"""One named setting of a connection."""

LOCK_TIMEOUT_MS = 5_000
"""How long a statement waits for a lock of another process, such as a backup or a `sqlite3` shell."""

MAX_FOREIGN_BYTES = 64 * 1_048_576
"""Longest value that is read from a file of another program."""

STEPS_BETWEEN_CHECKS = 50_000
"""Steps of SQLite's virtual machine between two checks for cancellation: about a millisecond."""

BUSY_MS = 100
"""How long a read waits for a lock, which readers of a write-ahead log rarely need."""


READ_LIMIT_S = 5.0
"""Longest read; listing a million messages takes 0.1 s."""


def wait_for_locks(db: Database) -> None:
    """Wait for another process's lock instead of failing at once."""
    db.set_busy_timeout(LOCK_TIMEOUT_MS)


def distrust_schema(db: Database) -> None:
    """Run no view, trigger or function that the file defines, and load no value that fills the RAM."""
    for switch in (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER):
        db.config(switch, 0)
    db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    db.limit(apsw.SQLITE_LIMIT_LENGTH, MAX_FOREIGN_BYTES)


def refuse_writing(db: Database) -> None:
    """Make the connection read-only."""
    db.pragma("query_only", 1)


READ_ONLY: tuple[Setting, ...] = (wait_for_locks, distrust_schema, refuse_writing)


def with_settings(db: Database, settings: Sequence[Setting]) -> Database:
    """Apply settings and return the connection; close it if a setting fails."""
    try:
        for apply in settings:
            apply(db)
    except BaseException:
        db.close(True)
        raise
    return db


def connect_read_only(path: Path, vfs: str | None = None) -> Database:
    """Open a file that may belong to another program: nothing is written, and its log mode stays."""
    return with_settings(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY, vfs=vfs), READ_ONLY)


def get_int(db: Database, statement: str, values: Sequence[str | int] = ()) -> int:
    """Return the single integer that a statement selects."""
    return int(db.execute(statement, values).get)


class ForeignDatabaseError(Exception):
    """Another program's database can't be read now.

    Attributes:
        reason: The cause, as part of a sentence.
        busy: Whether it is only locked temporarily.
        unknown: Whether it has no schema that is known, and must not be read at all.
    """

    def __init__(self, reason: str, *, busy: bool = False, unknown: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.busy = busy
        self.unknown = unknown


@contextmanager
def bounded(db: Database) -> Iterator[None]:
    """Interrupt statements after `READ_LIMIT_S`, and when the task that waits for this thread is cancelled.

    What another program wrote may be endless.
    """
    until = time.monotonic() + READ_LIMIT_S

    def must_end() -> bool:
        with suppress(RuntimeError):  # not a thread of trio
            trio.from_thread.check_cancelled()
        return time.monotonic() > until

    db.set_progress_handler(must_end, STEPS_BETWEEN_CHECKS)
    try:
        yield
    finally:
        db.set_progress_handler(None)


def columns_of(db: Database, table: str) -> dict[str, str]:
    """Return the columns of a table with their declared types; empty for a view, a virtual table, and without one."""
    rows = db.execute(
        """SELECT i.name, upper(i.type) FROM pragma_table_list(?1) AS t JOIN pragma_table_info(?1) AS i
           WHERE t.schema = 'main' AND t.type = 'table'""",
        (table,),
    )
    return {str(name): str(kind) for name, kind in rows}


@contextmanager
def opened_foreign(path: Path) -> Iterator[Database]:
    """Yield a database of another program within one read transaction.

    A database that a program has open is read with its log, which exists then. Without a log it is read as one that
    never had one. If a program opens it during such a read, the error says busy, and what was read must not be used.

    Raises:
        ForeignDatabaseError: It can't be opened or read.
    """
    has_log, has_log_index = (_is_there(path, ending) for ending in ("-wal", "-shm"))
    if has_log and not has_log_index:
        raise ForeignDatabaseError("its log has no index until its program opens it")
    before = _state_of(path)
    try:
        db = connect_read_only(path) if has_log else connect_read_only(path, vfs=unlogged_vfs())
    except apsw.Error as error:
        raise as_foreign_error(error) from None
    try:
        db.set_busy_timeout(BUSY_MS)
        with db, bounded(db):
            yield db
        if not has_log and (_is_there(path, "-wal") or _state_of(path) != before):
            raise ForeignDatabaseError("its program opened it during the read", busy=True)
    except apsw.Error as error:
        raise as_foreign_error(error) from None
    except UnicodeError:
        raise ForeignDatabaseError("it contains invalid UTF-8") from None
    finally:
        db.close(True)


def as_foreign_error(error: apsw.Error) -> ForeignDatabaseError:
    """Return an error of SQLite as one of a foreign database."""
    busy = isinstance(error, (apsw.BusyError, apsw.LockedError))
    is_endless = isinstance(error, apsw.InterruptError)
    is_damaged = isinstance(error, (apsw.NotADBError, apsw.CorruptError))
    missing = isinstance(error, apsw.SQLError)
    reason = "it is locked" if busy else f"it has another schema ({error})" if missing else str(error)
    if is_endless:
        reason = f"reading it takes longer than {READ_LIMIT_S:g} s"
    elif is_damaged:
        reason = f"it is damaged ({error})"
    return ForeignDatabaseError(reason, busy=busy, unknown=missing or is_endless or is_damaged)


def _is_there(path: Path, ending: str) -> bool:
    return os.path.lexists(f"{path}{ending}")


def _state_of(path: Path) -> tuple[int, ...]:
    """Return the facts of a file that change with every write; empty if it doesn't exist."""
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return ()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns
