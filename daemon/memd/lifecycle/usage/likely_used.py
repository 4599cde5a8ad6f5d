"""Whether an answer likely used a recalled text: it repeats distinctive terms that the conversation lacked. Pure.

Common words are no evidence, because any answer has them. If a line states numbers or identifiers, the answer must
repeat half of them, or it states another fact about the same subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import zip_longest

from memd.lifecycle.hooks.prompts import is_common
from memd.text.language.stopwords import FREQUENT_WORDS, WORDS_OF
from memd.text.query.word_forms import fold, stem_word
from memd.text.tokens import has_cjk, split_words

MIN_TERMS, MIN_SHARE, MIN_PRECISE_SHARE = 2, 0.3, 0.5
"""Fewest distinctive terms of a line that an answer repeats, as a number and as a share, and the same share of its
numbers and identifiers."""

_PRECISE_LETTERS = frozenset("0123456789_/@.:")
_TOKEN = re.compile(r"\w[\w./:@-]*", re.ASCII)

_GRAMMAR = frozenset(
    stem_word(fold(word))[0] for words in (*WORDS_OF.values(), *FREQUENT_WORDS.values()) for word in words
)


def find_used(texts: Iterable[str], earlier: str, answer: str) -> tuple[int, ...]:
    """Return which recalled texts an answer likely used.

    `earlier` is the conversation before the answer, with its prompt.
    """
    before, said = terms_of(earlier), terms_of(answer)
    return tuple(
        at for at, text in enumerate(texts) if any(_is_used(line, before, said) for line in text.split("\n"))
    )


def _is_used(line: str, before: frozenset[str], said: frozenset[str]) -> bool:
    new = terms_of(line) - before
    precise, repeated = _precise(new), new & said
    fewest = MIN_TERMS
    if len(precise & repeated) < MIN_PRECISE_SHARE * len(precise):
        if _precise(said - before - new):
            return False
        fewest += 1  # for want of a number, and the answer has no other one
    return len(repeated) >= fewest and len(repeated) >= MIN_SHARE * len(new)


def _precise(terms: frozenset[str]) -> frozenset[str]:
    """Return the numbers, paths, versions and identifiers among terms."""
    return frozenset(term for term in terms if not _PRECISE_LETTERS.isdisjoint(term) or term.count("-") > 1)


def terms_of(text: str) -> frozenset[str]:
    """Return the distinctive terms of a text: identifiers as they are, stems of words, and pairs of letters of scripts
    without spaces."""
    folded = fold(text)
    words = split_words(folded)
    terms = set(_precise(frozenset(token.rstrip(".:/-@") for token in _TOKEN.findall(folded))))
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        if has_cjk(word):
            terms.update([word + following] if has_cjk(following) else [])
        elif len(word) > 2 and not word.isdigit() and not is_common(word):
            terms.add(stem_word(word)[0])
    return frozenset(terms) - _GRAMMAR
