"""Snippets: the exact slice of a chunk that shows the most matched words.

Agents read the snippet of a hit, so it is chosen as carefully as the ranking: whole lines with as many matched words as
possible, rare ones first.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from msgspec import Struct

from memd.system.cancellation import check_cancelled
from memd.text.cut.units import Span, unit_at, units_of
from memd.text.query.word_forms import WordMatch, find_words, fold

LINE_WORTH_EXPONENT = 1.5
"""Exponent of a line's worth: a line with two words is worth more than two lines with one each."""

PARTS_PER_WINDOW = 4
"""A long line without sentences is split so that about this many parts fill a window."""


_PART_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")


class Snippet(Struct, frozen=True):
    """An exact slice of a text and its lines, counted from 1, both inclusive.

    `is_cut_above` and `is_cut_below` tell that it starts or ends inside a sentence or a list item.
    """

    text: str
    start_line: int
    end_line: int
    is_cut_above: bool = False
    is_cut_below: bool = False


def cut_snippet(text: str, start_line: int, words: Sequence[str], limit: int = 700) -> Snippet:
    """Return the snippet of a text that shows the most of `words`."""
    if len(text) <= limit:
        return Snippet(text, start_line, start_line + text.count("\n"))
    start, end = _best_window(text, find_words(fold(text), words), max(1, limit))
    first = start_line + text.count("\n", 0, start)
    is_cut = start > unit_at(text, start)[0], end < unit_at(text, end - 1)[1]
    return Snippet(text[start:end], first, first + text.count("\n", start, end), *is_cut)


def _best_window(text: str, matches: list[WordMatch], limit: int) -> tuple[int, int]:
    units = list(_units(text, limit))
    windows = list(_windows(units, limit))
    if not matches:
        return units[windows[0][0]][0], units[windows[0][1]][1]
    places = [match.start for match in matches]
    worth = [0.0, *accumulate(_worth(matches, places, *unit) ** LINE_WORTH_EXPONENT for unit in units)]

    def value(window: tuple[int, int]) -> tuple[float, int, int]:
        check_cancelled()
        start, end = units[window[0]][0], units[window[1]][1]
        seen = _worth(matches, places, start, end) + worth[window[1] + 1] - worth[window[0]]
        # Rounded, so that the order of additions does not break ties.
        return round(seen, 9), end - start, start

    first, last = max(windows, key=value)
    return units[first][0], units[last][1]


def _worth(matches: Sequence[WordMatch], places: Sequence[int], start: int, end: int) -> float:
    """Return the worth of the distinct words between two places."""
    inside = matches[bisect_left(places, start) : bisect_left(places, end)]
    if len(inside) <= 1:  # most lines contain no word
        return inside[0].weight if inside and inside[0].end <= end else 0.0
    return sum({match.word: match.weight for match in inside if match.end <= end}.values())


def _windows(units: Sequence[tuple[int, int]], limit: int) -> Iterator[tuple[int, int]]:
    """Yield for every unit the longest fitting run of units from it, as (first, last)."""
    last = 0
    for first, (start, _) in enumerate(units):
        last = max(first, last)
        while last + 1 < len(units) and units[last + 1][1] - start <= limit:
            last += 1
        yield first, last


def _units(text: str, limit: int) -> Iterator[Span]:
    """Yield what a window shows whole: units, and parts of those that are longer than a window."""
    if not text.strip():
        yield 0, min(len(text), limit)
    for start, end in units_of(text):
        if end - start > limit:
            yield from _parts(text, start, end, limit)
        else:
            yield start, end


def _parts(text: str, start: int, end: int, limit: int) -> Iterator[Span]:
    """Yield the sentences and lines of a long unit; long ones are split between words."""
    size = max(1, limit // PARTS_PER_WINDOW)
    for stop in [*(match.start() for match in _PART_END.finditer(text, start, end)), end]:
        while start < stop:
            while start < stop and text[start].isspace():
                start += 1
            cut = stop
            if stop - start > limit:
                space = text.rfind(" ", start + 1, start + size + 1)
                cut = space if space > 0 else start + size
            if cut > start:
                yield start, cut
            start = cut
