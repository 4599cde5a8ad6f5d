"""Writing into an agent's Markdown: whole or not at all, by descriptors, and never over what somebody else wrote.

Every name below the root is opened below the descriptor of the folder before it, and none may be a link. Writers of
one folder take turns by a lock on the folder itself, so that many processes of memd lose nothing; people and agents
write without it, hence appending never reads and rewrites, and a change looks once more before it replaces a file.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from memd.sync.descend import FILE_MODE, FOLDER_MODE, LinkOnTheWayError, open_below, open_folder
from memd.temp_files import NAME, temp_name
from memd_client.errors import FileUnreadableError, NoteUnwritableError, PathRefusedError

LIMIT_BYTES = 16 * 1024 * 1024
"""Files beyond this are not memory, and are neither read nor changed here."""

LOCK_S = 10.0
LOCK_PAUSE_S = 0.01
"""How long others may hold a folder's lock, and how often it is tried: they hold it for milliseconds."""

CHANGE_TRIES = 5
"""How often a change is made anew because somebody without the lock wrote meanwhile."""

LEFT_S = 60
"""A file that was to take another's place and hasn't after so long was left by a writer that was killed."""

_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Written:
    """Where something was appended: its first and last line, from 1; both 0 where nothing was."""

    path: str
    start_line: int = 0
    end_line: int = 0


def read(root: Path, path: str, limit_bytes: int = LIMIT_BYTES) -> str | None:
    """Return the text of a file, or None where there is none.

    Args:
        root: The workspace.
        path: Below it, with `/`.
        limit_bytes: Larger files are refused.

    Raises:
        PathRefusedError: A link is on the way, or the path leads elsewhere.
        FileUnreadableError: It can't be read, is no text, or too large.
    """
    with _errors(path, FileUnreadableError):
        try:
            with _folder(root, path, make=False) as (folder, name):
                return _read_in(folder, name, path, limit_bytes)
        except FileNotFoundError:
            return None


def append(root: Path, path: str, make: Callable[[str], str]) -> Written:
    """Append to a file, making it and its folders where they are missing.

    Args:
        root: The workspace.
        path: Below it, with `/`.
        make: Takes what the file holds ("" where it is missing) and returns what to append; "" for nothing.

    Returns:
        Where it stands, once it is safe on disk.

    Raises:
        PathRefusedError: As `read` says.
        FileUnreadableError: The file is no text, or too large.
        NoteUnwritableError: It can't be written; nothing of it was.
    """
    with _errors(path, NoteUnwritableError), _folder(root, path, make=True) as (folder, name), _lock(folder):
        held = _find_in(folder, name, path) or ""
        text = make(held)
        if not text:
            return Written(path)
        lead = "\n" if held and not held.endswith("\n") else ""
        start = (held + lead).count("\n") + 1 + len(text) - len(text.lstrip("\n"))
        _append_in(folder, name, (lead + text).encode())
        return Written(path, start, start + text.strip("\n").count("\n"))


def create(root: Path, path: str, text: str) -> bool:
    """Write a new file, whole or not at all; never over another.

    Args:
        root: The workspace.
        path: Below it, with `/`.
        text: All it will hold.

    Returns:
        Whether the name was free.

    Raises:
        PathRefusedError: As `read` says.
        NoteUnwritableError: It can't be written.
    """
    with _errors(path, NoteUnwritableError), _folder(root, path, make=True) as (folder, name), _lock(folder):
        spare = _write_spare(folder, text.encode())
        try:
            os.link(spare, name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except FileExistsError:
            return False
        finally:
            os.unlink(spare, dir_fd=folder)
        os.fsync(folder)
        return True


def change(root: Path, path: str, edit: Callable[[str], str]) -> bool:
    """Replace a file by what an edit makes of it, whole or not at all.

    Args:
        root: The workspace.
        path: Below it, with `/`.
        edit: Takes what the file holds ("" where it is missing) and returns what it shall hold; may be asked again.

    Returns:
        Whether anything was changed.

    Raises:
        PathRefusedError, FileUnreadableError: As `append` says.
        NoteUnwritableError: It can't be written, or somebody writes to it all the time; it is as it was.
    """
    with _errors(path, NoteUnwritableError), _folder(root, path, make=True) as (folder, name), _lock(folder):
        for _ in range(CHANGE_TRIES):
            before = _facts(folder, name)
            held = _find_in(folder, name, path) or ""
            text = edit(held)
            if text == held:
                return False
            spare = _write_spare(folder, text.encode(), mode=before[0] if before else FILE_MODE)
            try:
                if _facts(folder, name) != before:
                    continue
                os.replace(spare, name, src_dir_fd=folder, dst_dir_fd=folder)
            finally:
                with contextlib.suppress(FileNotFoundError):  # it has its name by then, or is of no use
                    os.unlink(spare, dir_fd=folder)
            os.fsync(folder)
            return True
    raise NoteUnwritableError(f"{path} is written to all the time", data={"path": path})


def _find_in(folder: int, name: str, path: str) -> str | None:
    """Return what a file in an open folder holds, None where there is none."""
    try:
        return _read_in(folder, name, path, LIMIT_BYTES)
    except FileNotFoundError:
        return None


def _read_in(folder: int, name: str, path: str, limit_bytes: int) -> str:
    """Return what a file in an open folder holds."""
    handle = open_below(folder, name, os.O_RDONLY | _FILE)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise FileUnreadableError(f"{path} is not a file", data={"path": path})
        with open(handle, "rb", closefd=False) as file:
            data = file.read(limit_bytes + 1)
    finally:
        os.close(handle)  # `open` refuses a folder's descriptor and leaves it open
    if len(data) > limit_bytes:
        raise FileUnreadableError(f"{path} is larger than {limit_bytes} bytes", data={"path": path})
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileUnreadableError(f"{path} is not UTF-8 (byte {error.start})", data={"path": path}) from None


def _append_in(folder: int, name: str, data: bytes) -> None:
    """Append bytes to a file in an open folder, all of them or none."""
    handle = open_below(folder, name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _FILE)
    try:
        size = os.fstat(handle).st_size
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, size)  # others of memd wait for the lock, so nothing of theirs is cut off
            raise
    finally:
        os.close(handle)
    os.fsync(folder)


def _write_spare(folder: int, data: bytes, mode: int = FILE_MODE) -> str:
    """Write bytes to a new file in an open folder, under a name no source has; return the name."""
    name = temp_name()
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, mode, dir_fd=folder)
    try:
        with open(handle, "wb") as file:
            os.fchmod(handle, mode)  # whatever the umask
            _remove_left(folder, os.fstat(handle).st_mtime)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    return name


def _remove_left(folder: int, now_s: float) -> None:
    """Remove what writers that were killed left in an open folder."""
    for name in os.listdir(folder):
        if NAME.fullmatch(name):
            with contextlib.suppress(FileNotFoundError):
                if os.stat(name, dir_fd=folder, follow_symlinks=False).st_mtime < now_s - LEFT_S:
                    os.unlink(name, dir_fd=folder)


def _facts(folder: int, name: str) -> tuple[int, int, int, int] | None:
    """Return mode, inode, size and time of a file in an open folder; None where there is none."""
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return stat.S_IMODE(facts.st_mode), facts.st_ino, facts.st_size, facts.st_mtime_ns


@contextlib.contextmanager
def _folder(root: Path, path: str, *, make: bool) -> Iterator[tuple[int, str]]:
    """Give the descriptor of the folder a path lies in, and the last name; folders are made where that is wanted."""
    *folders, name = path.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in (*folders, name)):
        raise PathRefusedError(f"{path[:200]!r} is not a path below the workspace", data={"path": path[:200]})
    if make:
        root.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    here = open_folder(str(root), folders, make=make)
    try:
        yield here, name
    finally:
        os.close(here)


@contextlib.contextmanager
def _lock(folder: int) -> Iterator[None]:
    """Hold the lock of an open folder inside the block."""
    until = time.monotonic() + LOCK_S
    while True:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > until:
                raise OSError(errno.EBUSY, "another process keeps its folder locked") from None
            time.sleep(LOCK_PAUSE_S)  # noqa: TID251 - a thread waits for another process
    try:
        yield
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)


@contextlib.contextmanager
def _errors(path: str, kind: type[FileUnreadableError] | type[NoteUnwritableError]) -> Iterator[None]:
    """Turn what the file system raises into the errors of memd, naming the path."""
    try:
        yield
    except UnicodeEncodeError:
        raise NoteUnwritableError(
            f"{path[:200]}: the text holds halves of characters", data={"path": path[:200]}
        ) from None
    except LinkOnTheWayError:
        raise PathRefusedError(
            f"{path[:200]} is, or lies behind, a symbolic link", data={"path": path[:200]}
        ) from None
    except OSError as error:
        if error.errno == errno.ENOTDIR:
            raise PathRefusedError(
                f"{path[:200]} is, or lies behind, a symbolic link or a file", data={"path": path[:200]}
            ) from None
        reason = error.strerror or type(error).__name__
        raise kind(f"{path[:200]}: {reason}", data={"path": path[:200]}) from None
