"""Reads memory files consistently and without following links, and explains paths that can't be read.

A file is opened by descriptors, name by name from its root, so that a folder that was replaced by a link since
discovery is not followed.
"""

from __future__ import annotations

import errno
import hashlib
import os
import posixpath
import stat

from memd.sources.rules import PRIVATE_FOLDER, describe_refusal, is_memory_path
from memd.sources.source import FileText, Listing, SourceFile
from memd.system import units
from memd.system.safe_open import NO_DESCRIPTOR, OutsideRootError, SymlinkInPathError, open_file, stat_of
from memd.text.lines import whole_lines
from memd.text.query.typos import find_similar_paths
from memd_client.errors import FileMissingError, FileUnreadableError, MemdError, PathRefusedError

READ_TRIES = 3
"""Attempts to read a file that changes while it is read, before it is left to the next sync."""


def read_file(found: SourceFile, max_bytes: int, *, cut: bool = False) -> FileText:
    """Return a memory file's text; of a file larger than `max_bytes` its beginning if `cut`, else raise."""
    for _ in range(READ_TRIES):
        data, before, after = _read_bytes(found, max_bytes, cut=cut)
        if (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size) and len(data) == min(
            before.st_size, max_bytes + 1
        ):
            _check_binary(data, found.path)
            data = whole_lines(data, max_bytes)
            return FileText(decode(data, found.path), hashlib.sha256(data).hexdigest(), *stat_of(after))
    raise FileUnreadableError(
        f"{found.path} is being written to",
        hint="search again in a moment: the next search or sync reads the file",
        data={"path": found.path, "reason": "moving"},
    )


def decode(data: bytes, path: str) -> str:
    """Return a file's bytes as text."""
    _check_binary(data, path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileUnreadableError(
            f"{path} is not UTF-8 (byte {error.start + 1})",
            hint="save the file as UTF-8; until then it is not indexed",
            data={"path": path, "reason": "not_utf8"},
        ) from None


def _check_binary(data: bytes, path: str) -> None:
    """Raise `FileUnreadableError` if a file is binary."""
    if b"\0" in data:
        raise FileUnreadableError(
            f"{path} is a binary file (it contains NUL bytes)",
            hint="keep binary files out of memory folders, or rename them without .md",
            data={"path": path, "reason": "binary"},
        )


def _read_bytes(
    found: SourceFile, max_bytes: int, *, cut: bool
) -> tuple[bytes, os.stat_result, os.stat_result]:
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
                # One byte more than the size: detects a growing file without reading it into RAM.
                data = file.read(min(before.st_size, max_bytes) + 1)
            return data, before, os.fstat(handle)
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise FileMissingError(f"{found.path} no longer exists", data={"path": found.path}) from None
    except SymlinkInPathError:
        raise _moved(found, "is a symbolic link, or is behind one") from None
    except OutsideRootError:
        raise PathRefusedError(f"{found.path} is not below its root", data={"path": found.path}) from None
    except OSError as error:
        reason = "descriptors" if error.errno in NO_DESCRIPTOR else "os"
        if error.errno == errno.ENOTDIR:
            reason = "moving"  # a folder on the path was replaced by a file since discovery
        raise FileUnreadableError(
            f"{found.path} can't be read: {error.strerror}", data={"path": found.path, "reason": reason}
        ) from None


def _moved(found: SourceFile, what: str) -> PathRefusedError:
    """Return the error for a path that is no longer the file that discovery found; the next scan decides."""
    return PathRefusedError(f"{found.path} {what}", data={"path": found.path, "reason": "moving"})


def _too_big(found: SourceFile, size: int, limit: int) -> FileUnreadableError:
    """Return the error for a file that is larger than the limit."""
    return FileUnreadableError(
        f"{found.path} is too big: {units.size(size)}, the limit is {units.size(limit)}",
        hint="split the file, or raise `max_file_mb` in memd.toml",
        data={"path": found.path, "reason": "too_big"},
    )


def refusal_of(path: str, disk: Listing, workspace: str) -> MemdError:
    """Return the error for a path that is not among the files (blocking: checks the disk)."""
    shown = path[:200]
    for skipped in disk.skipped:
        if path == skipped.path or path.startswith(f"{skipped.path}/"):
            return PathRefusedError(f"{shown} is not indexed: {skipped.reason}", data={"path": shown})
    slashed = posixpath.normpath(
        path.replace("\\", "/")
    )  # a separator on Windows; no note's name contains it
    if not is_memory_path(slashed):
        return PathRefusedError(f"{shown!r} is refused: {describe_refusal(path)}", data={"path": shown})
    if disk.beyond_limits and os.path.lexists(os.path.join(workspace, path)):
        return PathRefusedError(
            f"{shown} is not indexed: the agent has more files than its limits allow",
            hint="narrow `extraPaths`, or raise `max_agent_files` and `max_agent_mb` in memd.toml",
            data={"path": shown},
        )
    names = [name for name in disk.files if not name.startswith(f"{PRIVATE_FOLDER}/")]
    near = [slashed] if slashed in names else find_similar_paths(path, names)
    if not near:
        return FileMissingError(f"there is no {shown}", data={"path": shown})
    hint = f"did you mean {_either(near)}?"
    return FileMissingError(f"there is no {shown}", hint=hint, data={"path": shown, "near": near})


def _either(names: list[str]) -> str:
    """Return names joined as `a, b or c`."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
