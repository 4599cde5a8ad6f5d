"""Windows: a chunk with as many surrounding lines as fit a snippet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from memd.text.cut.chunking import HEADING

Line: TypeAlias = tuple[int, int]
"""Start and end of a line in a region's text, in characters, without the line end."""


class Region(Struct, frozen=True):
    """A loaded part of a file: its text, and its start as a character and as a line from 1."""

    text: str
    start: int
    line: int


class Window(Struct, frozen=True):
    """An exact slice of a file: from character `start` up to `end`, lines from 1, both inclusive."""

    text: str
    start: int
    end: int
    start_line: int
    end_line: int


SpanScore: TypeAlias = tuple[int, int, float]
"""Start and end of a span of a file, in characters, and its score."""


def grow_window(
    region: Region,
    first: int,
    end: int,
    limit: int,
    worths: Sequence[SpanScore],
    shown: Sequence[tuple[int, int]] = (),
) -> Window:
    """Return the window around a chunk: whole lines are added on the side with the better score while they fit.

    A window ends before the next heading and starts at its own heading at the earliest: beyond is another subject.
    """
    text, base = region.text, region.start
    low, high = _lines_of(text, first - base, end - base)
    start, stop = max(first - base, low[0]), min(end - base, high[1])
    spans = [(span[0] - base, span[1] - base) for span in shown]
    up = _above(text, low) if start == low[0] and not _is_heading(text, low) else None
    down = _below(text, high) if stop == high[1] else None
    while up is not None or down is not None:
        if up is not None and (stop - up[0] > limit or _is_in(up, spans)):
            up = None
        if down is not None and (down[1] - start > limit or _is_heading(text, down) or _is_in(down, spans)):
            down = None
        if down is not None and (up is None or _worth(down, base, worths) >= _worth(up, base, worths)):
            stop = down[1]
            down = _below(text, down)
        elif up is not None:
            start = up[0]
            up = None if _is_heading(text, up) else _above(text, up)
    shown_text = text[start:stop]
    line = region.line + text.count("\n", 0, start)
    return Window(shown_text, base + start, base + stop, line, line + shown_text.count("\n"))


def _lines_of(text: str, first: int, end: int) -> tuple[Line, Line]:
    """Return the first and last non-blank line of a chunk; if all are blank, the last one twice."""
    start = first + 1 if text[first : first + 1] == "\n" else text.rfind("\n", 0, first) + 1
    low = _line_from(text, start)
    high = _line_from(text, text.rfind("\n", 0, max(end - 1, start)) + 1)
    while low[0] < high[0] and not text[low[0] : low[1]].strip():
        low = _line_from(text, low[1] + 1)
    while high[0] > low[0] and not text[high[0] : high[1]].strip():
        high = (text.rfind("\n", 0, high[0] - 1) + 1, high[0] - 1)
    return low, high


def _line_from(text: str, start: int) -> Line:
    end = text.find("\n", start)
    return start, len(text) if end < 0 else end


def _above(text: str, line: Line) -> Line | None:
    """Return the previous non-blank line; None at the start of the region."""
    start = line[0]
    while start > 0:
        start, end = text.rfind("\n", 0, start - 1) + 1, start - 1
        if text[start:end].strip():
            return start, end
    return None


def _below(text: str, line: Line) -> Line | None:
    """Return the next non-blank line; None at the end of the region."""
    end = line[1]
    while end < len(text):
        start, end = _line_from(text, end + 1)
        if text[start:end].strip():
            return start, end
    return None


def _is_heading(text: str, line: Line) -> bool:
    return HEADING.match(text, line[0], line[1]) is not None


def _is_in(line: Line, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start <= line[0] and line[1] <= end for start, end in spans)


def _worth(line: Line, base: int, worths: Sequence[SpanScore]) -> float:
    """Return the best score of the spans that contain a line; the text starts at character `base`."""
    start, end = line[0] + base, line[1] + base
    return max([value for first, last, value in worths if first <= start and end <= last], default=0.0)
