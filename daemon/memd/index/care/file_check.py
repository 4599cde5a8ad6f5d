"""What lies at the path of an index, seen without SQLite: nothing is locked, written or made beside it.

`store.path` may name anything. Only a file that carries the application id of memd is an index of memd, and only such a
file is ever opened for writing, moved or replaced. At the path memd chooses itself there is nothing of anybody else.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import closing
from enum import Enum
from pathlib import Path
from typing import BinaryIO, NamedTuple

import apsw

from memd.index.database import connect_read_only
from memd.index.schema import APPLICATION_ID
from memd.system.state_file import NotRegularFileError, open_regular
from memd_client.errors import IndexIOError

LOG_FILES = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a file; never of use without it."""

MAGIC = b"SQLite format 3\0"
HEADER_BYTES = 100
"""Length of SQLite's file header; see its file format documentation for the offsets below."""
USER_VERSION_AT = 60
APPLICATION_ID_AT = 68
RESERVED_AT = 72
RESERVED_BYTES = 20
"""Bytes that SQLite keeps zero. Behind an application id they tell a header that is damaged from a text."""

LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
JOURNAL_MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
SHARED_MAGIC = ((3007000).to_bytes(4, "little"), (3007000).to_bytes(4, "big"))
LOG_HEADER_BYTES, FRAME_HEADER_BYTES = 32, 24
MAX_FRAMES = 4_000
"""Most frames of a log that are looked at. The first transaction of an index writes the first page, and is short."""

HINT = "Nothing was changed. Set store.path to another file, or remove this one if it is a damaged index of memd."


class FileKind(Enum):
    """What a file is to memd."""

    MISSING = "missing"
    EMPTY = "an empty file"
    OURS = "an index of memd"
    UNMARKED = "a SQLite database without an application id"
    DATABASE = "a SQLite database of another program"
    OTHER = "no SQLite database"


class FileFacts(NamedTuple):
    """What lies at a path; the version is that of an index of memd, 0 where its header is damaged."""

    kind: FileKind
    version: int = 0


def inspect(path: Path) -> FileFacts:
    """Return what lies at a path; a link is followed."""
    try:
        with open_regular(path) as file:
            header = file.read(HEADER_BYTES)
    except FileNotFoundError:
        return FileFacts(FileKind.MISSING)
    except NotRegularFileError:
        raise refused(path, "it is not a regular file") from None
    except OSError:
        if path.exists() and not path.is_file():  # a socket can't even be opened
            raise refused(path, "it is not a regular file") from None
        raise
    if not header:
        return FileFacts(FileKind.EMPTY)
    is_sqlite = len(header) == HEADER_BYTES and header.startswith(MAGIC)
    if _has_our_id(header) or (is_sqlite and _is_ours_by_log(path)):
        return FileFacts(FileKind.OURS, _version(path, header) if is_sqlite else 0)
    if not is_sqlite:
        return FileFacts(FileKind.OTHER)
    marks = header[USER_VERSION_AT : USER_VERSION_AT + 4] + header[APPLICATION_ID_AT : APPLICATION_ID_AT + 4]
    return FileFacts(FileKind.UNMARKED if not any(marks) else FileKind.DATABASE)


def is_ours(path: Path) -> bool:
    """Return whether a regular file, not a link, carries the application id of memd."""
    try:
        return not path.is_symlink() and inspect(path).kind is FileKind.OURS
    except apsw.Error:
        return True  # it carries the id, and its log is damaged
    except (OSError, IndexIOError):
        return False


def refused(path: Path, reason: str, hint: str = HINT) -> IndexIOError:
    """Return the error of a file that is left exactly as it is."""
    return IndexIOError(
        f"the index {path} can't be used: {reason}", hint=hint, data={"path": str(path), "refused": True}
    )


def check_logs(path: Path, *, is_missing: bool) -> None:
    """Refuse a path beside which SQLite would overwrite or remove what memd didn't write."""
    starts = {"-wal": LOG_MAGIC, "-shm": SHARED_MAGIC, "-journal": (JOURNAL_MAGIC,)}
    for suffix in LOG_FILES:
        beside = path.with_name(path.name + suffix)
        try:
            if not stat.S_ISREG(os.lstat(beside).st_mode):
                raise refused(path, f"{beside.name} beside it is not a regular file")
        except FileNotFoundError:
            continue
        with open_regular(beside) as file:
            start = file.read(8)
        # A log that was emptied, or lost its bytes in a power cut, is none of a user's files either.
        if any(start) and not start.startswith(starts[suffix]):
            raise refused(path, f"{beside.name} beside it is no file of SQLite", f"Move {beside} away.")
        if is_missing and any(start) and suffix != "-shm" and not _is_ours_by_log(path):
            raise refused(path, f"{beside.name} was left there by another database", f"Move {beside} away.")


def _has_our_id(header: bytes) -> bool:
    """Return whether a header carries the application id of memd, whatever else is damaged in it."""
    mark = APPLICATION_ID.to_bytes(4, "big") + bytes(RESERVED_BYTES)
    return header[APPLICATION_ID_AT : RESERVED_AT + RESERVED_BYTES] == mark


def _version(path: Path, header: bytes) -> int:
    """Return `user_version` of an index of memd. SQLite is asked where a log beside the file may be newer."""
    try:
        with open_regular(path.with_name(path.name + "-wal"), through_link=False) as log:
            has_log = log.read(len(LOG_MAGIC[0])) in LOG_MAGIC
    except FileNotFoundError:
        has_log = False
    if not has_log:
        return int.from_bytes(header[USER_VERSION_AT : USER_VERSION_AT + 4], "big")
    with closing(connect_read_only(path)) as db:
        return int(db.pragma("user_version"))


def _is_ours_by_log(path: Path) -> bool:
    """Return whether a log beside a file has a first page with the id of memd, as a writer of a new file leaves it."""
    try:
        with open_regular(path.with_name(path.name + "-wal"), through_link=False) as log:
            return any(_has_our_id(page) for page in _first_pages(log))
    except OSError:
        return False


def _first_pages(log: BinaryIO) -> Iterator[bytes]:
    """Yield the header of each first page in a write-ahead log."""
    head = log.read(LOG_HEADER_BYTES)
    size = int.from_bytes(head[8:12], "big")
    if not head.startswith(LOG_MAGIC) or not 512 <= size <= 65_536:
        return
    for number in range(MAX_FRAMES):
        log.seek(LOG_HEADER_BYTES + number * (FRAME_HEADER_BYTES + size))
        frame = log.read(FRAME_HEADER_BYTES + HEADER_BYTES)
        if len(frame) < FRAME_HEADER_BYTES + HEADER_BYTES:
            return
        if frame[:4] == b"\0\0\0\1" and frame[FRAME_HEADER_BYTES:].startswith(MAGIC):
            yield frame[FRAME_HEADER_BYTES:]
