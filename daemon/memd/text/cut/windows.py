"""Windows: a chunk with as much of the text around it as fits a snippet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeAlias

from msgspec import Struct

from memd.text.cut.chunking import HEADING
from memd.text.cut.units import Span, unit_above, unit_at, unit_below
from memd.text.query.word_forms import has_words


class Region(Struct, frozen=True):
    """A loaded part of a file: its text, and its start as a character and as a line from 1."""

    text: str
    start: int
    line: int


class Window(Struct, frozen=True):
    """An exact slice of a file: from character `start` up to `end`, lines from 1, both inclusive.

    `is_cut_above` and `is_cut_below` tell that it starts or ends inside a sentence or a list item.
    """

    text: str
    start: int
    end: int
    start_line: int
    end_line: int
    is_cut_above: bool = False
    is_cut_below: bool = False


SpanScore: TypeAlias = tuple[int, int, float]
"""Start and end of a span of a file, in characters, and its score."""


def grow_window(
    region: Region,
    first: int,
    end: int,
    limit: int,
    worths: Sequence[SpanScore],
    shown: Sequence[Span] = (),
    *,
    completes_only: bool = False,
) -> Window:
    """Return the window around a chunk: its first and last unit whole, then more units.

    It grows on the side with the better score. A window ends before the next heading and starts at its own heading at
    the earliest: beyond is another subject. A
    unit that doesn't fit the limit, or is shown already, isn't added.

    Args:
        region: The text around the chunk.
        first, end: Start and end of the chunk in the file.
        limit: Most characters of a window that is longer than its chunk.
        worths: The scores that decide on which side it grows.
        shown: Spans of the file that other windows show.
        completes_only: Complete the first and last unit, and add no others.
    """
    text, base = region.text, region.start
    start, stop = _without_blank_lines(text, first - base, end - base)
    spans = [(span[0] - base, span[1] - base) for span in shown]
    low, high = unit_at(text, start), unit_at(text, stop - 1)
    if low[0] < start and stop - low[0] <= limit and not _is_shown((low[0], start), spans):
        start = low[0]
    if high[1] > stop and high[1] - start <= limit and not _is_shown((stop, high[1]), spans):
        stop = high[1]
    can_grow = not completes_only
    up = unit_above(text, start) if can_grow and start == low[0] and not _is_heading(text, low) else None
    down = unit_below(text, stop) if can_grow and stop == high[1] else None
    while up is not None or down is not None:
        if up is not None and (stop - up[0] > limit or _is_shown(up, spans)):
            up = None
        if down is not None and (
            down[1] - start > limit or _is_heading(text, down) or _is_shown(down, spans)
        ):
            down = None
        if down is not None and (up is None or _worth(down, base, worths) >= _worth(up, base, worths)):
            stop = down[1]
            down = unit_below(text, stop)
        elif up is not None:
            start = up[0]
            up = None if _is_heading(text, up) else unit_above(text, start)
    part = text[start:stop]
    line = region.line + text.count("\n", 0, start)
    last = line + part.count("\n")
    return Window(part, base + start, base + stop, line, last, start > low[0], stop < high[1])


def fitting_part(window: Window, fits: Callable[[int], bool], words: Sequence[str]) -> Window | None:
    """Return the adjacent lines of a window that fit, those with the most of some words; None if no line fits."""
    parts, at = list[Window](), window.start
    lines = enumerate(window.text.split("\n"), window.start_line)
    for is_fit, run in groupby(lines, lambda line: fits(line[0])):
        numbers, texts = zip(*run, strict=True)
        end, first, last = at + len("\n".join(texts)), numbers[0], numbers[-1]
        if is_fit and any(map(str.strip, texts)):
            is_cut = (
                window.is_cut_above and first == window.start_line,
                window.is_cut_below and last == window.end_line,
            )
            parts.append(Window("\n".join(texts), at, end, first, last, *is_cut))
        at = end + 1
    return max(parts, key=lambda part: sum(has_words(part.text, [word]) for word in words), default=None)


def _without_blank_lines(text: str, start: int, end: int) -> Span:
    """Return a span without blank lines at its ends, unless it is blank."""
    part = text[start:end]
    lead = len(part) - len(part.lstrip())
    if lead == len(part):
        return start, end
    lead = part.rfind("\n", 0, lead) + 1
    return start + lead, start + max(lead + 1, len(part.rstrip()))


def _is_heading(text: str, unit: Span) -> bool:
    return HEADING.match(text, unit[0], unit[1]) is not None


def _is_shown(unit: Span, spans: Sequence[Span]) -> bool:
    return any(unit[0] < end and start < unit[1] for start, end in spans)


def _worth(unit: Span, base: int, worths: Sequence[SpanScore]) -> float:
    """Return the best score of the spans that contain a unit; the text starts at character `base`."""
    start, end = unit[0] + base, unit[1] + base
    return max([value for first, last, value in worths if first <= start and end <= last], default=0.0)
