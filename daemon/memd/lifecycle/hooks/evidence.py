"""How sure a line of memory is the answer to a prompt. Pure functions.

A hit is a chunk of many lines; one line of it is the fact. The line has to share words with the prompt that are rare in
the memory and not common in requests.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from memd.lifecycle.hooks.prompts import is_common
from memd.text.query.word_forms import find_word, fold, stem_word
from memd.text.tokens import folded_words, has_cjk

MIN_PREFIX_LETTERS = 5
"""Shortest common beginning of two forms of one word in languages with long endings."""

MAX_ENDING_LETTERS = 3

_WORD = re.compile(r"[^\W_]+")
_IDENTIFIER = re.compile(r"\w*(?:\d[^\W\d_]|[^\W\d_]\d|[a-z][A-Z]|_|[A-Z]{2})|.*\w[-./:@]\w")


class DistinctiveTerm(Struct, frozen=True):
    """A word of a prompt that narrows down which fact is wanted; `weight` is its rarity in the memory."""

    form: str
    weight: float
    is_name: bool


class LineEvidence(Struct, frozen=True):
    """What one line shares with a prompt.

    Attributes:
        count: Number of distinctive terms.
        weight: Sum of their weights.
        share: The same as a share of all distinctive terms of the prompt, 0 to 1.
        names: Number of identifiers, abbreviations and proper names among them.
    """

    count: int = 0
    weight: float = 0.0
    share: float = 0.0
    names: int = 0


def distinctive_terms(
    words: Iterable[tuple[str, float]], prompt: str, known: Iterable[str] = ()
) -> list[DistinctiveTerm]:
    """Return the distinctive terms among a query's words, each given with its weight.

    `known` are words that every request has in common with the memory, such as the project's name.
    """
    dropped = {stem_word(fold(word))[0] for word in known}
    found: dict[str, DistinctiveTerm] = {}
    for word, weight in words:
        form = fold(word)
        stem = stem_word(form)[0]
        if is_common(form) or stem in dropped or (len(form) < 2 and not has_cjk(form)):
            continue
        is_name = _IDENTIFIER.match(word) is not None or _is_capitalized(word, prompt)
        best = found.get(stem)
        if best is None or best.weight < weight:
            found[stem] = DistinctiveTerm(form, weight, is_name)
    return list(found.values())


def line_evidence(words: Sequence[DistinctiveTerm], line: str) -> LineEvidence:
    """Return what a line shares with a prompt."""
    folded = fold(line)
    tokens = set(_WORD.findall(folded))
    shared = [word for word in words if _has(folded, tokens, word.form)]
    whole = sum(word.weight for word in words)
    weight = sum(word.weight for word in shared)
    return LineEvidence(
        len(shared), weight, weight / whole if whole else 0.0, sum(word.is_name for word in shared)
    )


def text_key(text: str) -> bytes:
    """Return what identifies a text, regardless of case, spaces and list marks."""
    words = " ".join(folded_words(fold(text)))
    return hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=12).digest()


def _has(folded: str, tokens: set[str], form: str) -> bool:
    """Return whether a text has a word in any form."""
    if next(find_word(folded, form), None) is not None:
        return True
    if len(form) < MIN_PREFIX_LETTERS or has_cjk(form):
        return False
    prefix = form[: max(MIN_PREFIX_LETTERS, len(form) - MAX_ENDING_LETTERS)]
    return any(token.startswith(prefix) and len(token) <= len(form) + MAX_ENDING_LETTERS for token in tokens)


def _is_capitalized(word: str, prompt: str) -> bool:
    """Return whether a word has a capital letter inside a sentence of a prompt."""
    at = prompt.find(word)
    if at <= 0 or not word[:1].isupper():
        return False
    before = prompt[:at].rstrip()
    return before[-1:] not in (".", "!", "?", ":", "")
