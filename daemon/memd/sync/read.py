"""A memory file's text, read whole and unmoved, through no link."""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass

from memd.sync.discover import NO_DESCRIPTOR, Found
from memd_client.errors import FileMissingError, FileUnreadableError, PathRefusedError

READ_TRIES = 3
"""A file that moves under the reader is read again this often before it is left for the next sync."""


@dataclass(frozen=True, slots=True)
class FileText:
    """A file's text with the hash of its bytes and the stat it was read at.

    Attributes:
        line_map: For a transcript, the line (or event number) that each line of `text` came from; else empty.
        redactions: For a transcript, how many secrets were left out of `text`.
    """

    text: str
    hash: str
    mtime_ns: int
    size: int
    inode: int
    ctime_ns: int
    line_map: tuple[int, ...] = ()
    redactions: int = 0


def read_file(found: Found) -> FileText:
    """Return a memory file's text.

    Args:
        found: The file as discovery saw it.

    Raises:
        FileMissingError: It is gone.
        FileUnreadableError: It can't be read, is not UTF-8, is binary, or doesn't hold still.
        PathRefusedError: It became a link or something that is not a file.
    """
    for _ in range(READ_TRIES):
        data, before, after = _read_bytes(found)
        if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size) and len(
            data
        ) == before.st_size:
            return FileText(
                decode(data, found.path),
                hashlib.sha256(data).hexdigest(),
                after.st_mtime_ns,
                after.st_size,
                after.st_ino,
                after.st_ctime_ns,
            )
    raise FileUnreadableError(
        f"{found.path} is being written to; it is read again with the next change",
        hint="Nothing to do: the next search or sync reads it.",
        data={"path": found.path, "reason": "moving"},
    )


def decode(data: bytes, path: str) -> str:
    """Return a file's bytes as text.

    Args:
        data: The whole file.
        path: Its name, for the message.

    Raises:
        FileUnreadableError: Not UTF-8, or binary.
    """
    if b"\0" in data:
        raise FileUnreadableError(
            f"{path} is a binary file (it holds NUL bytes)",
            hint="Keep binary files out of memory folders, or give them another ending than .md.",
            data={"path": path, "reason": "binary"},
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileUnreadableError(
            f"{path} is not UTF-8 (byte {error.start + 1})",
            hint="Save the file as UTF-8; until then it is left out and every other file is searched.",
            data={"path": path, "reason": "not_utf8"},
        ) from None


def lines_of(text: str, from_line: int, lines: int | None, limit: int) -> tuple[str, int, int, bool]:
    """Return some lines of a text, unchanged.

    Args:
        text: The whole text.
        from_line: First line, from 1; smaller counts as 1.
        lines: How many, or None for all that follow.
        limit: Most characters to return; what is cut is said.

    Returns:
        (the lines, how many they are, how many the text has, whether `limit` cut them).
    """
    every = text.split("\n")
    total = len(every) - 1 if every[-1] == "" else len(every)
    first = max(1, from_line) - 1
    wanted = every[first:] if lines is None else every[first : first + max(0, lines)]
    cut = "\n".join(wanted)
    truncated = len(cut) > limit
    if truncated:
        cut = cut[:limit]
    count = 0 if first >= total else min(cut.count("\n") + 1, total - first)
    return cut, count, total, truncated


def _read_bytes(found: Found) -> tuple[bytes, os.stat_result, os.stat_result]:
    """Return a file's bytes and its stat before and after the read."""
    # O_NONBLOCK: a FIFO that took the file's place must not hang the reader.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(found.location, flags)
    except FileNotFoundError:
        raise FileMissingError(f"{found.path} is gone", data={"path": found.path}) from None
    except OSError as error:
        if os.path.islink(found.location):
            raise PathRefusedError(f"{found.path} is a symbolic link", data={"path": found.path}) from None
        reason = "descriptors" if error.errno in NO_DESCRIPTOR else "os"
        raise FileUnreadableError(
            f"{found.path} can't be read: {error.strerror}", data={"path": found.path, "reason": reason}
        ) from None
    try:
        before = os.fstat(handle)
        if not stat.S_ISREG(before.st_mode):
            raise PathRefusedError(f"{found.path} is not a regular file", data={"path": found.path})
        with os.fdopen(os.dup(handle), "rb") as file:
            data = file.read()
        return data, before, os.fstat(handle)
    except OSError as error:
        raise FileUnreadableError(
            f"{found.path} can't be read: {error.strerror}", data={"path": found.path, "reason": "os"}
        ) from None
    finally:
        os.close(handle)
