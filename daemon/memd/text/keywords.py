"""A question to words worth searching, in every script.

Two families live here. `strict_query` and `content_keywords` are the reference's readings of a query, pinned
by conformance. `plan_match` is ours: what the index is really asked, with `spaced` on both sides of the
comparison so that Chinese, Japanese, Korean and Thai are findable down to one character.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from memd.text.spaces import WHITESPACE
from memd.text.stopwords import FUNCTION_WORDS, KOREAN_PARTICLES, KOREAN_WORDS, REFERENCE_WORDS
from memd.text.tokens import CJK_CLASS

MOST_TERMS = 64
"""Most terms of one MATCH expression. A longer question is a pasted text: its first words find its subject, and
each further term costs every search."""

# What MATCH cannot take (NUL ends the expression early) or UTF-8 cannot spell.
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")
_TOKEN = re.compile(r"\w+")
_SPACE = re.compile(f"[{WHITESPACE}]")

# Vowel signs and accents that stand behind their letter: without them a Hindi word falls into its letters.
_MARKS = "".join(
    chr(code) for code in range(0x300, 0x2100) if unicodedata.category(chr(code)).startswith("M")
)
_LETTER = rf"[^\W_{CJK_CLASS}]"
_WORD = rf"{_LETTER}(?:{_LETTER}|[{_MARKS}])*"
# Either a run of CJK, or words with nothing but signs between them: `POL-358`, `user@example.com`, `don't`.
_PIECE = re.compile(rf"(?P<cjk>[{CJK_CLASS}]+)|(?P<words>{_WORD}(?:[-./:@_+#'’&~\\]{{1,3}}{_WORD})*)")
_PART = re.compile(_WORD)
_ENDINGS = frozenset({"s", "d", "m", "ll", "re", "ve"})
_NEGATION = re.compile(r"n['’]t\Z", re.IGNORECASE)
_CJK_RUN = re.compile(f"[{CJK_CLASS}]+")
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_PARTICLES = frozenset("的了吗呢吧啊はがをにでとへもの")

_REFERENCE_KANA = re.compile("[\u3040-\u30ff]")
_REFERENCE_HAN = re.compile("[\u4e00-\u9fff]")
_REFERENCE_HANGUL = re.compile("[\uac00-\ud7af\u3131-\u3163]")
_REFERENCE_JAPANESE = re.compile(r"[a-z0-9_]+|[\u30a0-\u30ff]+|[\u4e00-\u9fff]+|[\u3040-\u309f]{2,}")


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """What to ask the index for one question.

    `strict` wants every word that is not mere grammar, `any` at least one that carries meaning; both are ready
    for MATCH, None where
    there is nothing to ask. `words` are those a snippet should show, in lower case.
    """

    strict: str | None
    any: str | None
    words: tuple[str, ...]


def spaced(text: str) -> str:
    """Return a text with a space on both sides of every CJK letter, so that FTS5 sees each as a word.

    Used for what is indexed and for what is asked: a quoted run of such letters is then a phrase that matches
    exactly that run.

    Args:
        text: Any text, or a MATCH expression.
    """
    if text.isascii():
        return text
    return _CJK_RUN.sub(lambda run: f" {'  '.join(run[0])} ", text)


def plan_match(raw: str) -> MatchPlan:
    """Return how to search for a question.

    Args:
        raw: What was asked, as it came.

    Returns:
        The plan. Nothing of it can be a syntax error to FTS5.
    """
    text = unicodedata.normalize("NFC", _UNSPEAKABLE.sub(" ", raw))
    tokens = [token for token in _TOKEN.findall(text) if token.strip("_")]
    # Grammar excludes nothing worth finding, and looking it up costs as much as all the rest.
    tokens = [token for token in tokens if token.lower() not in FUNCTION_WORDS] or tokens
    terms = _distinct(_terms(text))
    telling = [term for term in terms if _is_telling(term)] or terms
    chosen = telling[:MOST_TERMS]
    return MatchPlan(
        strict=spaced(_all_of(tokens)) if 0 < len(tokens) <= MOST_TERMS else None,
        any=_spaced_or_none(any_query(chosen)),
        words=tuple(term.lower() for term in chosen),
    )


def any_query(keywords: Sequence[str]) -> str | None:
    """Return the FTS5 expression that any of some words fulfils.

    Args:
        keywords: Words or phrases; quotes in them are quoted.

    Returns:
        The expression, or None without a word.
    """
    speakable = [_UNSPEAKABLE.sub(" ", word).replace('"', '""') for word in keywords]
    return " OR ".join(f'"{word}"' for word in speakable if word.strip()) or None


def strict_query(raw: str) -> str | None:
    """Return the FTS5 expression that wants every token of a query, as the reference builds it.

    Args:
        raw: What was asked.

    Returns:
        Every token quoted, joined by AND; None without a token.
    """
    tokens = _TOKEN.findall(raw)
    return _all_of(tokens) if tokens else None


def content_keywords(raw: str) -> list[str]:
    """Return the words of a conversational query that carry meaning, as the reference picks them.

    Args:
        raw: What was asked.

    Returns:
        Words in lower case in order of first appearance; Chinese as single characters and pairs.
    """
    segments = "".join(" " if _is_separator(each) else each for each in raw.lower()).split(" ")
    words = [word for segment in segments if segment for word in _reference_words(segment)]
    return _distinct(word for word in words if word not in REFERENCE_WORDS and _is_keyword(word))


def _all_of(tokens: Iterable[str]) -> str:
    """Return tokens quoted and joined by AND."""
    return " AND ".join(f'"{token}"' for token in tokens)


def _spaced_or_none(expression: str | None) -> str | None:
    """Return an expression spaced, None as it is."""
    return None if expression is None else spaced(expression)


def _distinct(words: Iterable[str]) -> list[str]:
    """Return words in order of appearance, each once whatever its case."""
    seen: dict[str, str] = {}
    for word in words:
        seen.setdefault(word.lower(), word)
    return list(seen.values())


def _terms(text: str) -> Iterator[str]:
    """Yield what a question may be looked up by: words, compounds with their parts, CJK in pairs."""
    for piece in _PIECE.finditer(text):
        if piece["cjk"]:
            yield from _cjk_terms(piece["cjk"])
        else:
            yield from _word_terms(piece["words"])


def _word_terms(compound: str) -> Iterator[str]:
    """Yield the terms of words joined by signs: the whole as a phrase, and its parts.

    `Ann's` is `Ann`; `don't` is whole or nothing. Numbers of one or two digits inside stay with the phrase:
    `05` alone would find every other date.
    """
    parts = _PART.findall(compound)
    if _NEGATION.search(compound) is not None:
        yield compound
        return
    if "'" in compound or "’" in compound:
        parts = [part for place, part in enumerate(parts) if place == 0 or part.lower() not in _ENDINGS]
    if len(parts) == 1:
        yield parts[0]
        return
    yield compound
    for part in parts:
        if len(part) > 2 or (len(part) == 2 and not part.isdigit()):
            yield part


def _cjk_terms(run: str) -> Iterator[str]:
    """Yield the terms of a run of CJK letters: pairs, or the one letter; without those of grammar alone."""
    if len(run) == 1 or run in FUNCTION_WORDS:
        yield run
        return
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    mixed = _HIRAGANA.fullmatch(run) is None
    telling = [
        pair
        for pair in pairs
        if pair not in FUNCTION_WORDS
        and _PARTICLES.isdisjoint(pair)
        and not (mixed and _HIRAGANA.fullmatch(pair))
    ]
    yield from telling or pairs


def _is_telling(term: str) -> bool:
    """Return whether a term may find the subject of a question, not only its grammar."""
    if term.lower() in FUNCTION_WORDS or _NEGATION.search(term) is not None:
        return False
    return len(term) > 1 or term.isdigit() or not term.isascii()


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
    """Return every two neighbours joined."""
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
