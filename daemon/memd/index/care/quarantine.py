"""Files that lie beside an index: damaged ones that were set aside, dropped ones, and what SQLite keeps there."""

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
"""Ends the name of a damaged file, before the time. The newest one stays: its vectors are taken over. A larger one from
before stays with it: where damage follows damage, the newest may never have been filled."""

MOMENT = r"\d{8}T\d{6}Z"
"""How a time is written in a name, as a pattern: a file of another name was not set aside by memd."""

READ_BYTES = 1_048_576

DROPPED_SUFFIX = ".dropped"
"""Ends the name of a sound file that is built anew; removed as soon as its vectors are taken over."""


def set_aside(path: Path, now_ms: int) -> Path:
    """Rename a damaged file; its log goes, older damaged files too but a larger one."""
    moment = datetime.fromtimestamp(now_ms / 1000, tz=UTC).strftime("%Y%m%dT%H%M%SZ")
    aside = path.with_name(f"{path.name}{CORRUPT_SUFFIX}{moment}")
    os.replace(path, aside)
    remove_logs(path)
    kept = max(corrupt_files(path), key=lambda file: (file.stat().st_size, file.name))
    for other in corrupt_files(path):
        if other not in (aside, kept):
            other.unlink(missing_ok=True)
    return aside


def set_damaged_aside(path: Path, now_ms: int, reason: str) -> None:
    """Set a file aside that was found damaged, unless it was the disk that failed: then it may be whole."""
    if _is_readable(path):
        log.warning("index.set_aside", index=str(path), reason=reason)
        set_aside(path, now_ms)


def put_away(
    path: Path, now_ms: int, dropping: Callable[[Path], None] | None, lost_by: Exception | None
) -> None:
    """Have the next opening find no file where this one was given up, or is damaged.

    When it fails: it stays, and the next opening looks at the file itself.
    """
    try:
        if dropping is not None:
            dropping(path)
        elif isinstance(lost_by, IndexCorruptError):
            set_damaged_aside(path, now_ms, lost_by.message)
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
    """Take an index away, for it to be built anew."""
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
        found = [each.name for each in entries if name.fullmatch(each.name) and _is_file(each)]
    return sorted(path.parent / each for each in found)


def _is_file(entry: os.DirEntry[str]) -> bool:
    return entry.is_file(follow_symlinks=False)


def dropped_file(path: Path) -> Path:
    """Return where an index that was dropped waits."""
    return path.with_name(path.name + DROPPED_SUFFIX)


def remove_logs(path: Path) -> None:
    """Remove what SQLite keeps beside a file."""
    for suffix in LOG_FILES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Remove a file and what SQLite keeps beside it."""
    path.unlink(missing_ok=True)
    remove_logs(path)


def sync_directory(directory: Path) -> None:
    """Make a rename last."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
