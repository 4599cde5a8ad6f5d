"""Exact matches: what a query asks for letter by letter, and whether a text holds a name: `POL-358`, not `POL-3580`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from memd.system.cancellation import check_cancelled
from memd.text.tokens import is_cjk

MOST_WORDS = 8
"""Words of the longest query that is looked for as a whole: notes do not repeat longer ones."""

MOST_CHARACTERS = 120

_CODE = re.compile(r"[\^$\\{}\[\]|*<>=@~`%+]|::|\(\?|&&|\.\*|[(]\)")
_SIGN_FIRST = re.compile(r"[-.:/#@$%&^*|~=+!]+\w")
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")  # what SQLite cannot take, or UTF-8 cannot spell
_PLAIN = re.compile("[A-Za-z0-9 ]+")
_PROSE_END = ".,;:?!…\"'”’»"
_PROSE_START = "\"'“‘«"


def find_literals(query: str) -> tuple[str, ...]:
    """Return what of a query is meant letter by letter."""
    whole = _whole(query)
    words = whole.split(" ")
    found = []
    if 1 < len(words) <= MOST_WORDS and len(whole) <= MOST_CHARACTERS:
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


def is_whole(literal: str, query: str) -> bool:
    """Return whether a literal is a query as it stands, and all of it words any keyword index knows: no text without
    all of them holds it.
    """
    return _PLAIN.fullmatch(literal) is not None and literal == _whole(query)


def _whole(query: str) -> str:
    """Return a query without what ends it, each gap one blank."""
    return " ".join(_UNSPEAKABLE.sub(" ", query).split()).strip(_PROSE_END)


def is_code(word: str) -> bool:
    """Return whether a word has signs that words don't have, at least one letter or digit, or is signs alone."""
    if len(word) < 2 or len(word) > MOST_CHARACTERS:
        return False
    return _CODE.search(word) is not None or _SIGN_FIRST.match(word) is not None


def is_unfindable(literal: str) -> bool:
    """Return whether the keyword index can't tell a literal from its words: it has signs."""
    return re.search(r"[^\w\s]", literal) is not None


ALONE = 2
"""What a name that stands alone counts."""

AS_PART = 1
"""What a name counts that is a part of a longer one: `v1.2.3` in `v1.2.3-rc1`, `src/app` in `src/app/main.py`."""

_JOINTS = frozenset("-./:@_+#~\\")
_GAP = re.compile(r"\s+")


def exact_match_count(names: Sequence[str], text: str) -> int:
    """Return how well a text holds some names: `ALONE` or `AS_PART` for each it holds, whatever its case."""
    folded = _fold(text)
    # Looking for a plain string is ten times as fast as anything else, and most texts don't hold it.
    return sum(
        _holds(name, words, folded) for name, words, longest in _pieces_of(tuple(names)) if longest in folded
    )


def exact_match_counts(names: Sequence[str], texts: Mapping[int, str]) -> dict[str | int, int]:
    """Return how well each of many texts holds some names, as `exact_match_count` counts; texts that hold none are left
    out.
    """
    wanted = _pieces_of(tuple(names))
    # All texts at once: most names stand in none of them, and one look at 100,000 characters tells.
    whole = _fold("\0".join(texts.values()))
    if not any(longest in whole for _, _, longest in wanted):
        return {}
    parts = whole.split("\0")
    if len(parts) != len(texts):  # a text holds the separator itself
        parts = [_fold(text) for text in texts.values()]
    held: dict[str | int, int] = {}
    for key, folded in zip(texts, parts, strict=True):
        check_cancelled()
        count = 0
        for name, words, longest in wanted:
            if longest in folded and all(word in folded for word in words):
                count += _holds(name, words, folded)
        if count:
            held[key] = count
    return held


@lru_cache(maxsize=64)
def _pieces_of(names: tuple[str, ...]) -> list[tuple[str, tuple[str, ...], str]]:
    """Return of each name that isn't blank what is looked for, case-folded: it, its words, the longest of them."""
    folded = [name.strip().casefold() for name in names if name.strip()]
    return [(name, words, max(words, key=len)) for name in folded for words in [tuple(_GAP.split(name))]]


def _holds(name: str, words: tuple[str, ...], folded: str) -> int:
    """Return what a name in a text counts, both case-folded; 0 if it isn't there."""
    best = 0
    for start, end in _places(words, folded):
        if _is_part(name, folded, start, end):
            if _stands_alone(name, folded, start, end):
                return ALONE
            best = AS_PART
    return best


def _places(words: tuple[str, ...], folded: str) -> Iterator[tuple[int, int]]:
    """Yield where a name's letters stand in a text, whatever is beside them; any blanks for its blanks."""
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
    """Return what finds some words with blanks between them.

    What may stand beside them is looked at by hand: a pattern that knows the letters of all scripts takes
    milliseconds to compile, and every query has another one.
    """
    return re.compile(r"\s+".join(map(re.escape, words)))


def _is_part(name: str, folded: str, start: int, end: int) -> bool:
    """Return whether no letter or digit goes on where a name begins or ends with one."""
    if _is_letter(name[0]) and _is_letter(folded[start - 1 : start]):
        is_version = name[0].isdecimal() and folded[start - 1] == "v"  # 1.2.4 is v1.2.4
        if not is_version or _is_letter(folded[max(0, start - 2) : start - 1]):
            return False
    return not (_is_letter(name[-1]) and _is_letter(folded[end : end + 1]))


def _stands_alone(name: str, folded: str, start: int, end: int) -> bool:
    """Return whether a name is no part of a longer one: `src/app` of `src/app/main.py`.

    One that begins or ends with a mark (`.env`, `C++`) is a part also where a letter is right beside it.
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
    """Return a text case-folded: of ASCII in a fifth of the time that `casefold` takes for it."""
    return text.lower() if text.isascii() else text.casefold()


def _is_letter(character: str) -> bool:
    """Return whether a character is a letter or digit of a script that puts spaces between words; "" is none."""
    return character.isalnum() and (character.isascii() or not is_cjk(character))
