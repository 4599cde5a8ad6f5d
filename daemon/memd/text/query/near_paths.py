"""Paths that may have been meant by one that names nothing. Pure."""

from __future__ import annotations

import heapq
import posixpath
from collections.abc import Iterable
from difflib import SequenceMatcher

MAX_COMPARED = 200
"""Paths compared letter by letter: those that begin most like the path asked for."""

MAX_PATH_CHARS = 500
"""Of a longer path the beginning is compared."""

MIN_LIKENESS = 0.7
"""Share of two paths' letters that has to be equal, in order."""


def find_near_paths(path: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return known paths that are near to one, the nearest first."""
    wanted = _plain(path[:MAX_PATH_CHARS])
    if not wanted:
        return []
    name = posixpath.basename(wanted)
    ranked = []
    for each in heapq.nlargest(MAX_COMPARED, known, key=lambda one: _shared_start(wanted, one.casefold())):
        plain = _plain(each)
        has_name = posixpath.basename(plain) == name
        likeness = SequenceMatcher(None, wanted, plain).ratio()
        if has_name or likeness >= MIN_LIKENESS:
            ranked.append((not has_name, -likeness, each))
    return [each for _, _, each in sorted(ranked)[:limit]]


def folders_of(paths: Iterable[str]) -> set[str]:
    """Return the folders on the way to files, each with a `/` at its end."""
    folders: set[str] = set()
    for path in paths:
        at = path.rfind("/")
        while at > 0 and (folder := path[: at + 1]) not in folders:
            folders.add(folder)
            at = path.rfind("/", 0, at)
    return folders


def _shared_start(one: str, other: str) -> int:
    """Return with how many equal letters two paths begin."""
    return next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(other)
    )


def _plain(path: str) -> str:
    """Return a path in lower case without `.` and empty parts, or a `/` at an end."""
    return posixpath.normpath(path.strip().casefold()).strip("/.") if path.strip() else ""
