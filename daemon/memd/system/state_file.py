"""Reading and atomic replacement of small state and settings files. Blocking: call in a worker thread."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from memd.system.temp_files import remove_leftovers, temp_file

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""`O_NONBLOCK`: a FIFO at the path must not block the reader."""


MAX_SETTINGS_BYTES = 4 * 1024 * 1024
"""Larger settings files are refused: real ones have a few kilobytes, and JSON5 is slow to parse."""


class NotRegularFileError(OSError):
    """The path is a FIFO, a device, a socket or a folder."""


class UnreadableFileError(ValueError):
    """A file that can't be read as text. The message follows the file's name, and never quotes the contents."""


def load_text(path: Path, most_bytes: int = MAX_SETTINGS_BYTES) -> str:
    """Return the text of a regular file in UTF-8, without a byte order mark."""
    try:
        return load_whole(path, most_bytes).decode("utf-8-sig")
    except FileNotFoundError:
        raise
    except NotRegularFileError as error:
        raise UnreadableFileError("is not a regular file") from error
    except OSError as error:
        raise UnreadableFileError(f"can't be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UnreadableFileError(f"is not UTF-8 (byte {error.start})") from error
    except ValueError as error:
        raise UnreadableFileError(str(error)) from error


def load_whole(path: Path, most_bytes: int, *, through_link: bool = True) -> bytes:
    """Return the contents of a regular file.

    Settings, keys and state are read only through this function: it refuses a FIFO, a device, a socket or a folder at
    once, and never reads more than `most_bytes`.
    """
    with open_regular(path, through_link=through_link) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(most_bytes + 1) if size <= most_bytes else b""
    if max(size, len(data)) > most_bytes:
        raise ValueError(f"is too big: {max(size, len(data)):,} bytes, the limit is {most_bytes:,}")
    return data


def open_regular(path: str | Path, *, through_link: bool = True) -> BinaryIO:
    """Open a regular file for reading without blocking."""
    handle = os.open(path, _READ | (0 if through_link else os.O_NOFOLLOW))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotRegularFileError(errno.EINVAL, "not a regular file", os.fspath(path))
    return open(handle, "rb")


def replace_whole(path: Path, data: bytes) -> None:
    """Replace a file atomically: a reader sees the old or the new contents, never a mix.

    Not synced to the disk: a power cut may lose the change. A missing directory is created with mode 0700; the file
    has mode 0600.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        path.with_name(f"{path.name}.tmp").unlink()  # left by a killed process of an earlier release
    _replace(path, data, 0o600, sync=False)


def replace_synced(path: Path, data: bytes, mode: int) -> None:
    """Replace a file atomically and durably: after a power cut it has the old or the new contents.

    For files that memd can't recreate: other programs' settings, the files of a service.
    """
    remove_leftovers(path.parent)
    _replace(path, data, mode, sync=True)


def _replace(path: Path, data: bytes, mode: int, *, sync: bool) -> None:
    """Write a temporary file and move it to the path."""
    with temp_file(path.parent, mode) as (handle, temp):
        with open(handle, "wb", closefd=False) as file:
            file.write(data)
        if sync:
            os.fsync(handle)
        os.replace(temp, path)
