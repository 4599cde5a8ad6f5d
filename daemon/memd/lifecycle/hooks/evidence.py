"""What a line of memory shares with a prompt. Pure functions.

A hit is a chunk of many lines; one line of it is the fact. The line has to share words with the prompt that are rare in
the memory and not common in requests.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from memd.lifecycle.hooks.prompts import is_common
from memd.text.query.word_forms import find_word, fold, stem_word
from memd.text.tokens import folded_words, has_cjk

MIN_PREFIX_LETTERS = 5
"""Shortest common beginning of two forms of one word in languages with long endings."""

MAX_ENDING_LETTERS = 3

COMMON_WEIGHT, UNKNOWN_WEIGHT = 0.3, 0.5
"""Factors of the weight of a word that most requests have, and of a word that memory doesn't have."""

MIN_QUOTED_WORDS = 4
"""Consecutive words of a prompt that make a line a quotation of it, such as the message of an error."""

MIN_IDENTIFIER_LETTERS = 5

_WORD = re.compile(r"[^\W_]+")
_NAME = re.compile(r"\w*(?:\d[^\W\d_]|[^\W\d_]\d|[a-z][A-Z]|_|[A-Z]{2})|.*\w[-./:@]\w")
_IDENTIFIER = re.compile(
    r"(?=.*[^\W\d_])\w*(?:[a-z][A-Z]|\w_\w|[^\W\d_]\d|\d[^\W\d_])|[A-Z]{6,}\Z|.*\w[./:@]+\w"
)


class PromptTerm(Struct, frozen=True):
    """A word of a prompt that narrows down which fact is requested.

    Attributes:
        form: The word, folded.
        weight: Its rarity in the memory, reduced if it is common in requests or unknown to the memory.
        is_name: Whether it is an identifier, an abbreviation or a proper name.
        is_identifier: Whether it is written like a name in code.
        is_common: Whether most requests have it, so that it is hardly evidence.
        corrections: Corrected spellings, if the memory doesn't have the word.
    """

    form: str
    weight: float
    is_name: bool = False
    is_identifier: bool = False
    is_common: bool = False
    corrections: tuple[str, ...] = ()


class LineEvidence(Struct, frozen=True):
    """What one line shares with a prompt.

    Attributes:
        count: Number of distinctive terms.
        share: The weight of all shared terms as a share of the prompt's, 0 to 1.
        names: Number of names among the distinctive terms.
        is_exact: Whether it has an identifier of the prompt, or quotes several of its words in order.
    """

    count: int = 0
    share: float = 0.0
    names: int = 0
    is_exact: bool = False


def prompt_terms(
    words: Iterable[Mapping[str, Any]], prompt: str, known: Iterable[str] = ()
) -> list[PromptTerm]:
    """Return the terms among a query's words, as the explanation of a hit lists them.

    `known` are words that every request has in common with the memory, such as the project's name.
    """
    dropped = {stem_word(fold(word))[0] for word in known}
    terms: dict[str, PromptTerm] = {}
    for row in words:
        word, weight, corrections = row["word"], row["weight"], tuple(row.get("corrections", ()))
        form = fold(word)
        stem = stem_word(form)[0]
        if stem in dropped or (len(form) < 2 and not has_cjk(form)):
            continue
        common = is_common(form)
        weight *= COMMON_WEIGHT if common else 1.0
        weight *= 1.0 if corrections or row.get("chunks", 1) else UNKNOWN_WEIGHT
        is_identifier = len(form) >= MIN_IDENTIFIER_LETTERS and _IDENTIFIER.match(word) is not None
        is_name = _NAME.match(word) is not None or _is_capitalized(word, prompt)
        best = terms.get(stem)
        if best is None or best.weight < weight:
            terms[stem] = PromptTerm(form, weight, is_name, is_identifier, common, corrections)
    return list(terms.values())


def line_evidence(terms: Sequence[PromptTerm], line: str, runs: frozenset[str] = frozenset()) -> LineEvidence:
    """Return what a line shares with a prompt, whose runs of words are `quotable_runs`."""
    folded = fold(line)
    tokens = set(_WORD.findall(folded))
    shared = [term for term in terms if _has(folded, tokens, term)]
    distinctive = [term for term in shared if not term.is_common]
    whole = sum(term.weight for term in terms)
    return LineEvidence(
        len(distinctive),
        sum(term.weight for term in shared) / whole if whole else 0.0,
        sum(term.is_name for term in distinctive),
        any(term.is_identifier for term in shared)
        or (bool(runs) and not runs.isdisjoint(quotable_runs(line))),
    )


def quotable_runs(text: str) -> frozenset[str]:
    """Return all runs of `MIN_QUOTED_WORDS` words; none in scripts without spaces, whose letters are words."""
    if has_cjk(text):
        return frozenset()
    words = folded_words(fold(text))
    starts = range(len(words) - MIN_QUOTED_WORDS + 1)
    return frozenset(" ".join(words[start : start + MIN_QUOTED_WORDS]) for start in starts)


def text_key(text: str) -> bytes:
    """Return what identifies a text, regardless of case, spaces and list marks."""
    words = " ".join(folded_words(fold(text)))
    return hashlib.blake2b(words.encode("utf-8", "replace"), digest_size=12).digest()


def _has(folded: str, tokens: set[str], term: PromptTerm) -> bool:
    """Return whether a text has a term in any form; an identifier only as it is."""
    if term.is_identifier:
        return re.search(rf"(?<!\w){re.escape(term.form)}(?!\w)", folded) is not None
    return any(_has_form(folded, tokens, form) for form in (term.form, *term.corrections))


def _has_form(folded: str, tokens: set[str], form: str) -> bool:
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
