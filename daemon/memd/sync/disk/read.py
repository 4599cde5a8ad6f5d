"""A memory file's text, read whole and unmoved, through no link; or why a path can't be read.

Discovery tells where a file was. It is opened by descriptors, from its root down, so that a folder exchanged
for a link since then (or right now) leads nowhere.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from typing import NamedTuple

from memd.sync.disk.discover import NO_DESCRIPTOR, Discovery, Found
from memd.sync.disk.rules import describe_refusal, is_memory_path
from memd.sync.disk.safe_open import LinkOnTheWayError, NoWayDownError, open_file
from memd.system import units
from memd.text.query.typos import find_similar_paths
from memd_client.errors import FileMissingError, FileUnreadableError, MemdError, PathRefusedError

READ_TRIES = 3
"""A file that moves under the reader is read again this often before it is left for the next sync."""


class Reset(NamedTuple):
    """Where a transcript was reset: one conversation ends, the next goes on under the same session id.

    Attributes:
        end_line: The line of the text before which the earlier conversation ends; one past the last line when nothing
            follows.
        first_line: The line with which the later one begins: `end_line`, or an earlier line that it goes on with.
    """

    end_line: int
    first_line: int


@dataclass(frozen=True, slots=True)
class FileText:
    """A file's text with the hash of its bytes and the stat it was read at.

    Attributes:
        line_map: For a transcript, the line (or event number) that each line of `text` came from; else empty.
        redactions: For a transcript, how many secrets were left out of `text`.
        resets: For a transcript, where one conversation ends and the next begins, in order.
        size: Of the whole file, also when `text` is only its beginning; `hash` is then of that beginning.
    """

    text: str
    hash: str
    mtime_ns: int
    size: int
    inode: int
    ctime_ns: int
    line_map: tuple[int, ...] = ()
    redactions: int = 0
    resets: tuple[Reset, ...] = ()


def read_file(found: Found, max_bytes: int, *, cut: bool = False) -> FileText:
    """Return a memory file's text."""
    for _ in range(READ_TRIES):
        data, before, after = _read_bytes(found, max_bytes, cut=cut)
        if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size) and len(data) == min(
            before.st_size, max_bytes + 1
        ):
            _check_binary(data, found.path)
            data = whole_lines(data, max_bytes)
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


def whole_lines(data: bytes, max_bytes: int) -> bytes:
    """Return the whole lines within a file's first bytes; of a line that is longer, its whole characters."""
    if len(data) <= max_bytes:
        return data
    end = data.rfind(b"\n", 0, max_bytes) + 1
    if not end:
        end = max_bytes
        while end and data[end] & 0xC0 == 0x80:  # within a character
            end -= 1
    return data[:end]


def decode(data: bytes, path: str) -> str:
    """Return a file's bytes as text."""
    _check_binary(data, path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileUnreadableError(
            f"{path} is not UTF-8 (byte {error.start + 1})",
            hint="Save the file as UTF-8; until then it is left out and every other file is searched.",
            data={"path": path, "reason": "not_utf8"},
        ) from None


def _check_binary(data: bytes, path: str) -> None:
    """Raise `FileUnreadableError` when a file's bytes are no text."""
    if b"\0" in data:
        raise FileUnreadableError(
            f"{path} is a binary file (it holds NUL bytes)",
            hint="Keep binary files out of memory folders, or give them another ending than .md.",
            data={"path": path, "reason": "binary"},
        )


def lines_of(text: str, from_line: int, lines: int | None, limit: int) -> tuple[str, int, int, bool]:
    """Return some lines of a text, unchanged."""
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


def _read_bytes(found: Found, max_bytes: int, *, cut: bool) -> tuple[bytes, os.stat_result, os.stat_result]:
    """Return a file's bytes and its stat before and after the read."""
    try:
        handle = open_file(found.root, found.location)
        try:
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode):
                raise _moved(found, "is not a regular file")
            if before.st_size > max_bytes and not cut:
                raise _too_big(found, before.st_size, max_bytes)
            with open(handle, "rb", closefd=False) as file:
                # One byte more than there was: a file that grows is seen to move, and never fills the memory.
                data = file.read(min(before.st_size, max_bytes) + 1)
            return data, before, os.fstat(handle)
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise FileMissingError(f"{found.path} is gone", data={"path": found.path}) from None
    except LinkOnTheWayError:
        raise _moved(found, "is a symbolic link, or lies behind one") from None
    except NoWayDownError:
        raise PathRefusedError(f"{found.path} is not below its root", data={"path": found.path}) from None
    except OSError as error:
        reason = "descriptors" if error.errno in NO_DESCRIPTOR else "os"
        if error.errno == errno.ENOTDIR:
            reason = (
                "moving"  # a file, or a link that is gone again, stood where discovery went through a folder
            )
        raise FileUnreadableError(
            f"{found.path} can't be read: {error.strerror}", data={"path": found.path, "reason": reason}
        ) from None


def _moved(found: Found, what: str) -> PathRefusedError:
    """Return the error of a path that became something else since discovery saw a file there.

    What it is to the index, the next look at the disk says: this one is merely late.
    """
    return PathRefusedError(f"{found.path} {what}", data={"path": found.path, "reason": "moving"})


def _too_big(found: Found, size: int, limit: int) -> FileUnreadableError:
    """Return the error of a file that grew beyond what is read."""
    return FileUnreadableError(
        f"{found.path} is too big: {units.size(size)}, the limit is {units.size(limit)}",
        hint="Split the file, or raise `max_file_mb` in memd.toml.",
        data={"path": found.path, "reason": "too_big"},
    )


def refusal_of(path: str, disk: Discovery, workspace: str) -> MemdError:
    """Return why a path that is not among the files can't be read (blocking: looks for the file)."""
    shown = path[:200]
    for skipped in disk.skipped:
        if path == skipped.path or path.startswith(f"{skipped.path}/"):
            return PathRefusedError(f"{shown} is left out: {skipped.reason}", data={"path": shown})
    if not is_memory_path(path):
        return PathRefusedError(f"{shown!r} is refused: {describe_refusal(path)}", data={"path": shown})
    if disk.beyond_limits and os.path.lexists(os.path.join(workspace, path)):
        return PathRefusedError(
            f"{shown} is left out: the agent has more files than its limits allow",
            hint="Narrow `extraPaths`, or raise `max_agent_files` and `max_agent_mb` in memd.toml.",
            data={"path": shown},
        )
    near = find_similar_paths(path, disk.files)
    if not near:
        return FileMissingError(f"there is no {shown}", data={"path": shown})
    hint = f"Did you mean {_either(near)}?"
    return FileMissingError(f"there is no {shown}", hint=hint, data={"path": shown, "near": near})


def _either(names: list[str]) -> str:
    """Return names as a choice: `a, b or c`."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
