"""Small files of state and of settings: read whole, replaced whole. Blocks: for a thread."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


def load_whole(path: Path, most_bytes: int, *, through_link: bool) -> bytes:
    """Return what a plain file holds.

    Args:
        path: The file.
        most_bytes: A larger one is not ours.
        through_link: Whether it may stand behind a symbolic link.

    Raises:
        OSError: It isn't there, can't be read, or is a link where none may be.
        ValueError: It is something else, or too large.
    """
    # O_NONBLOCK: a FIFO in its place must not hang the reader.
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if through_link else os.O_NOFOLLOW)
    handle = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError("it is not a plain file")
        with open(handle, "rb", closefd=False) as file:
            data = file.read(most_bytes + 1)
    finally:
        os.close(handle)
    if len(data) > most_bytes:
        raise ValueError("it is too large")
    return data


def replace_whole(path: Path, data: bytes) -> None:
    """Write a file, so that a reader sees the old one or the new one and never half of it.

    Not synced to the disk: for what may be lost in a power cut. The directory is made with mode 0700 where it is
    missing, the file has mode 0600.

    Args:
        path: The file.
        data: All it will hold.

    Raises:
        OSError: It can't be written; the old one stays, and nothing beside it.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.tmp")
    beside.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with open(os.open(beside, flags, 0o600), "wb") as file:
            file.write(data)
        os.replace(beside, path)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def replace_synced(path: Path, data: bytes, mode: int) -> None:
    """Write a file so that it is there whole or as it was, whatever happens to the machine.

    For what others read and nobody makes again: settings, the files of a service.

    Args:
        path: The file; its directory is there.
        data: All it will hold.
        mode: Its mode.

    Raises:
        OSError: It can't be written; the old one stays, and nothing beside it.
    """
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(handle, mode)
            os.fsync(handle)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
