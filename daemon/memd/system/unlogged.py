"""Reads of a database in write-ahead-log mode that no program has open, without creating its log.

SQLite creates `-wal` and `-shm` files next to such a database even for a read, and leaves them. Its header says that
it has a log; shown without that, it is read like one that never had a log, under the lock that a reader takes.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import apsw

_VFS: Final = "memd-unlogged"
_MODES_AT: Final = 18
_LOG_AHEAD, _ROLL_BACK = b"\x02\x02", b"\x01\x01"


class UnloggedFile(apsw.VFSFile):
    """A database file whose header says that it has no write-ahead log."""

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        """Return a part of the file."""
        data = super().xRead(amount, offset)
        start = _MODES_AT - offset
        if start >= 0 and data[start : start + 2] == _LOG_AHEAD:
            return data[:start] + _ROLL_BACK + data[start + 2 :]
        return data


class UnloggedFiles(apsw.VFS):
    """The system's files; databases are shown without a log."""

    def __init__(self) -> None:
        super().__init__(_VFS, "")

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        """Open a file."""
        return UnloggedFile("", name, flags)


@cache
def unlogged_vfs() -> str:
    """Return the name under which SQLite opens databases without a log; registered once per process."""
    _registered.append(UnloggedFiles())
    return _VFS


_registered: list[UnloggedFiles] = []
