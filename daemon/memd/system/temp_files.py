"""Temporary files of memd: a recognisable name, a lock while they are written, and removal of leftovers.

A temporary file is written in the folder of the file it replaces. Its writer keeps it locked until it is moved or
removed, and the system releases the lock if the writer dies: an unlocked temporary file has no writer.
Blocking: call in a worker thread.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

NAME = re.compile(r"\.memd-[0-9a-f]{16}\.tmp(-journal|-wal|-shm)?")
"""Names of temporary files, and SQLite's files of an index that is built under such a name."""

MAX_FOLDERS = 2_000
"""Folders below a workspace's `memory` that are searched for leftovers."""

MAX_DEPTH = 8
"""Deepest level that is searched: memd writes notes one or two folders below `memory`."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_LOOK = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def temp_name() -> str:
    """Return a new name for a temporary file."""
    return f".memd-{secrets.token_hex(8)}.tmp"


@contextlib.contextmanager
def temp_file(folder: Path, mode: int = 0o600) -> Iterator[tuple[int, Path]]:
    """Yield the descriptor and path of a new locked temporary file, and remove it unless it was moved."""
    handle, path = _make(folder)
    try:
        os.fchmod(handle, mode)
        yield handle, path
    finally:
        with contextlib.suppress(OSError):
            os.unlink(path)
        os.close(handle)


def _make(folder: Path) -> tuple[int, Path]:
    """Return the descriptor and the path of a new file that is locked."""
    while True:
        path = folder / temp_name()
        handle = os.open(path, _NEW, 0o600)
        with contextlib.suppress(OSError):  # a file system without locks, on which leftovers stay
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_nlink:
            return handle, path
        os.close(handle)  # removed as a leftover before it was locked


def remove_leftovers(folder: Path) -> int:
    """Remove the temporary files in a folder whose writers were killed; return how many were removed.

    Only regular files of this user that match `NAME` and that no process has locked. Never raises: a folder that is
    missing, or that another process of memd is writing to, stays unchanged.
    """
    try:
        handle = os.open(folder, _FOLDER)
    except OSError:
        return 0
    try:
        return _remove_in(handle, str(folder))
    finally:
        os.close(handle)


def remove_leftovers_in_workspace(root: Path) -> int:
    """Run `remove_leftovers` in a workspace and in the folders below its `memory`; links are not followed."""
    removed = remove_leftovers(root)
    pending = [(root / "memory", 0)]
    for _ in range(MAX_FOLDERS):
        if not pending:
            break
        folder, depth = pending.pop()
        with contextlib.suppress(OSError):
            handle = os.open(folder, _FOLDER | os.O_NOFOLLOW)
            try:
                removed += _remove_in(handle, str(folder))
                if depth < MAX_DEPTH:
                    pending += [(folder / name, depth + 1) for name in _folders_in(handle)]
            finally:
                os.close(handle)
    return removed


def _folders_in(folder: int) -> list[str]:
    """Return the names of the folders in an open folder; links are left out."""
    with os.scandir(folder) as entries:
        return [each.name for each in entries if each.is_dir(follow_symlinks=False)]


def _remove_in(folder: int, path: str) -> int:
    """Remove the leftovers in an open folder."""
    try:
        names = sorted(name for name in os.listdir(folder) if NAME.fullmatch(name))
        if not names:
            return 0
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)  # writers of notes lock the folder, not the file
    except OSError:
        return 0
    try:
        removed = sum(_remove_one(folder, name) for name in names)
    finally:
        fcntl.flock(folder, fcntl.LOCK_UN)
    if removed:
        from memd.system.log import (
            log,  # here: the command line doesn't log, and would take twice as long to start
        )

        log.info("files.leftovers_removed", folder=path, files=removed)
    return removed


def _remove_one(folder: int, name: str) -> bool:
    """Remove a temporary file that has no writer; return whether it was removed.

    SQLite's own files of an index are not locked: they stay as long as the index is there.
    """
    index, is_sqlite_file, _ = name.partition(".tmp-")
    try:
        if is_sqlite_file and _exists(folder, f"{index}.tmp"):
            return False
        handle = os.open(name, _LOOK, dir_fd=folder)
    except OSError:
        return False
    try:
        facts = os.fstat(handle)
        if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
            return False
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(name, dir_fd=folder)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _exists(folder: int, name: str) -> bool:
    """Return whether an open folder has an entry of this name."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
