"""Small files of state and of settings: read whole, replaced whole. Blocks: for a thread."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from memd.system.temp_files import remove_leftovers, temp_file

_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""`O_NONBLOCK`: a FIFO in the place of the file must not block the reader."""


MAX_SETTINGS_BYTES = 4 * 1024 * 1024
"""Larger settings files are refused: real ones have some kilobytes, and JSON5 is slow to parse."""


class NotRegularFileError(OSError):
    """What is in the place of a file is a FIFO, a device, a socket or a folder."""


class UnreadableFileError(ValueError):
    """A file that can't be used as text; its message continues the file's name, and quotes nothing of the file."""


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
    """Return what a regular file holds.

    Settings, keys and state are read by this alone: a FIFO, a device, a socket or a folder in the place of the file is
    an error at once, and no more than `most_bytes` are ever read.
    """
    with open_regular(path, through_link=through_link) as file:
        size = os.fstat(file.fileno()).st_size
        data = file.read(most_bytes + 1) if size <= most_bytes else b""
    if max(size, len(data)) > most_bytes:
        raise ValueError(f"is too big: {max(size, len(data)):,} bytes, the limit is {most_bytes:,}")
    return data


def open_regular(path: str | Path, *, through_link: bool = True) -> BinaryIO:
    """Open a regular file for reading; never wait for it."""
    handle = os.open(path, _READ | (0 if through_link else os.O_NOFOLLOW))
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NotRegularFileError(errno.EINVAL, "not a regular file", os.fspath(path))
    return open(handle, "rb")


def replace_whole(path: Path, data: bytes) -> None:
    """Write a file, so that a reader sees the old one or the new one and never half of it.

    Not synced to the disk: for what may be lost in a power cut. The directory is made with mode 0700 where it is
    missing, the file has mode 0600.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        path.with_name(f"{path.name}.tmp").unlink()  # an earlier release wrote there, and was killed
    _replace(path, data, 0o600, sync=False)


def replace_synced(path: Path, data: bytes, mode: int) -> None:
    """Write a file so that it is there whole or as it was, whatever happens to the machine.

    For what others read and nobody makes again: settings, the files of a service.
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
