"""Occurrences of words in texts, in any form: `deploys` and `deployed` for `deploy`."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from memd.text.tokens import CJK_CLASS, is_cjk

MIN_STEM_LETTERS = 3
"""Shortest stem: shorter ones match unrelated words."""

LONG_STEM_LETTERS = 5
"""A stem of at least this length may have any short suffix (`adopt`, `adoption`)."""

MAX_SUFFIX_LETTERS = 5
"""Longest suffix of a long stem."""

_ENDINGS = ("ings", "ing", "edly", "ied", "ies", "ed", "es", "ly", "s", "e", "y")
_SUFFIX = "ings?|i?ed|ies|ers?|es|ly|[desy]|"
_ACCENTED = re.compile("[\u00c0-\u024f\u1e00-\u1eff]")
_PLAIN_WORD = re.compile("[a-z]+")
_LETTER = re.compile(rf"[^\W_{CJK_CLASS}]")


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


def find_word(folded: str, word: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a word in any form."""
    for found in _forms(word).finditer(folded):
        start, end = found.span()
        # Not a look-behind: a pattern that begins with a letter is searched for many times faster.
        if start == 0 or is_cjk(folded[start]) or _LETTER.match(folded, start - 1) is None:
            yield start, end


def find_starts(folded: str, word: str) -> list[int]:
    """Return the starts of a word, in any form. Faster than `find_word`."""
    found = [each.start() for each in _forms(word).finditer(folded)]
    if not found or is_cjk(folded[found[0]]):
        return found
    return [at for at in found if at == 0 or not (before := folded[at - 1]).isalnum() or is_cjk(before)]


@lru_cache(maxsize=1024)
def _forms(word: str) -> re.Pattern[str]:
    """Return a pattern of a word's forms, with the end of the word but not its beginning."""
    stem, has_forms = stem_word(word)
    literal = re.escape(stem) if stem else "(?!)"
    if not stem or is_cjk(stem[0]):
        return re.compile(literal)
    if not has_forms:
        tail = ""
    elif len(stem) >= LONG_STEM_LETTERS:
        tail = f"{_LETTER.pattern}{{0,{MAX_SUFFIX_LETTERS}}}"
    else:
        tail = f"{stem[-1]}?(?:{_SUFFIX})"
    return re.compile(f"{literal}{tail}(?!{_LETTER.pattern})")


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
