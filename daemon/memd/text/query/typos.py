"""Spelling correction of words and paths. Pure.

A word is corrected only if it occurs nowhere in the index. Each word's letters are stored as a bit mask: words that
differ in more bits than the allowed errors can cause are skipped, and the few others are compared.
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
from memd.text.lazy_pattern import lazy_pattern
from memd.text.tokens import CJK_CLASS

MIN_LETTERS_FOR_ONE_ERROR, MIN_LETTERS_FOR_TWO_ERRORS = 6, 8
"""Shortest words that may contain one and two errors: in shorter ones an error gives another word (take, make)."""

MIN_LETTERS_WITH_DIGITS = 6
"""Letters a word with digits needs to be corrected: `v12` and `v13` are different things."""

MAX_WORD_LETTERS = 40
"""Longest word that is compared."""

_WORD = lazy_pattern(rf"[^\W_{CJK_CLASS}]{{{MIN_LETTERS_FOR_ONE_ERROR},{MAX_WORD_LETTERS}}}")
_HEX = re.compile(r"(?=.*\d)[0-9a-f]+")


class Vocabulary:
    """The words of an index with the number of texts each is in, for `similar_words`.

    The words stay one string: a list would take five times the RAM.
    """

    def __init__(self, words: str, counts: Sequence[int] | NDArray[np.int32]) -> None:
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
        """Return the words that may be within some errors of a word: all that are, and a few that are not."""
        asked = _bits_of(word)
        near = np.abs(self._lengths - len(word)) <= errors
        # One error replaces one letter by another: it removes at most one bit and adds at most one.
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
    """Return how many typing errors a word may contain and still be corrected."""
    if _WORD.fullmatch(word) is None or word.isdigit() or _HEX.fullmatch(word) is not None:
        return 0
    if (
        any(letter.isdigit() for letter in word)
        and sum(letter.isalpha() for letter in word) < MIN_LETTERS_WITH_DIGITS
    ):
        return 0
    return 1 if len(word) < MIN_LETTERS_FOR_TWO_ERRORS else 2


def similar_words(word: str, vocabulary: Vocabulary, limit: int, errors: int | None = None) -> list[str]:
    """Return corrections of a word, most likely first."""
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
    """Return the digits of a word: an error in them gives another word."""
    return "" if word.isalpha() else "".join(letter for letter in word if letter.isdigit())


def _distance(one: str, other: str, most: int) -> int:
    """Return the Damerau-Levenshtein distance (restricted edit distance), or more than `most`."""
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
"""Most paths compared letter by letter: those with the longest common beginning."""

MAX_PATH_CHARS = 500
"""Characters of a path that are compared."""

MIN_LIKENESS = 0.7
"""Minimum share of equal letters, in order, of similar paths."""


def find_similar_paths(path: str, known: Iterable[str], limit: int = 3) -> list[str]:
    """Return known paths similar to a path, most similar first."""
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
    """Return the parent folders of files, each with a final `/`."""
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
    """Return a normalized path in lower case, without `/` at its ends."""
    return posixpath.normpath(path.strip().casefold()).strip("/.") if path.strip() else ""
