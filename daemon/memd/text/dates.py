"""Dates in the names of notes."""

from __future__ import annotations

import datetime
import re

_DATED = re.compile(r"(?:^|/)memory/(\d{4})-(\d{2})-(\d{2})(?:-[^/]*)?\.md$")
_EVERGREEN = frozenset({"MEMORY.md", "memory.md"})


def date_in_path(path: str) -> datetime.date | None:
    """Return the day a note is of: `memory/YYYY-MM-DD.md` or `memory/YYYY-MM-DD-slug.md`.

    Args:
        path: Index path, with `/`.

    Returns:
        The day; None where the name has none or it doesn't exist.
    """
    found = _DATED.search(_plain(path))
    if found is None:
        return None
    try:
        return datetime.date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return None


def is_evergreen(path: str) -> bool:
    """Return whether a note never ages: `MEMORY.md`, and those under `memory/` that have no date in their name."""
    plain = _plain(path)
    if plain in _EVERGREEN:
        return True
    return plain.startswith("memory/") and _DATED.search(plain) is None


def _plain(path: str) -> str:
    """Return a path with `/` and without a leading `./`."""
    return re.sub(r"^\./+", "", path.replace("\\", "/"))
