r"""What a question holds that is meant letter by letter: signs of code (`|| true`, `^\d{4}-`), and short questions."""

from __future__ import annotations

import re

MOST_WORDS = 8
"""Words of the longest question that is itself looked for, as it stands: longer ones are never written down so."""

MOST_CHARACTERS = 120

_CODE = re.compile(r"[\^$\\{}\[\]|*<>=@~`%+]|::|\(\?|&&|\.\*|[(]\)")
_SIGN_FIRST = re.compile(r"[-.:/#@$%&^*|~=+!]+\w")
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")  # what SQLite cannot take, or UTF-8 cannot spell
_PLAIN = re.compile("[A-Za-z0-9 ]+")
_PROSE_END = ".,;:?!…\"'”’»"
_PROSE_START = "\"'“‘«"


def find_literals(question: str) -> tuple[str, ...]:
    """Return what of a question is meant letter by letter."""
    whole = _whole(question)
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


def is_whole(literal: str, question: str) -> bool:
    """Return whether a literal is a question as it stands, and all of it words any keyword index knows: no text without
    all of them holds it.
    """
    return _PLAIN.fullmatch(literal) is not None and literal == _whole(question)


def _whole(question: str) -> str:
    """Return a question without what ends it, each gap one blank."""
    return " ".join(_UNSPEAKABLE.sub(" ", question).split()).strip(_PROSE_END)


def is_code(word: str) -> bool:
    """Return whether a word has signs that words don't have, at least one letter or digit, or is signs alone."""
    if len(word) < 2 or len(word) > MOST_CHARACTERS:
        return False
    return _CODE.search(word) is not None or _SIGN_FIRST.match(word) is not None


def is_unfindable(literal: str) -> bool:
    """Return whether the keyword index can't tell a literal from its words: it has signs."""
    return re.search(r"[^\w\s]", literal) is not None
