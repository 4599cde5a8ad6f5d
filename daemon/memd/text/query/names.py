"""Names in a query, by their capital letters: of people, places, products."""

from __future__ import annotations

import re

from memd.text.language.stopwords import WORDS_OF

MIN_NAME_LETTERS = 3

_WORD = re.compile(r"[^\W_]+")
_GERMAN = WORDS_OF["de"] - WORDS_OF["en"]
_NO_NAMES = frozenset(
    """monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december mrs miss new""".split()
)


def find_names(query: str) -> frozenset[str]:
    """Return the capitalized words of a query that are likely names, as they are spelled.

    The first word is left out. So are calendar words, and all words of a German query: there every noun has a capital.
    """
    words = _WORD.findall(query)
    if any(word.lower() in _GERMAN for word in words):
        return frozenset()
    return frozenset(
        word
        for word in words[1:]
        if len(word) >= MIN_NAME_LETTERS and word[0].isupper() and word.lower() not in _NO_NAMES
    )


def has_name(text: str, names: frozenset[str]) -> bool:
    """Return whether a text has any of some names in the same spelling."""
    return any(name in text for name in names) and not names.isdisjoint(_WORD.findall(text))
