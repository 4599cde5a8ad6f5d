"""Dates in the names of memory files, and which files have none on purpose."""

from __future__ import annotations

import datetime
import re

OLDEST_YEAR = 100
"""Years below this are no dates: two digits meant something else."""

_DATED = re.compile(r"(?:^|/)memory/([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[^0-9/][^/]*)?\.md\Z")
_NAMED_BY_DAY = re.compile(r"(?:^|/)([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[^0-9/][^/]*)?\.md\Z")
_CURATED = ("MEMORY.md", "memory.md")


def date_in_path(path: str) -> datetime.date | None:
    """Return the day a memory file is about: `memory/YYYY-MM-DD.md`, or with more behind the day."""
    return _day(_DATED.search(_plain(path)))


def day_of_note(path: str) -> datetime.date | None:
    """Return the day any Markdown file is about whose name begins with one, wherever it lies.

    `date_in_path` says which notes fade, and those lie in `memory/` itself; what a note is about doesn't depend on
    its folder.
    """
    return _day(_NAMED_BY_DAY.search(_plain(path)))


def is_evergreen(path: str) -> bool:
    """Return whether a file is lasting knowledge that never fades: `MEMORY.md`, or undated under `memory/`."""
    plain = _plain(path)
    if plain in _CURATED:
        return True
    return plain.startswith("memory/") and _DATED.search(plain) is None


def _day(match: re.Match[str] | None) -> datetime.date | None:
    """Return the date of a matched name, or None where there is no such day."""
    if match is None or int(match[1]) < OLDEST_YEAR:
        return None
    try:
        return datetime.date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return None


def _plain(path: str) -> str:
    """Return a path with slashes only and without a leading dot folder."""
    return path.replace("\\", "/").removeprefix("./")
