"""Databases of other programs, opened for short reads that create no file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from memd.index.database import Database, connect_read_only
from memd.index.unlogged import unlogged_vfs

BUSY_MS = 100
"""How long a read waits for a lock, which readers of a write-ahead log rarely need."""


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
        with db:
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
    missing = "no such table" in str(error) or "no such column" in str(error)
    reason = "it is locked" if busy else f"it has another schema ({error})" if missing else str(error)
    return ForeignDatabaseError(reason, busy=busy, unknown=missing)


def _is_there(path: Path, ending: str) -> bool:
    return os.path.lexists(f"{path}{ending}")


def _state_of(path: Path) -> tuple[int, ...]:
    """Return the facts of a file that change with every write; empty if it doesn't exist."""
    try:
        facts = os.stat(path)
    except (OSError, ValueError):
        return ()
    return facts.st_ino, facts.st_size, facts.st_mtime_ns
