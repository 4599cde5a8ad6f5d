"""Inspects the file at an index's path without SQLite: nothing is locked, written or created next to it.

`store.path` may name any file. Only a file with the application id of memd is an index of memd, and only such a file
is ever opened for writing, moved or replaced. At memd's default path no other program keeps files.
"""

from __future__ import annotations

import os
import stat
from contextlib import closing
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import apsw

from memd.index.schema import APPLICATION_ID
from memd.system.sqlite import connect_read_only
from memd.system.state_file import NotRegularFileError, open_regular
from memd_client.errors import IndexIOError

SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")
"""Suffixes of SQLite's own files next to a database; useless without it."""

MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
"""Length of SQLite's file header; see its file format documentation for the offsets below."""
USER_VERSION_AT = 60
APPLICATION_ID_AT = 68
RESERVED_AT = 72
RESERVED_BYTES = 20
"""Bytes that SQLite keeps zero. After an application id they distinguish a damaged header from arbitrary text."""

LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
JOURNAL_MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
SHARED_MAGIC = ((3007000).to_bytes(4, "little"), (3007000).to_bytes(4, "big"))

HINT = "set store.path to another file, or remove this one if it is a damaged index of memd"
PATH_HINT = "set store.path to another file"


class FileKind(Enum):
    """Kinds of files at an index's path."""

    MISSING = "missing"
    EMPTY = "an empty file"
    OURS = "an index of memd"
    UNMARKED = "a SQLite database without an application id"
    DATABASE = "a SQLite database of another program"
    OTHER = "not a SQLite database"


class FileFacts(NamedTuple):
    """The kind of a file, and the version of an index of memd (0 if its header is damaged)."""

    kind: FileKind
    version: int = 0


def inspect(path: Path) -> FileFacts:
    """Return the kind of the file at a path; a link is followed."""
    try:
        with open_regular(path) as file:
            header = file.read(HEADER_BYTES)
    except FileNotFoundError:
        return FileFacts(FileKind.MISSING)
    except NotRegularFileError:
        raise refusal(path, "it is not a regular file") from None
    except OSError:
        if path.exists() and not path.is_file():  # a socket can't even be opened
            raise refusal(path, "it is not a regular file") from None
        raise
    if not header:
        return FileFacts(FileKind.EMPTY)
    is_sqlite = len(header) == HEADER_BYTES and header.startswith(MAGIC)
    if _has_our_id(header):
        return FileFacts(FileKind.OURS, _version(path, header) if is_sqlite else 0)
    if not is_sqlite:
        return FileFacts(FileKind.OTHER)
    ids = header[USER_VERSION_AT : USER_VERSION_AT + 4] + header[APPLICATION_ID_AT : APPLICATION_ID_AT + 4]
    return FileFacts(FileKind.UNMARKED if not any(ids) else FileKind.DATABASE)


def is_memd_index(path: Path) -> bool:
    """Return whether a path is a regular file, not a link, with the application id of memd."""
    try:
        return not path.is_symlink() and inspect(path).kind is FileKind.OURS
    except apsw.Error:
        return True  # it has the id, and its log is damaged
    except (OSError, IndexIOError):
        return False


def refusal(path: Path, reason: str, hint: str = HINT) -> IndexIOError:
    """Return the error for a file that memd can't use and leaves unchanged."""
    return IndexIOError(
        f"the index {path} can't be used: {reason}", hint=hint, data={"path": str(path), "refused": True}
    )


def check_logs(path: Path, *, is_missing: bool) -> None:
    """Refuse a path if SQLite would overwrite or remove files next to it that memd didn't write."""
    starts = {"-wal": LOG_MAGIC, "-shm": SHARED_MAGIC, "-journal": (JOURNAL_MAGIC,)}
    for suffix in SQLITE_SUFFIXES:
        log = path.with_name(path.name + suffix)
        try:
            if not stat.S_ISREG(os.lstat(log).st_mode):
                raise refusal(path, f"{log.name} next to it is not a regular file")
        except FileNotFoundError:
            continue
        with open_regular(log) as file:
            start = file.read(8)
        # A log that was emptied, or that lost its contents in a power cut, is not a user's file either.
        if any(start) and not start.startswith(starts[suffix]):
            raise refusal(path, f"{log.name} next to it is not a file of SQLite", f"move {log} away")
        if is_missing and any(start) and suffix != "-shm":
            raise refusal(path, f"{log.name} was left by another database", f"move {log} away")


def _has_our_id(header: bytes) -> bool:
    """Return whether a header has the application id of memd, even if the rest is damaged."""
    expected = APPLICATION_ID.to_bytes(4, "big") + bytes(RESERVED_BYTES)
    return header[APPLICATION_ID_AT : RESERVED_AT + RESERVED_BYTES] == expected


def _version(path: Path, header: bytes) -> int:
    """Return `user_version` of an index of memd, through SQLite if its log may have a newer one."""
    try:
        with open_regular(path.with_name(path.name + "-wal"), through_link=False) as log:
            has_log = log.read(len(LOG_MAGIC[0])) in LOG_MAGIC
    except FileNotFoundError:
        has_log = False
    if not has_log:
        return int.from_bytes(header[USER_VERSION_AT : USER_VERSION_AT + 4], "big")
    with closing(connect_read_only(path)) as db:
        return int(db.pragma("user_version"))
