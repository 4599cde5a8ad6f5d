"""The exact slice around what matched.

What an agent reads of a hit is its snippet, so the window matters as much as the ranking: it shows the
rarest of the words asked for, most of them at once, in whole lines.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from memd.system.cancellation import check_cancelled
from memd.text.tokens import CJK_CLASS, is_cjk

TOGETHER = 1.5
"""Power over a line's worth: a line with two of the words says more than two lines with one each."""

PIECES_OF_A_WINDOW = 4
"""A line without sentences that outgrows the window is cut so fine that about this many pieces fill one."""

LEAST_STEM = 3
"""Letters a stem keeps at least: shorter ones begin half of all words."""

LONG_STEM = 5
"""From this many letters on a stem may be followed by any short ending (`adopt`, `adoption`)."""

LONGEST_TAIL = 5
"""Letters that may follow a long stem."""

_ENDINGS = ("ings", "ing", "edly", "ied", "ies", "ed", "es", "ly", "s", "e", "y")
_TAILS = frozenset({"", "d", "e", "ed", "er", "ers", "es", "ied", "ies", "ing", "ings", "ly", "s", "y"})
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_ACCENTED = re.compile("[\u00c0-\u024f\u1e00-\u1eff]")
_PLAIN_WORD = re.compile("[a-z]+")
_LETTER = re.compile(rf"[^\W_{CJK_CLASS}]")
_LETTER_RUN = re.compile(rf"[^\W_{CJK_CLASS}]+")


@dataclass(frozen=True, slots=True)
class Snippet:
    """An exact slice of a text; `start_line` and `end_line` are its own lines, counted from 1, inclusive."""

    text: str
    start_line: int
    end_line: int


class _Spot(NamedTuple):
    """Where a word stands in the text, and how much showing it is worth."""

    start: int
    end: int
    word: str
    weight: float


def cut_snippet(text: str, start_line: int, words: Sequence[str], limit: int = 700) -> Snippet:
    """Return the part of a text that shows best why it matched."""
    if len(text) <= limit:
        return Snippet(text, start_line, start_line + text.count("\n"))
    start, end = _best_window(text, _spots(_fold(text), words), max(1, limit))
    first = start_line + text.count("\n", 0, start)
    return Snippet(text[start:end], first, first + text.count("\n", start, end))


def has_words(text: str, words: Sequence[str]) -> bool:
    """Return whether any of some words, or another form of it, stands in a text."""
    folded = _fold(text)
    return any(next(_places(folded, _fold(word)), None) is not None for word in words)


def _best_window(text: str, spots: list[_Spot], limit: int) -> tuple[int, int]:
    units = list(_units(text, limit))
    windows = list(_windows(units, limit))
    if not spots:
        return units[windows[0][0]][0], units[windows[0][1]][1]
    places = [spot.start for spot in spots]
    worth = [0.0, *accumulate(_worth(spots, places, *unit) ** TOGETHER for unit in units)]

    def value(window: tuple[int, int]) -> tuple[float, int, int]:
        check_cancelled()
        start, end = units[window[0]][0], units[window[1]][1]
        seen = _worth(spots, places, start, end) + worth[window[1] + 1] - worth[window[0]]
        # Rounded, lest the order of additions decide between equals.
        return round(seen, 9), end - start, start

    first, last = max(windows, key=value)
    return units[first][0], units[last][1]


def _worth(spots: Sequence[_Spot], places: Sequence[int], start: int, end: int) -> float:
    """Return what the distinct words between two places are worth."""
    inside = spots[bisect_left(places, start) : bisect_left(places, end)]
    if len(inside) <= 1:  # most lines hold none of the words
        return inside[0].weight if inside and inside[0].end <= end else 0.0
    return sum({spot.word: spot.weight for spot in inside if spot.end <= end}.values())


def _windows(units: Sequence[tuple[int, int]], limit: int) -> Iterator[tuple[int, int]]:
    """Yield for every unit the longest run of units from it that fits, as (first, last)."""
    last = 0
    for first, (start, _) in enumerate(units):
        last = max(first, last)
        while last + 1 < len(units) and units[last + 1][1] - start <= limit:
            last += 1
        yield first, last


def _units(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Yield what a window is made of, as (start, end): lines, or the parts of one that is too long.

    Lines without a word are left out, so that no window starts or ends with one.
    """
    start = 0
    for line in text.split("\n"):
        if len(line) > limit:
            yield from _parts(text, start, start + len(line), limit)
        elif line and not line.isspace():
            yield start, start + len(line)
        start += len(line) + 1
    if not text.strip():
        yield 0, min(len(text), limit)


def _parts(text: str, start: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
    """Yield the sentences of a line too long; one that is too long itself in pieces, cut between words."""
    size = max(1, limit // PIECES_OF_A_WINDOW)
    for stop in [*(match.start() for match in _SENTENCE_END.finditer(text, start, end)), end]:
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


def _spots(folded: str, words: Sequence[str]) -> list[_Spot]:
    """Return where the words stand, in order, rare ones weighing more."""
    found = [
        (start, end, word)
        for word in dict.fromkeys(map(_fold, words))
        for start, end in _places(folded, word)
    ]
    often = Counter(word for _, _, word in found)
    return [_Spot(start, end, word, often[word] ** -0.5) for start, end, word in sorted(found)]


def _places(folded: str, word: str) -> Iterator[tuple[int, int]]:
    """Yield where a word, or another form of it, stands in a text."""
    stem, tails = _stem(word)
    if not stem:
        return
    apart = is_cjk(stem[0])
    at = folded.find(stem)
    while at >= 0:
        end = at + len(stem)
        if apart:
            yield at, end
        elif at == 0 or _LETTER.match(folded, at - 1) is None:
            rest = _LETTER_RUN.match(folded, end)
            tail = rest[0] if rest is not None else ""
            end += len(tail)
            if _fits(tail, stem, tails=tails):
                yield at, end
        at = folded.find(stem, end)


def _fits(tail: str, stem: str, *, tails: bool) -> bool:
    if not tails or not tail:
        return not tail
    if len(stem) >= LONG_STEM:
        return len(tail) <= LONGEST_TAIL
    return tail in _TAILS or (tail[0] == stem[-1] and tail[1:] in _TAILS)


@lru_cache(maxsize=1024)
def _stem(word: str) -> tuple[str, bool]:
    """Return what all forms of a word begin with, and whether it has forms: English words do, names of
    things (`pol-358`, `2022`) and CJK don't."""
    if _PLAIN_WORD.fullmatch(word) is None:
        return word, False
    stem = word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= LEAST_STEM:
            stem = word.removesuffix(ending)
            break
    if stem != word and len(stem) > LEAST_STEM and stem[-1] == stem[-2] and stem[-1] not in "aeiouls":
        stem = stem[:-1]
    return stem, True


def _fold(text: str) -> str:
    """Return a text without case and without the accents of Latin letters, of the same length."""
    lowered = text.lower()
    if text.isascii():
        return lowered
    if len(lowered) != len(text):
        lowered = "".join(each.lower() if len(each.lower()) == 1 else each for each in text)
    return _ACCENTED.sub(lambda letter: unicodedata.normalize("NFD", letter[0])[0], lowered)
