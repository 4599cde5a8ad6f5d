"""Files of an open folder: reading, writing under a temporary name, and waiting for other writers."""

from __future__ import annotations

import os
import stat
import time
from typing import NamedTuple

from memd.lifecycle.files.kernel_files import is_open_for_writing
from memd.system.safe_open import FILE_MODE, open_below
from memd.system.temp_files import temp_name
from memd_client.errors import FileUnreadableError, NoteUnwritableError

LIMIT_BYTES = 16 * 1024 * 1024
"""Limit of file size; larger files are neither read nor changed here."""

WRITER_TIMEOUT_S = 2.0
"""Longest wait of a replacement for another program that has the file open for writing."""

POLL_INTERVAL_S = 0.002

GRACE_S = 0.02
"""Delay after a replacement before the replaced file is checked: a program may have been about to open it."""

QUIET_S = 0.1
"""How long a file must stay unchanged, on systems that don't report which process has a file open."""

FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Every file is opened with these."""


class FileState(NamedTuple):
    """The stat values of a file; they differ after a write and for another file."""

    mode: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


def state_of(folder: int, name: str) -> FileState | None:
    """Return the state of a file in an open folder; None if it doesn't exist."""
    try:
        return _state(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return None


def open_plain(folder: int, name: str, path: str) -> tuple[int, FileState]:
    """Return a read-only descriptor of a regular file, which the caller closes, and its state."""
    handle = open_below(folder, name, os.O_RDONLY | FLAGS)
    facts = os.fstat(handle)
    if not stat.S_ISREG(facts.st_mode):
        os.close(handle)
        raise FileUnreadableError(f"{path} is not a file", data={"path": path})
    return handle, _state(facts)


def read_bytes(handle: int, most_bytes: int | None = None) -> bytes:
    """Return the contents of a file, or its first bytes."""
    os.lseek(handle, 0, os.SEEK_SET)
    with open(handle, "rb", closefd=False) as file:
        return file.read(-1 if most_bytes is None else most_bytes)


def decode(data: bytes, path: str) -> str:
    """Return a file's bytes as text."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileUnreadableError(f"{path} is not UTF-8 (byte {error.start})", data={"path": path}) from None


def require_size(size: int, path: str, limit_bytes: int) -> None:
    """Raise `FileUnreadableError` if a file exceeds the size limit."""
    if size > limit_bytes:
        raise FileUnreadableError(f"{path} is larger than {limit_bytes} bytes", data={"path": path})


def wait_for_writers(handle: int, seconds: float) -> bool:
    """Wait until no program has a file open for writing; return False after the timeout (blocking)."""
    until = time.monotonic() + seconds
    while is_open_for_writing(handle):
        if time.monotonic() > until:
            return False
        time.sleep(POLL_INTERVAL_S)  # noqa: TID251 - a thread waits for another process
    return True


def read_settled(folder: int, name: str, path: str) -> bytes:
    """Return a replaced file's bytes when no program writes to it any more (blocking)."""
    handle, _ = open_plain(folder, name, path)
    try:
        time.sleep(GRACE_S)  # noqa: TID251 - a thread waits for another process
        if is_open_for_writing(handle) is None:
            _wait_unchanged(handle, path)
        elif not wait_for_writers(handle, WRITER_TIMEOUT_S):
            raise busy(path)
        return read_bytes(handle)
    finally:
        os.close(handle)


def busy(path: str) -> NoteUnwritableError:
    """Return the error for a file that another program may write to."""
    return NoteUnwritableError(
        f"{path} is open for writing in another program",
        hint="close the file in the other program, then try again; nothing was written",
        data={"path": path},
    )


def write_new(folder: int, name: str, data: bytes) -> bool:
    """Create a file in an open, locked folder atomically; return False if the name exists."""
    spare = write_temporary(folder, data)
    try:
        os.link(spare, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return False
    finally:
        os.unlink(spare, dir_fd=folder)
    os.fsync(folder)
    return True


def write_temporary(folder: int, data: bytes, mode: int = FILE_MODE) -> str:
    """Write bytes to a temporary file in an open, locked folder and return its name."""
    name = temp_name()
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS, mode, dir_fd=folder)
    try:
        with open(handle, "wb") as file:
            os.fchmod(handle, mode)  # independent of the umask
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    return name


def _wait_unchanged(handle: int, path: str) -> None:
    """Wait until a file was unchanged for `QUIET_S`."""
    until = time.monotonic() + WRITER_TIMEOUT_S
    while True:
        before = _state(os.fstat(handle))
        time.sleep(QUIET_S)  # noqa: TID251 - a thread waits for another process
        if _state(os.fstat(handle)) == before:
            return
        if time.monotonic() > until:
            raise busy(path)


def _state(facts: os.stat_result) -> FileState:
    return FileState(
        stat.S_IMODE(facts.st_mode), facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns
    )
