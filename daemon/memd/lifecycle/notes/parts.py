"""Notes that continue in a next file when one is full: `facts.md`, `facts-2.md`; `2026-11-24.md`, `2026-11-24-2.md`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from memd.lifecycle.files import writing
from memd.lifecycle.files.writing import Written
from memd.sync.disk.capacity import SourceLimits, find_room
from memd.sync.disk.safe_open import LinkOnTheWayError, open_listing
from memd_client.errors import NoteUnwritableError

MOST_PARTS = 1_000
"""Files a note may continue in: more than an agent's limits allow."""

Make = Callable[[str, str], str]
"""Takes a part's path and what it holds ("" when it is missing); returns what to append, "" for nothing."""


def part_path(path: str, number: int) -> str:
    """Return the path of a part of a note, from 1; the first is the note itself."""
    return path if number == 1 else f"{path.removesuffix('.md')}-{number}.md"


def find_parts(root: Path, paths: Sequence[str]) -> list[str]:
    """Return the parts there are of some notes of one folder, in the order of the notes and their numbers
    (blocking).
    """
    folder = paths[0].rpartition("/")[0]
    start = str(root).rstrip("/")
    try:
        with open_listing(start, f"{start}/{folder}") as entries:
            names = {f"{folder}/{entry.name}" for entry in entries}
    except (FileNotFoundError, NotADirectoryError, LinkOnTheWayError):
        return []  # what reads or writes the note itself says what is wrong
    return [part for path in paths for part in _parts_among(names, path)]


def append_part(root: Path, path: str, make: Make, limits: SourceLimits) -> Written:
    """Append to the last part of a note, or to a new one when that is full (blocking)."""
    parts = find_parts(root, [path])
    last = parts[-1] if parts else path
    number = next(each for each in range(1, MOST_PARTS + 1) if part_path(path, each) == last)
    room = find_room(root, limits)
    for each in range(number, MOST_PARTS + 1):
        part = part_path(path, each)
        written = writing.append(root, part, lambda held, part=part: make(part, held), room)  # type: ignore[misc]
        if written is not None:
            return written
    raise NoteUnwritableError(f"{path} has {MOST_PARTS} parts", data={"path": path})


def _parts_among(names: set[str], path: str) -> list[str]:
    """Return the names that are parts of a note, by number."""
    pattern = re.compile(rf"{re.escape(path.removesuffix('.md'))}-([1-9][0-9]{{0,2}})\.md")
    numbers = sorted(int(match[1]) for name in names if (match := pattern.fullmatch(name)))
    first = [path] if path in names else []
    return first + [part_path(path, number) for number in numbers if number > 1]
