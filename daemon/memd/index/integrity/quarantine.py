"""Files next to an index: quarantined ones, dropped ones, and SQLite's own."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import structlog

from memd.index.integrity.file_check import SQLITE_SUFFIXES, is_memd_index
from memd_client.errors import IndexCorruptError

log = structlog.get_logger(__name__)

CORRUPT_SUFFIX = ".corrupt-"
"""Suffix of a quarantined file; the time follows. Only the newest one is kept."""

TIME_PATTERN = r"\d{8}T\d{6}Z"
"""Time in the name of a quarantined file: a file with any other name was not quarantined by memd."""

READ_BYTES = 1_048_576

DROPPED_SUFFIX = ".dropped"
"""Suffix of a sound file that is rebuilt; removed once its vectors are copied."""


def quarantine(path: Path, now_ms: int) -> Path:
    """Rename a damaged file and return its new path; its log and older quarantined files are removed."""
    time = datetime.fromtimestamp(now_ms / 1000, tz=UTC).strftime("%Y%m%dT%H%M%SZ")
    quarantined = path.with_name(f"{path.name}{CORRUPT_SUFFIX}{time}")
    os.replace(path, quarantined)
    remove_logs(path)
    for other in corrupt_files(path):
        if other != quarantined:
            other.unlink(missing_ok=True)
    return quarantined


def remove_lost_file(
    path: Path, now_ms: int, dropping: Callable[[Path], None] | None, lost_by: Exception | None
) -> None:
    """Drop or quarantine a closed index that was discarded or damaged, so that a new one can be created.

    A file that the disk can't read may be intact and stays, as does one that can't be renamed.
    """
    try:
        if dropping is not None:
            dropping(path)
        elif isinstance(lost_by, IndexCorruptError) and _is_readable(path):
            log.warning("index.set_aside", index=str(path), reason=lost_by.message)
            quarantine(path, now_ms)
    except OSError as error:
        log.warning("index.quarantine_failed", index=str(path), error=error.strerror)


def _is_readable(path: Path) -> bool:
    """Return whether every byte of a file can be read."""
    try:
        with path.open("rb", buffering=0) as file:
            while file.read(READ_BYTES):
                pass
    except OSError:
        return False
    return True


def drop(path: Path, *, vectors: bool) -> None:
    """Remove an index so that it is rebuilt; its vectors are kept for the new one unless `vectors` is set."""
    dropped = dropped_file(path)
    if os.path.lexists(dropped) and not is_memd_index(dropped):
        raise FileExistsError(errno.EEXIST, f"{dropped.name} is another file", str(dropped))
    if vectors:
        remove_quarantined(path)
        for other in (dropped, path):
            other.unlink(missing_ok=True)
    else:
        os.replace(path, dropped)
    remove_logs(path)


def corrupt_files(path: Path) -> list[Path]:
    """Return the quarantined files of an index, oldest first."""
    name = re.compile(re.escape(path.name + CORRUPT_SUFFIX) + TIME_PATTERN)
    with os.scandir(path.parent) as entries:
        found = [
            each.name for each in entries if name.fullmatch(each.name) and each.is_file(follow_symlinks=False)
        ]
    return sorted(path.parent / each for each in found)


def remove_quarantined(path: Path) -> None:
    """Remove the quarantined files of an index."""
    for other in corrupt_files(path):
        other.unlink(missing_ok=True)


def dropped_file(path: Path) -> Path:
    """Return the path of a dropped index whose vectors are still to be copied."""
    return path.with_name(path.name + DROPPED_SUFFIX)


def remove_logs(path: Path) -> None:
    """Remove SQLite's files next to a database."""
    for suffix in SQLITE_SUFFIXES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def remove(path: Path) -> None:
    """Remove a database and SQLite's files next to it."""
    path.unlink(missing_ok=True)
    remove_logs(path)


def sync_directory(directory: Path) -> None:
    """Sync a directory, so that a rename in it is durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
