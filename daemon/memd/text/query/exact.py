"""Exact matches: literal terms of a query, and whether a text contains a name: `POL-358`, not `POL-3580`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from memd.system.cancellation import check_cancelled
from memd.text.tokens import is_cjk

MAX_LITERAL_WORDS = 8
"""Most words of a query that is searched for as a whole: notes do not repeat longer ones."""

MAX_LITERAL_CHARACTERS = 120

_CODE = re.compile(r"[\^$\\{}\[\]|*<>=@~`%+]|::|\(\?|&&|\.\*|[(]\)")
_SIGN_FIRST = re.compile(r"[-.:/#@$%&^*|~=+!]+\w")
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")  # SQLite refuses NUL, UTF-8 has no surrogates
_PLAIN = re.compile("[A-Za-z0-9 ]+")
_PROSE_END = ".,;:?!…\"'”’»"
_PROSE_START = "\"'“‘«"


def find_literals(query: str) -> tuple[str, ...]:
    """Return the literal terms of a query."""
    whole = _whole(query)
    words = whole.split(" ")
    found = []
    if 1 < len(words) <= MAX_LITERAL_WORDS and len(whole) <= MAX_LITERAL_CHARACTERS:
        found.append(whole)
    for word in words:
        bare = word.lstrip(_PROSE_START).rstrip(_PROSE_END)
        if bare.startswith("(") and bare.endswith(")") and "(" not in bare[1:]:
            bare = bare[1:-1]
        if word.startswith(":") and word.endswith(":") and len(word) > 2:
            bare = word
        if is_code(bare):
            found.append(bare)
    return tuple(dict.fromkeys(each for each in found if each))


def is_plain_query(literal: str, query: str) -> bool:
    """Return whether a literal is the whole query and consists of plain words, so that only texts with all of its
    keywords can contain it.
    """
    return _PLAIN.fullmatch(literal) is not None and literal == _whole(query)


def _whole(query: str) -> str:
    """Return a query without final punctuation, gaps as single blanks."""
    return " ".join(_UNSPEAKABLE.sub(" ", query).split()).strip(_PROSE_END)


def is_code(word: str) -> bool:
    """Return whether a word contains signs as code does."""
    if len(word) < 2 or len(word) > MAX_LITERAL_CHARACTERS:
        return False
    return _CODE.search(word) is not None or _SIGN_FIRST.match(word) is not None


def has_signs(literal: str) -> bool:
    """Return whether a literal has signs, which the keyword index ignores."""
    return re.search(r"[^\w\s]", literal) is not None


WHOLE_MATCH_SCORE = 2
"""Score of a name that occurs on its own."""

PART_MATCH_SCORE = 1
"""Score of a name within a longer one: `v1.2.3` in `v1.2.3-rc1`, `src/app` in `src/app/main.py`."""

_JOINTS = frozenset("-./:@_+#~\\")
_GAP = re.compile(r"\s+")


def exact_match_count(names: Sequence[str], text: str) -> int:
    """Return the exact match score of a text: `WHOLE_MATCH_SCORE` or `PART_MATCH_SCORE` per name, ignoring case."""
    folded = _fold(text)
    # A plain substring search is fastest, and most texts lack the name.
    return sum(
        _match_score(name, words, folded)
        for name, words, longest in _split_names(tuple(names))
        if longest in folded
    )


def exact_match_counts(names: Sequence[str], texts: Mapping[int, str]) -> dict[str | int, int]:
    """Return the exact match scores of many texts by key; texts without a match are left out."""
    wanted = _split_names(tuple(names))
    # Search all texts at once first: most names occur in none.
    whole = _fold("\0".join(texts.values()))
    if not any(longest in whole for _, _, longest in wanted):
        return {}
    parts = whole.split("\0")
    if len(parts) != len(texts):  # a text contains the separator
        parts = [_fold(text) for text in texts.values()]
    held: dict[str | int, int] = {}
    for key, folded in zip(texts, parts, strict=True):
        check_cancelled()
        count = 0
        for name, words, longest in wanted:
            if longest in folded and all(word in folded for word in words):
                count += _match_score(name, words, folded)
        if count:
            held[key] = count
    return held


@lru_cache(maxsize=64)
def _split_names(names: tuple[str, ...]) -> list[tuple[str, tuple[str, ...], str]]:
    """Return each non-blank name case-folded, with its words and the longest of them."""
    folded = [name.strip().casefold() for name in names if name.strip()]
    return [(name, words, max(words, key=len)) for name in folded for words in [tuple(_GAP.split(name))]]


def _match_score(name: str, words: tuple[str, ...], folded: str) -> int:
    """Return the score of a name in a text, both case-folded; 0 without a match."""
    best = 0
    for start, end in _find_name(words, folded):
        if _has_word_bounds(name, folded, start, end):
            if _stands_alone(name, folded, start, end):
                return WHOLE_MATCH_SCORE
            best = PART_MATCH_SCORE
    return best


def _find_name(words: tuple[str, ...], folded: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of a name in a text, regardless of its surroundings; blanks match any white space."""
    if len(words) == 1:
        start = folded.find(words[0])
        while start >= 0:
            yield start, start + len(words[0])
            start = folded.find(words[0], start + 1)
        return
    pattern = _pattern(words)
    found = pattern.search(folded)
    while found is not None:
        yield found.span()
        found = pattern.search(folded, found.start() + 1)


@lru_cache(maxsize=256)
def _pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of some words with white space between them.

    The surroundings are checked separately: a pattern with the letters of all scripts is slow to compile, and every
    query has another one.
    """
    return re.compile(r"\s+".join(map(re.escape, words)))


def _has_word_bounds(name: str, folded: str, start: int, end: int) -> bool:
    """Return whether a match starts and ends at a word boundary."""
    if _is_letter(name[0]) and _is_letter(folded[start - 1 : start]):
        is_version = name[0].isdecimal() and folded[start - 1] == "v"  # 1.2.4 matches v1.2.4
        if not is_version or _is_letter(folded[max(0, start - 2) : start - 1]):
            return False
    return not (_is_letter(name[-1]) and _is_letter(folded[end : end + 1]))


def _stands_alone(name: str, folded: str, start: int, end: int) -> bool:
    """Return whether a match is not part of a longer name: `src/app` in `src/app/main.py`.

    A name that begins or ends with a sign (`.env`, `C++`) is also a part if a letter is adjacent.
    """
    before, after = folded[max(0, start - 2) : start], folded[end : end + 2]
    if len(before) == 2 and before[1] in _JOINTS and _is_letter(before[0]):
        return False
    if len(after) == 2 and after[0] in _JOINTS and _is_letter(after[1]):
        return False
    if not _is_letter(name[0]) and _is_letter(before[-1:]):
        return False
    return _is_letter(name[-1]) or not _is_letter(after[:1])


def _fold(text: str) -> str:
    """Return a text case-folded; faster than `casefold` for ASCII."""
    return text.lower() if text.isascii() else text.casefold()


def _is_letter(character: str) -> bool:
    """Return whether a character is a letter or digit of a script with spaces between words; False for ""."""
    return character.isalnum() and (character.isascii() or not is_cjk(character))
