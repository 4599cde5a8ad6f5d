"""What is shown of a passage: its lines, and those around it that fit and are worth most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memd.text.passages import HEADING


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a file that is known: its text, and where it starts, as a character and as a line from 1."""

    text: str
    start: int
    line: int


@dataclass(frozen=True, slots=True)
class Window:
    """An exact slice of a file: from character `start` up to `end`, lines from 1, both inclusive."""

    text: str
    start: int
    end: int
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Worth:
    """A span of a file, in characters, and what it is worth to show."""

    start: int
    end: int
    value: float


def grow_window(
    region: Region,
    first: int,
    end: int,
    limit: int,
    worths: Sequence[Worth],
    shown: Sequence[tuple[int, int]] = (),
) -> Window:
    """Return the window around a passage: whole lines are added on the side worth more, as long as they fit.

    A window ends at a heading, and begins with the one it stands under at most: what is beyond is another subject.

    Args:
        region: What is known of the file; it holds the passage.
        first: Where the passage starts, in characters of the file.
        end: Where it ends, not belonging to it.
        limit: Most characters. A passage longer than that is returned as it is.
        worths: What spans of the file are worth; a line is worth the most of the spans it lies in.
        shown: Spans of the file that are shown already; lines in them are not added.
    """
    lines = _lines(region)
    low = next(at for at, line in enumerate(lines) if line[1] > first)
    high = max(at for at, line in enumerate(lines) if line[0] < max(end, lines[low][0] + 1))
    while low < high and not _text(region, lines[low]).strip():
        low += 1
    while high > low and not _text(region, lines[high]).strip():
        high -= 1
    start, stop = max(first, lines[low][0]), min(end, lines[high][1])
    above, below = low, high
    open_above = not _is_heading(region, lines[low]) and start == lines[low][0]
    open_below = stop == lines[high][1]
    while open_above or open_below:
        up = _next(region, lines, above, -1) if open_above else None
        down = _next(region, lines, below, 1) if open_below else None
        open_above = up is not None and stop - lines[up][0] <= limit and not _is_in(lines[up], shown)
        open_below = (
            down is not None
            and lines[down][1] - start <= limit
            and not _is_heading(region, lines[down])
            and not _is_in(lines[down], shown)
        )
        if open_below and (
            not open_above or _worth(lines[down or 0], worths) >= _worth(lines[up or 0], worths)
        ):
            below = down or 0
            stop = lines[below][1]
        elif open_above:
            above = up or 0
            start = lines[above][0]
            open_above = not _is_heading(region, lines[above])
    text = region.text[start - region.start : stop - region.start]
    line = region.line + region.text.count("\n", 0, start - region.start)
    return Window(text, start, stop, line, line + text.count("\n"))


def _lines(region: Region) -> list[tuple[int, int]]:
    """Return where the lines of a region start and end, in characters of the file."""
    lines = []
    start = region.start
    for line in region.text.split("\n"):
        lines.append((start, start + len(line)))
        start += len(line) + 1
    return lines


def _text(region: Region, line: tuple[int, int]) -> str:
    """Return a line's text."""
    return region.text[line[0] - region.start : line[1] - region.start]


def _is_heading(region: Region, line: tuple[int, int]) -> bool:
    """Return whether a line is a heading."""
    return HEADING.match(region.text, line[0] - region.start, line[1] - region.start) is not None


def _next(region: Region, lines: Sequence[tuple[int, int]], at: int, step: int) -> int | None:
    """Return the next line with a word on it, in a direction; None at the end of what is known."""
    at += step
    while 0 <= at < len(lines) and not _text(region, lines[at]).strip():
        at += step
    return at if 0 <= at < len(lines) else None


def _is_in(line: tuple[int, int], spans: Sequence[tuple[int, int]]) -> bool:
    """Return whether a line lies in one of some spans."""
    return any(start <= line[0] and line[1] <= end for start, end in spans)


def _worth(line: tuple[int, int], worths: Sequence[Worth]) -> float:
    """Return what a line is worth."""
    return max((each.value for each in worths if each.start <= line[0] and line[1] <= each.end), default=0.0)
