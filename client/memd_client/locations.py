"""A path with lines: as `memctl search` prints it (`notes.md:3-9`), and as a citation (`notes.md#L3-L9`)."""

from __future__ import annotations

import re

MAX_LINE = 1_000_000_000
"""Bound of line numbers, so that they fit into a message; the daemon has no limit of its own."""

_LOCATION = re.compile(
    r"(?P<path>.+)(?::|#L)(?P<first>[0-9]+)(?:-L?(?P<last>[0-9]+))?", re.DOTALL | re.IGNORECASE
)


def split_location(location: str) -> tuple[str, int | None, int | None]:
    """Return the path, the first line and the number of lines of a location such as `memory/a.md:3-9`.

    Both numbers are None for a path without lines.

    Raises:
        ValueError: A line is out of range, or the last one is before the first one.
    """
    match = _LOCATION.fullmatch(location)
    if match is None:
        return location, None, None
    first, last = (_line_number(text) for text in (match["first"], match["last"] or match["first"]))
    if last < first:
        raise ValueError(f"line {last} is before line {first}")
    return match["path"], first, last - first + 1


def _line_number(text: str) -> int:
    """Return a line number in a location."""
    number = int(text) if len(text) <= len(str(MAX_LINE)) else 0
    if not 1 <= number <= MAX_LINE:
        raise ValueError(f"line {text[:20]} is not in the range 1<=x<={MAX_LINE}")
    return number


def citation(path: str, start_line: int, end_line: int) -> str:
    """Return a location as a citation, such as `memory/a.md#L3-L9`."""
    return f"{path}#L{start_line}" if start_line == end_line else f"{path}#L{start_line}-L{end_line}"
