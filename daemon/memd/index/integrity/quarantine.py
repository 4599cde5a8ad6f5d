"""Files next to an index: quarantined indexes, and SQLite's own files."""

from __future__ import annotations

import os
import re
from datetime import UTC, datetime
from pathlib import Path

from memd.index.integrity.file_check import SQLITE_SUFFIXES

CORRUPT_SUFFIX = ".corrupt-"
"""Suffix of a quarantined file; the time follows. Only the newest one is kept."""

TIME_PATTERN = r"\d{8}T\d{6}Z"
"""Time in the name of a quarantined file: a file with any other name was not quarantined by memd."""

READ_BYTES = 1_048_576


def quarantine(path: Path, now_ms: int) -> Path:
    """Rename an index that is to be rebuilt, and return its new path; its log and older such files are removed."""
    time = datetime.fromtimestamp(now_ms / 1000, tz=UTC).strftime("%Y%m%dT%H%M%SZ")
    quarantined = path.with_name(f"{path.name}{CORRUPT_SUFFIX}{time}")
    os.replace(path, quarantined)
    remove_logs(path)
    for other in corrupt_files(path):
        if other != quarantined:
            other.unlink(missing_ok=True)
    return quarantined


def is_readable(path: Path) -> bool:
    """Return whether every byte of a file can be read."""
    try:
        with path.open("rb", buffering=0) as file:
            while file.read(READ_BYTES):
                pass
    except OSError:
        return False
    return True


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


def remove_logs(path: Path) -> None:
    """Remove SQLite's files next to a database."""
    for suffix in SQLITE_SUFFIXES:
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def remove_index(path: Path) -> None:
    """Remove an index, its logs and its quarantined files."""
    path.unlink(missing_ok=True)
    remove_logs(path)
    remove_quarantined(path)


def sync_directory(directory: Path) -> None:
    """Sync a directory, so that a rename in it is durable."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
