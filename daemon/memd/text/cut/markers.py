"""HTML comments for programs (`<!-- name: value -->`) in Markdown: finding them, and removing them from a text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_SPACES = (
    *range(9, 14),
    0x20,
    0xA0,
    0x1680,
    *range(0x2000, 0x200B),
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x3000,
    0xFEFF,
)

SPACE: Final = "".join(map(chr, _SPACES))
"""White space as JavaScript has it: the programs that share these comments are written in it."""

_CLOSING = "-->"
_LINE_END = re.compile(r"[\r\n]")
_CUT = "\0"
"""Placeholder for a marker while lines are tidied; no note contains it, since a file with NUL bytes is refused."""


class Marker(NamedTuple):
    """A marker in a text: where it starts and ends, its name in lower case, its value without outer white space.

    The name is empty if the pattern of the openings has no group for it.
    """

    start: int
    end: int
    name: str
    value: str


def marker_pattern(*names: str) -> re.Pattern[str]:
    """Return the pattern of the openings of markers, in any case: `<!-- name:`."""
    return re.compile(rf"<!--[{SPACE}]*({'|'.join(names)})[{SPACE}]*:", re.ASCII | re.IGNORECASE)


def scan_markers(text: str, opening: re.Pattern[str], *, within_line: bool = False) -> Iterator[Marker]:
    """Yield the markers of a text in their order; one without an end is none."""
    at, closing, line_end = 0, -1, -1
    while (match := opening.search(text, at)) is not None:
        start = match.end()
        if closing < start and (closing := text.find(_CLOSING, start)) < 0:
            return
        if within_line and line_end < start:
            end = _LINE_END.search(text, start)
            line_end = len(text) if end is None else end.start()
        if within_line and line_end < closing:
            at = start
            continue
        at = closing + len(_CLOSING)
        yield Marker(match.start(), at, (match[1] or "").lower(), text[start:closing].strip(SPACE))


def hide_markers(text: str, opening: re.Pattern[str]) -> str:
    """Return a text without its markers; every line keeps its number.

    Blanks that a marker leaves at the end of its line go with it. A line of markers alone becomes empty.
    """
    if "<!--" not in text:
        return text
    parts, at = [], 0
    for marker in scan_markers(text, opening, within_line=True):
        parts += [text[at : marker.start], _CUT, "\n" * text.count("\n", marker.start, marker.end)]
        at = marker.end
    if not parts:
        return text
    lines = "".join([*parts, text[at:]]).split("\n")
    return "\n".join(_without_cuts(line) if _CUT in line else line for line in lines)


def _without_cuts(line: str) -> str:
    """Return a line without the placeholders of markers, and without the blanks before one at its end."""
    body = line.rstrip(f" \t\r{_CUT}")
    if _CUT in line[len(body) :]:
        line = body + "\r" * line.endswith("\r")
    return line.replace(_CUT, "")
