"""Files of an open folder: read whole, written under a temporary name, watched until no program writes to them."""

from __future__ import annotations

import os
import stat
import time
from typing import NamedTuple

from memd.lifecycle.files.kernel_files import is_open_for_writing
from memd.sync.disk.safe_open import FILE_MODE, open_below
from memd.system.temp_files import temp_name
from memd_client.errors import FileUnreadableError, NoteUnwritableError

LIMIT_BYTES = 16 * 1024 * 1024
"""Files beyond this are not memory, and are neither read nor changed here."""

WRITER_S = 2.0
"""How long a replacement waits for another program that has the file open for writing."""

POLL_S = 0.002

GRACE_S = 0.02
"""How long after a replacement the replaced file is looked at: a program may have been about to open it."""

QUIET_S = 0.1
"""The same if the system cannot say which process has a file open: so long it must stay unchanged."""

FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
"""Every file is opened with these."""


class FileState(NamedTuple):
    """A file as a stat describes it: another write or another file makes it differ."""

    mode: int
    inode: int
    size: int
    mtime_ns: int
    ctime_ns: int


def state_of(folder: int, name: str) -> FileState | None:
    """Return the state of a name in an open folder; None when there is none."""
    try:
        return _state(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return None


def open_plain(folder: int, name: str, path: str) -> tuple[int, FileState]:
    """Return a reading descriptor of a plain file, which the caller closes, and its state."""
    handle = open_below(folder, name, os.O_RDONLY | FLAGS)
    facts = os.fstat(handle)
    if not stat.S_ISREG(facts.st_mode):
        os.close(handle)
        raise FileUnreadableError(f"{path} is not a file", data={"path": path})
    return handle, _state(facts)


def read_bytes(handle: int, most_bytes: int | None = None) -> bytes:
    """Return what a file holds from its beginning, whole or its first bytes."""
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
    """Raise `FileUnreadableError` when a file is larger than is read."""
    if size > limit_bytes:
        raise FileUnreadableError(f"{path} is larger than {limit_bytes} bytes", data={"path": path})


def wait_for_writers(handle: int, seconds: float) -> bool:
    """Wait until no program has a file open for writing; return whether that is so, or unknown (blocking)."""
    until = time.monotonic() + seconds
    while is_open_for_writing(handle):
        if time.monotonic() > until:
            return False
        time.sleep(POLL_S)  # noqa: TID251 - a thread waits for another process
    return True


def read_settled(folder: int, name: str, path: str) -> bytes:
    """Return a replaced file's bytes once no program writes to it any more (blocking)."""
    handle, _ = open_plain(folder, name, path)
    try:
        time.sleep(GRACE_S)  # noqa: TID251 - a thread waits for another process
        if is_open_for_writing(handle) is None:
            _wait_unchanged(handle, path)
        elif not wait_for_writers(handle, WRITER_S):
            raise busy(path)
        return read_bytes(handle)
    finally:
        os.close(handle)


def busy(path: str) -> NoteUnwritableError:
    """Return the error of a file that can't be replaced because another program may write to it."""
    return NoteUnwritableError(
        f"{path} is open for writing in another program",
        hint="Nothing of it was written. Close the file there, then ask again.",
        data={"path": path},
    )


def write_new(folder: int, name: str, data: bytes) -> bool:
    """Write a file of an open, locked folder whole; return False when the name is taken, which is left as it is."""
    spare = write_spare(folder, data)
    try:
        os.link(spare, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        return False
    finally:
        os.unlink(spare, dir_fd=folder)
    os.fsync(folder)
    return True


def write_spare(folder: int, data: bytes, mode: int = FILE_MODE) -> str:
    """Write bytes to a new file in an open, locked folder, under a name no source has; return the name."""
    name = temp_name()
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | FLAGS, mode, dir_fd=folder)
    try:
        with open(handle, "wb") as file:
            os.fchmod(handle, mode)  # whatever the umask
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    return name


def _wait_unchanged(handle: int, path: str) -> None:
    """Wait until a file was left alone for `QUIET_S`."""
    until = time.monotonic() + WRITER_S
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
