"""Occurrences of words in texts, in any form: `deploys` and `deployed` for `deploy`."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from memd.text.lazy_pattern import lazy_pattern
from memd.text.tokens import CJK_CLASS, is_cjk

MIN_STEM_LETTERS = 3
"""Shortest stem: shorter ones match unrelated words."""

LONG_STEM_LETTERS = 5
"""A stem of at least this length may have any short suffix (`adopt`, `adoption`)."""

MAX_SUFFIX_LETTERS = 5
"""Longest suffix of a long stem."""

_ENDINGS = ("ings", "ing", "edly", "ied", "ies", "ed", "es", "ly", "s", "e", "y")
_SUFFIXES = frozenset({"", "d", "e", "ed", "er", "ers", "es", "ied", "ies", "ing", "ings", "ly", "s", "y"})
_ACCENTED = re.compile("[\u00c0-\u024f\u1e00-\u1eff]")
_PLAIN_WORD = re.compile("[a-z]+")
_LETTER_RUN = lazy_pattern(rf"[^\W_{CJK_CLASS}]+")


class WordMatch(NamedTuple):
    """The span of a matched word in a text, and its weight."""

    start: int
    end: int
    word: str
    weight: float


def has_words(text: str, words: Sequence[str]) -> bool:
    """Return whether a text contains any of some words in any form."""
    folded = fold(text)
    return any(next(find_word(folded, fold(word)), None) is not None for word in words)


def find_words(folded: str, words: Sequence[str]) -> list[WordMatch]:
    """Return the spans of words in a text, in order, with higher weights for rare words."""
    found = [
        (start, end, word)
        for word in dict.fromkeys(map(fold, words))
        for start, end in find_word(folded, word)
    ]
    often = Counter(word for _, _, word in found)
    return [WordMatch(start, end, word, often[word] ** -0.5) for start, end, word in sorted(found)]


def matched_spans(text: str, words: Sequence[str], most: int) -> list[tuple[int, int]]:
    """Return the first spans of words in a text, in any form; spans that overlap are joined."""
    spans: list[tuple[int, int]] = []
    for match in find_words(fold(text), words):
        if spans and match.start < spans[-1][1]:
            spans[-1] = spans[-1][0], max(spans[-1][1], match.end)
        elif len(spans) < most:
            spans.append((match.start, match.end))
        else:
            break
    return spans


def find_word(folded: str, word: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a word in any form."""
    # No pattern for each word: compiling one takes longer than reading the texts of a search.
    stem, has_forms = stem_word(word)
    if not stem:
        return
    apart = is_cjk(stem[0])
    at = folded.find(stem)
    while at >= 0:
        end = at + len(stem)
        if apart:
            yield at, end
        elif at == 0 or not _is_letter(folded[at - 1]):
            rest = _LETTER_RUN.match(folded, end)
            tail = rest[0] if rest is not None else ""
            end += len(tail)
            if _fits(tail, stem, has_forms=has_forms):
                yield at, end
        at = folded.find(stem, end)


def _is_letter(character: str) -> bool:
    return character.isalnum() and not is_cjk(character)


def _fits(tail: str, stem: str, *, has_forms: bool) -> bool:
    """Return whether a tail makes a form of the word with a stem."""
    if not has_forms or not tail:
        return not tail
    if len(stem) >= LONG_STEM_LETTERS:
        return len(tail) <= MAX_SUFFIX_LETTERS
    return tail in _SUFFIXES or (tail[0] == stem[-1] and tail[1:] in _SUFFIXES)


@lru_cache(maxsize=1024)
def stem_word(word: str) -> tuple[str, bool]:
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


def fold(text: str) -> str:
    """Return a text in lower case without accents of Latin letters, of the same length."""
    lowered = text.lower()
    if text.isascii():
        return lowered
    if len(lowered) != len(text):
        lowered = "".join(each.lower() if len(each.lower()) == 1 else each for each in text)
    return _ACCENTED.sub(lambda letter: unicodedata.normalize("NFD", letter[0])[0], lowered)
