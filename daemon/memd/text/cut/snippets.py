"""Snippets: the exact slice of a chunk that shows the most matched words.

Agents read the snippet of a hit, so it is chosen as carefully as the ranking: whole lines with as many matched words as
possible, rare ones first.
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

LINE_WORTH_EXPONENT = 1.5
"""Exponent of a line's worth: a line with two words is worth more than two lines with one each."""

PARTS_PER_WINDOW = 4
"""A long line without sentences is split so that about this many parts fill a window."""

MIN_STEM_LETTERS = 3
"""Shortest stem: shorter ones match unrelated words."""

LONG_STEM_LETTERS = 5
"""A stem of at least this length may have any short suffix (`adopt`, `adoption`)."""

MAX_SUFFIX_LETTERS = 5
"""Longest suffix of a long stem."""

_ENDINGS = ("ings", "ing", "edly", "ied", "ies", "ed", "es", "ly", "s", "e", "y")
_SUFFIXES = frozenset({"", "d", "e", "ed", "er", "ers", "es", "ied", "ies", "ing", "ings", "ly", "s", "y"})
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])")
_ACCENTED = re.compile("[\u00c0-\u024f\u1e00-\u1eff]")
_PLAIN_WORD = re.compile("[a-z]+")
_LETTER = re.compile(rf"[^\W_{CJK_CLASS}]")
_LETTER_RUN = re.compile(rf"[^\W_{CJK_CLASS}]+")


@dataclass(frozen=True, slots=True)
class Snippet:
    """An exact slice of a text and its lines, counted from 1, both inclusive."""

    text: str
    start_line: int
    end_line: int


class _WordMatch(NamedTuple):
    """The span of a matched word in a text, and its weight."""

    start: int
    end: int
    word: str
    weight: float


def cut_snippet(text: str, start_line: int, words: Sequence[str], limit: int = 700) -> Snippet:
    """Return the snippet of a text that shows the most of `words`."""
    if len(text) <= limit:
        return Snippet(text, start_line, start_line + text.count("\n"))
    start, end = _best_window(text, _find_words(_fold(text), words), max(1, limit))
    first = start_line + text.count("\n", 0, start)
    return Snippet(text[start:end], first, first + text.count("\n", start, end))


def has_words(text: str, words: Sequence[str]) -> bool:
    """Return whether a text contains any of some words in any form."""
    folded = _fold(text)
    return any(next(_find_word(folded, _fold(word)), None) is not None for word in words)


def _best_window(text: str, matches: list[_WordMatch], limit: int) -> tuple[int, int]:
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


def _worth(matches: Sequence[_WordMatch], places: Sequence[int], start: int, end: int) -> float:
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


def _units(text: str, limit: int) -> Iterator[tuple[int, int]]:
    """Yield the units of a window as (start, end): lines, or parts of long lines.

    Blank lines are left out, so that no window starts or ends with one.
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
    """Yield the sentences of a long line; long sentences are split between words."""
    size = max(1, limit // PARTS_PER_WINDOW)
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


def _find_words(folded: str, words: Sequence[str]) -> list[_WordMatch]:
    """Return the spans of words in a text, in order, with higher weights for rare words."""
    found = [
        (start, end, word)
        for word in dict.fromkeys(map(_fold, words))
        for start, end in _find_word(folded, word)
    ]
    often = Counter(word for _, _, word in found)
    return [_WordMatch(start, end, word, often[word] ** -0.5) for start, end, word in sorted(found)]


def _find_word(folded: str, word: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a word in any form."""
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
    if len(stem) >= LONG_STEM_LETTERS:
        return len(tail) <= MAX_SUFFIX_LETTERS
    return tail in _SUFFIXES or (tail[0] == stem[-1] and tail[1:] in _SUFFIXES)


@lru_cache(maxsize=1024)
def _stem(word: str) -> tuple[str, bool]:
    """Return the common prefix of a word's forms, and whether it has forms. Identifiers (`pol-358`, `2022`) and CJK
    have none."""
    if _PLAIN_WORD.fullmatch(word) is None:
        return word, False
    stem = word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= MIN_STEM_LETTERS:
            stem = word.removesuffix(ending)
            break
    if stem != word and len(stem) > MIN_STEM_LETTERS and stem[-1] == stem[-2] and stem[-1] not in "aeiouls":
        stem = stem[:-1]
    return stem, True


def _fold(text: str) -> str:
    """Return a text in lower case without accents of Latin letters, of the same length."""
    lowered = text.lower()
    if text.isascii():
        return lowered
    if len(lowered) != len(text):
        lowered = "".join(each.lower() if len(each.lower()) == 1 else each for each in text)
    return _ACCENTED.sub(lambda letter: unicodedata.normalize("NFD", letter[0])[0], lowered)
