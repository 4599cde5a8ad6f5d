"""A query to words worth searching, in every script.

`content_keywords` is the reference's reading of a query, pinned by conformance. `plan_match` asks the index for what
`index_text` and `extra_words` have written: whatever one side does to a word, the other does too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memd.text.language.spelling import WHITESPACE, without_wide_forms
from memd.text.language.stopwords import KOREAN_PARTICLES, KOREAN_WORDS, REFERENCE_WORDS
from memd.text.query.identifiers import exact_names, quoted_phrases
from memd.text.query.terms import QueryTerms, Term, phrase_term

MOST_TERMS = 64
"""Most terms of one MATCH expression. A longer query is a pasted text: its first words find its subject, and
each further term costs every search."""

MOST_PHRASES = 320
"""Phrases of one MATCH expression: a term has several, its forms and its pieces. FTS5 looks up each."""

MOST_CHARACTERS = 2000
"""How much of a query is read for its terms: more than `MOST_TERMS` take."""

# What MATCH cannot take (NUL ends the expression early) or UTF-8 cannot spell.
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")
_TOKEN = re.compile(r"\w+")
_SPACE = re.compile(f"[{WHITESPACE}]")

_REFERENCE_KANA = re.compile("[\u3040-\u30ff]")
_REFERENCE_HAN = re.compile("[\u4e00-\u9fff]")
_REFERENCE_HANGUL = re.compile("[\uac00-\ud7af\u3131-\u3163]")
_REFERENCE_JAPANESE = re.compile(r"[a-z0-9_]+|[\u30a0-\u30ff]+|[\u4e00-\u9fff]+|[\u3040-\u309f]{2,}")


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """What to ask the index for one query.

    Attributes:
        strict: The MATCH expression for every word that is not grammar; None if there is none.
        any: The MATCH expression for at least one such word; None if there is none.
        words: What a snippet should show, in lower case.
        exact: Names, dates and quoted phrases of the query in its own spelling: a text that holds one, whatever
            its case, is meant.
        terms: What `any` is made of.
    """

    strict: str | None
    any: str | None
    words: tuple[str, ...]
    exact: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()


def plan_match(raw: str, stemmed: Collection[str] | None = None) -> MatchPlan:
    """Return how to search for a query."""
    speakable = _UNSPEAKABLE.sub(" ", raw[:MOST_CHARACTERS])
    text = without_wide_forms(speakable)
    query = QueryTerms(text, stemmed)
    pieces = query.pieces()
    telling = [piece for piece in pieces if piece.terms] or query.grammar(pieces)
    phrases = [phrase_term(phrase) for phrase in quoted_phrases(text) if len(_TOKEN.findall(phrase)) > 1]
    terms = _affordable(_distinct_terms([*phrases, *(term for piece in telling for term in piece.terms)]))
    strict = " AND ".join(piece.strict for piece in telling) if len(telling) <= MOST_TERMS else ""
    return MatchPlan(
        strict=strict if strict and _count_phrases(strict) <= MOST_PHRASES else None,
        any=" OR ".join(term.match for term in terms) or None,
        words=tuple(dict.fromkeys(word for term in terms for word in term.shown)),
        exact=tuple(dict.fromkeys([*quoted_phrases(speakable), *exact_names(speakable)]))[:MOST_TERMS],
        terms=tuple(terms),
    )


def content_keywords(raw: str) -> list[str]:
    """Return the words of a conversational query that carry meaning, as the reference picks them."""
    segments = "".join(" " if _is_separator(each) else each for each in raw.lower()).split(" ")
    words = [word for segment in segments if segment for word in _reference_words(segment)]
    return list(dict.fromkeys(word for word in words if word not in REFERENCE_WORDS and _is_keyword(word)))


def _distinct_terms(terms: Iterable[Term]) -> list[Term]:
    """Return terms in order of appearance, each once whatever its case."""
    seen: dict[str, Term] = {}
    for term in terms:
        seen.setdefault(term.word.lower(), term)
    return list(seen.values())


def _affordable(terms: Sequence[Term]) -> list[Term]:
    """Return the first terms, as many as one MATCH expression may have."""
    taken, phrases = list[Term](), 0
    for term in terms[:MOST_TERMS]:
        phrases += _count_phrases(term.match)
        if taken and phrases > MOST_PHRASES:
            break
        taken.append(term)
    return taken


def _count_phrases(match: str) -> int:
    return match.count('"') // 2


def _is_separator(character: str) -> bool:
    """Return whether the reference splits a query here: whitespace or punctuation."""
    return unicodedata.category(character).startswith("P") or _SPACE.match(character) is not None


def _reference_words(segment: str) -> list[str]:
    """Return the words the reference sees in a segment without spaces, by its script."""
    if _REFERENCE_KANA.search(segment):
        words = []
        for part in _REFERENCE_JAPANESE.findall(segment):
            words.append(part)
            if _REFERENCE_HAN.match(part):
                words += _pairs(part)
        return words
    if _REFERENCE_HAN.search(segment):
        characters = _REFERENCE_HAN.findall(segment)
        return characters + _pairs(characters)
    if _REFERENCE_HANGUL.search(segment):
        return _korean_words(segment)
    return [segment]


def _pairs(characters: Sequence[str]) -> list[str]:
    return [one + other for one, other in pairwise(characters)]


def _korean_words(word: str) -> list[str]:
    """Return a Korean word and what is left of it without its particle, where either says something."""
    particle = next((each for each in KOREAN_PARTICLES if word.endswith(each) and word != each), None)
    stem = None if particle is None else word.removesuffix(particle)
    if stem is None:
        return [word]
    if stem in KOREAN_WORDS:
        return []
    # One syllable is more likely a piece of the word than a word: the particle was none.
    useful = len(stem) >= 2 if re.search("[\uac00-\ud7af]", stem) else re.fullmatch("[A-Za-z0-9_]+", stem)
    return [word, stem] if useful else [word]


def _is_keyword(word: str) -> bool:
    """Return whether the reference keeps a word: no one or two Latin letters, no number, no signs alone."""
    if re.fullmatch("[A-Za-z]{1,2}", word) or re.fullmatch("[0-9]+", word):
        return False
    return not all(unicodedata.category(character)[0] in "PS" for character in word)
