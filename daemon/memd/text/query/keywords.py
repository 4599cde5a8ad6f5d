"""Search terms of a query, in every script.

`content_keywords` is OpenClaw's reading of a query, pinned by conformance tests. `plan_match` searches for what
`index_text` and `extra_words` write: both transform words alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from memd.text.language.spelling import WHITESPACE, unify_width
from memd.text.language.stopwords import KOREAN_PARTICLES, KOREAN_WORDS, REFERENCE_WORDS
from memd.text.lazy_pattern import lazy_pattern
from memd.text.query.identifiers import exact_names, quoted_phrases
from memd.text.query.terms import QueryTerms, Term, phrase_term

MAX_TERMS = 64
"""Most terms of one MATCH expression. A longer query is pasted text, and its first words give its subject."""

MAX_PHRASES = 320
"""Most phrases of one MATCH expression: a term has several, and FTS5 looks up each."""

MAX_QUERY_CHARACTERS = 2000
"""Characters of a query that are read for terms: more than `MAX_TERMS` need."""

# MATCH ends at NUL, and UTF-8 has no surrogates.
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")
_TOKEN = re.compile(r"\w+")
_SPACE = re.compile(f"[{WHITESPACE}]")

_REFERENCE_KANA = lazy_pattern("[\u3040-\u30ff]")
_REFERENCE_HAN = lazy_pattern("[\u4e00-\u9fff]")
_REFERENCE_HANGUL = lazy_pattern("[\uac00-\ud7af\u3131-\u3163]")
_REFERENCE_JAPANESE = lazy_pattern(r"[a-z0-9_]+|[\u30a0-\u30ff]+|[\u4e00-\u9fff]+|[\u3040-\u309f]{2,}")


class MatchPlan(Struct, frozen=True):
    """The FTS5 search of one query.

    Attributes:
        strict: MATCH expression for all words that are not grammar; None without such words.
        any: MATCH expression for any such word; None without such words.
        words: Words to show in a snippet, in lower case.
        exact: Names, dates and quoted phrases in their original spelling, for exact matches (ignoring case).
        terms: The terms of `any`.
    """

    strict: str | None
    any: str | None
    words: tuple[str, ...]
    exact: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()


def plan_match(raw: str, stemmed: Collection[str] | None = None) -> MatchPlan:
    """Return the FTS5 search of a query; `stemmed` are the index's stemming languages, None for all."""
    speakable = _UNSPEAKABLE.sub(" ", raw[:MAX_QUERY_CHARACTERS])
    text = unify_width(speakable)
    query = QueryTerms(text, stemmed)
    tokens = query.tokens()
    used = [token for token in tokens if token.terms] or query.grammar_tokens(tokens)
    phrases = [phrase_term(phrase) for phrase in quoted_phrases(text) if len(_TOKEN.findall(phrase)) > 1]
    terms = _within_limits(_distinct_terms([*phrases, *(term for token in used for term in token.terms)]))
    strict = " AND ".join(token.strict for token in used) if len(used) <= MAX_TERMS else ""
    return MatchPlan(
        strict=strict if strict and _count_phrases(strict) <= MAX_PHRASES else None,
        any=" OR ".join(term.match for term in terms) or None,
        words=tuple(dict.fromkeys(word for term in terms for word in term.shown)),
        exact=tuple(dict.fromkeys([*quoted_phrases(speakable), *exact_names(speakable)]))[:MAX_TERMS],
        terms=tuple(terms),
    )


def content_keywords(raw: str) -> list[str]:
    """Return the meaningful words of a conversational query, as OpenClaw selects them."""
    segments = "".join(" " if _is_separator(each) else each for each in raw.lower()).split(" ")
    words = [word for segment in segments if segment for word in _reference_words(segment)]
    return list(dict.fromkeys(word for word in words if word not in REFERENCE_WORDS and _is_keyword(word)))


def _distinct_terms(terms: Iterable[Term]) -> list[Term]:
    """Return terms in order of appearance, without repetitions (ignoring case)."""
    seen: dict[str, Term] = {}
    for term in terms:
        seen.setdefault(term.word.lower(), term)
    return list(seen.values())


def _within_limits(terms: Sequence[Term]) -> list[Term]:
    """Return the first terms, within the limits of one MATCH expression."""
    taken, phrases = list[Term](), 0
    for term in terms[:MAX_TERMS]:
        phrases += _count_phrases(term.match)
        if taken and phrases > MAX_PHRASES:
            break
        taken.append(term)
    return taken


def _count_phrases(match: str) -> int:
    return match.count('"') // 2


@lru_cache(maxsize=4_096)  # characters repeat: the query of a search has few, but many facts are read
def _is_separator(character: str) -> bool:
    """Return whether OpenClaw splits a query at a character: whitespace or punctuation."""
    return unicodedata.category(character).startswith("P") or _SPACE.match(character) is not None


def _reference_words(segment: str) -> list[str]:
    """Return OpenClaw's words in a segment without spaces, by script."""
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
    """Return a Korean word and its stem without the particle, if meaningful."""
    particle = next((each for each in KOREAN_PARTICLES if word.endswith(each) and word != each), None)
    stem = None if particle is None else word.removesuffix(particle)
    if stem is None:
        return [word]
    if stem in KOREAN_WORDS:
        return []
    # A single syllable is rarely a word, so the ending was not a particle.
    useful = len(stem) >= 2 if re.search("[\uac00-\ud7af]", stem) else re.fullmatch("[A-Za-z0-9_]+", stem)
    return [word, stem] if useful else [word]


@lru_cache(maxsize=16_384)
def _is_keyword(word: str) -> bool:
    """Return whether OpenClaw keeps a word: not one or two Latin letters, not a number, not only signs."""
    if re.fullmatch("[A-Za-z]{1,2}", word) or re.fullmatch("[0-9]+", word):
        return False
    return not all(unicodedata.category(character)[0] in "PS" for character in word)
