"""Files beside an index: damaged ones in quarantine, dropped ones, and the logs of SQLite."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import structlog

from memd.index.care.file_check import LOG_FILES, is_ours
from memd_client.errors import IndexCorruptError

log = structlog.get_logger(__name__)

CORRUPT_SUFFIX = ".corrupt-"
"""Ends the name of a damaged file, before the time. Only the newest one is kept."""

MOMENT = r"\d{8}T\d{6}Z"
"""How a time is written in a name, as a pattern: a file of another name was not set aside by memd."""

READ_BYTES = 1_048_576

DROPPED_SUFFIX = ".dropped"
"""Ends the name of a sound file that is rebuilt; removed as soon as its vectors are copied."""


def set_aside(path: Path, now_ms: int) -> Path:
    """Rename a damaged file; its log and older damaged files are removed."""
    moment = datetime.fromtimestamp(now_ms / 1000, tz=UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = path.with_name(f"{path.name}{CORRUPT_SUFFIX}{moment}")
    os.replace(path, aside)
    remove_logs(path)
    for other in corrupt_files(path):
        if other != aside:
            other.unlink(missing_ok=True)
    return aside


def put_away(
    path: Path, now_ms: int, dropping: Callable[[Path], None] | None, lost_by: Exception | None
) -> None:
    """Take a file away that was given up or found damaged, so that the next opening makes a new one.

    If the disk can't read it, it may be whole and stays. It also stays if it can't be renamed.
    """
    try:
        if dropping is not None:
            dropping(path)
        elif isinstance(lost_by, IndexCorruptError) and _is_readable(path):
            log.warning("index.set_aside", index=str(path), reason=lost_by.message)
            set_aside(path, now_ms)
    except OSError as error:
        log.warning("index.not_put_away", index=str(path), error=error.strerror)


def _is_readable(path: Path) -> bool:
    """Return whether the disk gives every byte of a file."""
    try:
        with path.open("rb", buffering=0) as file:
            while file.read(READ_BYTES):
                pass
    except OSError:
        return False
    return True


def drop(path: Path, *, vectors: bool) -> None:
    """Take an index away to have it rebuilt: with its vectors, or (`vectors`) without."""
    dropped = dropped_file(path)
    if os.path.lexists(dropped) and not is_ours(dropped):
        raise FileExistsError(errno.EEXIST, f"{dropped.name} is in the way", str(dropped))
    if vectors:
        for other in (*corrupt_files(path), dropped, path):
            other.unlink(missing_ok=True)
    else:
        os.replace(path, dropped)
    remove_logs(path)


def corrupt_files(path: Path) -> list[Path]:
    """Return the damaged files set aside for an index, oldest first."""
    name = re.compile(re.escape(path.name + CORRUPT_SUFFIX) + MOMENT)
    with os.scandir(path.parent) as entries:
        found = [
            each.name for each in entries if name.fullmatch(each.name) and each.is_file(follow_symlinks=False)
        ]
    return sorted(path.parent / each for each in found)


def dropped_file(path: Path) -> Path:
    """Return where an index that was dropped waits."""
    return path.with_name(path.name + DROPPED_SUFFIX)


def remove_logs(path: Path) -> None:
    """Remove the logs of a file."""
    for suffix in LOG_FILES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Remove a file and its logs."""
    path.unlink(missing_ok=True)
    remove_logs(path)


def sync_directory(directory: Path) -> None:
    """Make a rename last."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
