"""Databases of other programs, opened for short reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from memd.index.database import Database, connect_read_only

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

    Raises:
        ForeignDatabaseError: It can't be opened or read.
    """
    try:
        db = connect_read_only(path)
    except apsw.Error as error:
        raise as_foreign_error(error) from None
    try:
        db.set_busy_timeout(BUSY_MS)
        with db:
            yield db
    except apsw.Error as error:
        raise as_foreign_error(error) from None
    finally:
        db.close(True)


def as_foreign_error(error: apsw.Error) -> ForeignDatabaseError:
    """Return an error of SQLite as one of a foreign database."""
    busy = isinstance(error, (apsw.BusyError, apsw.LockedError))
    missing = "no such table" in str(error) or "no such column" in str(error)
    reason = "it is locked" if busy else f"it has another schema ({error})" if missing else str(error)
    return ForeignDatabaseError(reason, busy=busy, unknown=missing)
