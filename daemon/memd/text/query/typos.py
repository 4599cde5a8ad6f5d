"""Words and paths that a misspelled one may have been meant as. Pure.

A word is looked up only if it occurs nowhere in the index. Each word's letters are kept as the bits of a number: words
that differ in more bits than typing errors can cause are left out in one step, and few remain to be compared.
"""

from __future__ import annotations

import heapq
import posixpath
import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from memd.system.cancellation import check_cancelled
from memd.text.tokens import CJK_CLASS

ONE_ERROR_FROM, TWO_ERRORS_FROM = 4, 8
"""Letters from which a word may hold one error, or two. In shorter ones an error makes another word."""

NAMES_FROM = 6
"""Letters a word with digits needs: `v12` and `v13` are two things."""

LONGEST = 40
"""Letters of the longest word that is compared."""

_WORD = re.compile(rf"[^\W_{CJK_CLASS}]{{{ONE_ERROR_FROM},{LONGEST}}}")
_HEX = re.compile(r"(?=.*\d)[0-9a-f]+")


class Vocabulary:
    """The words of an index and in how many texts each is, ready for `similar_words`.

    The words stay one string: a list of them would take five times the memory and most of the time to make.
    """

    def __init__(self, words: str, counts: Sequence[int] | NDArray[np.int32]) -> None:
        """Keep words."""
        self._text = f"\n{words}\n" if words else "\n"
        letters = np.frombuffer(self._text.encode("utf-32-le"), np.uint32)
        ends = np.flatnonzero(letters == ord("\n"))
        self._starts = (ends[:-1] + 1).astype(np.uint32)
        self._lengths = np.diff(ends).astype(np.int64) - 1
        bits = np.uint64(1) << (letters & np.uint32(63)).astype(np.uint64)
        bits[ends] = 0
        self._bits = np.bitwise_or.reduceat(bits, self._starts) if len(self._starts) else bits[:0]
        self._counts = np.asarray(counts, np.int32)
        if len(self._counts) != len(self._starts):
            raise ValueError(f"{len(self._starts)} words with {len(self._counts)} counts")

    def __len__(self) -> int:
        return len(self._starts)

    def __contains__(self, word: object) -> bool:
        return f"\n{word}\n" in self._text

    def candidates(self, word: str, errors: int) -> list[tuple[str, int]]:
        """Return the words that may lie within some errors of one: all that do, and a few that don't."""
        asked = _bits_of(word)
        near = np.abs(self._lengths - len(word)) <= errors
        # One error replaces a letter by another: it takes one bit away at most, and adds one.
        near &= np.bitwise_count(asked & ~self._bits) <= errors
        near &= np.bitwise_count(self._bits & ~asked) <= errors
        return [
            (self._text[start : start + length], count)
            for start, length, count in zip(
                self._starts[near].tolist(),
                self._lengths[near].tolist(),
                self._counts[near].tolist(),
                strict=True,
            )
        ]


def errors_allowed(word: str) -> int:
    """Return how many typing errors a word may hold and still be recognised."""
    if _WORD.fullmatch(word) is None or word.isdigit() or _HEX.fullmatch(word) is not None:
        return 0
    if any(letter.isdigit() for letter in word) and sum(letter.isalpha() for letter in word) < NAMES_FROM:
        return 0
    return 1 if len(word) < TWO_ERRORS_FROM else 2


def similar_words(word: str, vocabulary: Vocabulary, limit: int, errors: int | None = None) -> list[str]:
    """Return the words that one may have been meant as, likeliest first."""
    allowed = errors_allowed(word) if errors is None else errors
    if allowed == 0 or limit <= 0:
        return []
    found = []
    for other, count in vocabulary.candidates(word, allowed):
        check_cancelled()
        distance = _distance(word, other, allowed)
        if 0 < distance <= allowed and _digits(word) == _digits(other):
            found.append((distance, other[0] != word[0], -count, other))
    return [other for _, _, _, other in sorted(found)[:limit]]


def _bits_of(word: str) -> np.uint64:
    bits = 0
    for letter in word:
        bits |= 1 << (ord(letter) & 63)
    return np.uint64(bits)


def _digits(word: str) -> str:
    """Return the digits of a word: an error in them makes another thing."""
    return "" if word.isalpha() else "".join(letter for letter in word if letter.isdigit())


def _distance(one: str, other: str, most: int) -> int:
    """Return the Damerau-Levenshtein distance (of adjacent swaps, no letter edited twice), or more than `most`."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, opposite in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != opposite))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == opposite:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most and (not before or min(before) > most):
            return most + 1
    return row[-1]


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
    return next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), len(other)
    )


def _plain(path: str) -> str:
    """Return a path in lower case without `.` and empty parts, or a `/` at an end."""
    return posixpath.normpath(path.strip().casefold()).strip("/.") if path.strip() else ""
