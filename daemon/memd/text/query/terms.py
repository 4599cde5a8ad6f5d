"""Tokens and terms of a query."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice, pairwise

from msgspec import Struct

from memd.system.cancellation import check_cancelled
from memd.text.language.runs import has_kana, run_pairs, run_terms
from memd.text.language.spelling import index_text
from memd.text.language.stems import STEM_MARK, irregular_forms, languages_of_query, stem_words
from memd.text.language.stopwords import WORDS_OF
from memd.text.lazy_pattern import lazy_pattern
from memd.text.query.identifiers import (
    ASCII_LETTER,
    LETTER,
    camel_parts,
    find_symbols,
    is_hash,
    is_letter_name,
    join_parts,
    short_hashes,
    symbol_words,
)
from memd.text.tokens import CJK_CLASS

MAX_JOINED_WORDS = 5
"""Longest query whose neighbouring words are also searched joined (`data base`): longer ones find texts without, and
each phrase costs time."""

MIN_COMPOUND_LETTERS = 6
"""Shortest word that is also searched as the beginning of longer words."""

MAX_TITLE_WORDS = 8
"""Longest query of grammar alone that may be a title: The Who, To be or not to be."""

MAX_TERM_PHRASES = 64
"""Most phrases of one term, and parts of one run: a run of 2,000 letters has as many pairs."""

MAX_RUN_TERMS = 4 * MAX_TERM_PHRASES
"""Most terms of one run, before duplicates are removed."""

MAX_PHRASE_WORDS = 64
"""Most words of one phrase: the first words of a longer phrase are as distinctive."""

MIN_SHOWN_STEM_LETTERS = 4
"""Shortest stem that a snippet is searched for."""

# Vowel signs and accents that follow their letter: without them a Hindi word would be split into letters.
_MARKS = "".join(
    chr(code) for code in range(0x300, 0x2100) if unicodedata.category(chr(code)).startswith("M")
)
_WORD = rf"{LETTER}(?:{LETTER}|[{_MARKS}])*"
_ASCII_WORD = f"{ASCII_LETTER}+"
_SIGNS = r"[-./:@_+#'’&~\\\u2010\u2011]"
# Either a run of CJK, or words joined by signs: `POL-358`, `user@example.com`, `don't`.
_QUERY_TOKEN = lazy_pattern(rf"(?P<cjk>[{CJK_CLASS}]+)|(?P<words>{_WORD}(?:{_SIGNS}{{1,3}}{_WORD})*)")
_ASCII_QUERY_TOKEN = re.compile(rf"(?P<words>{_ASCII_WORD}(?:{_SIGNS}{{1,3}}{_ASCII_WORD})*)")
_PART = lazy_pattern(_WORD)
_ASCII_PART = re.compile(_ASCII_WORD)
_TOKEN = re.compile(r"\w+")
_YEARS = re.compile(r"[12]\d{3}-[12]\d{3}")
_LETTERS_ONLY = re.compile(r"[^\W\d_]+")
_ENDINGS = frozenset({"s", "d", "m", "ll", "re", "ve"})
_ELISIONS = frozenset("l d j m n s t c qu jusqu lorsqu puisqu dell all nell dall sull quell un gl".split())
_NEGATION = re.compile(r"n['’]t\Z", re.IGNORECASE)
_SOME_LANGUAGES = 4  # from here on the language is unknown
_COMPOUNDING = frozenset({"de", "nl", "sv"})
_EVERYWHERE = frozenset("www http https com org net html".split())
_CJK_RUN = lazy_pattern(f"[{CJK_CLASS}]+")


class Term(Struct, frozen=True):
    """A word of a query, the MATCH expression of all its forms, and the forms to show in a snippet, in lower case."""

    word: str
    match: str
    shown: tuple[str, ...]


class QueryToken(Struct, frozen=True):
    """A word, name or CJK run of a query and its span.

    `strict` is the expression that requires all of it, `terms` find any of it; grammar has no terms.
    """

    text: str
    strict: str
    terms: tuple[Term, ...]
    start: int
    end: int


class QueryTerms:
    """Reads one query; its languages determine grammar words and stems."""

    def __init__(self, text: str, stemmed: Collection[str] | None = None) -> None:
        self._text = text
        self._japanese = has_kana(text)
        words = [word.lower() for word in _LETTERS_ONLY.findall(text) if len(word) > 1]
        grammar, languages = languages_of_query(words, text)
        self._stemmed = [each for each in languages if stemmed is None or each in stemmed]
        self._english = "en" in grammar
        self._grammar = _grammar_words(grammar)
        # Show word beginnings only if the language is known.
        self._known = len(languages) < _SOME_LANGUAGES

    def tokens(self) -> list[QueryToken]:
        """Return the query's tokens in order."""
        tokens = []
        text = self._text
        for start, end, words in find_symbols(text):
            name = text[start:end]
            match = _any_of(words)
            tokens.append(QueryToken(name, f"({match})", (Term(name, match, (name.lower(),)),), start, end))
            text = text[:start] + " " * (end - start) + text[end:]
        for found in (_ASCII_QUERY_TOKEN if text.isascii() else _QUERY_TOKEN).finditer(text):
            check_cancelled()
            read = self._words if found["words"] else self._run
            tokens.append(read(found[0], found.start(), found.end()))
        tokens.sort(key=lambda token: token.start)
        return self._with_neighbours(tokens)

    def grammar_tokens(self, tokens: Sequence[QueryToken]) -> list[QueryToken]:
        """Return the tokens of a query of grammar alone, with terms: each word, and all as one phrase."""
        asked = []
        for token in tokens:
            if _CJK_RUN.fullmatch(token.text):
                terms = tuple(_run_term(word, phrases) for word, phrases in run_pairs(token.text))
            else:
                terms = (Term(token.text, _phrase(token.text), (token.text.lower(),)),)
            asked.append(QueryToken(token.text, token.strict, terms, token.start, token.end))
        if 1 < len(asked) <= MAX_TITLE_WORDS:
            whole = self._text[asked[0].start : asked[-1].end]
            if '"' not in whole:
                last = asked[-1]
                terms = (*last.terms, phrase_term(whole))
                asked[-1] = QueryToken(last.text, last.strict, terms, last.start, last.end)
        return asked

    def _run(self, run: str, start: int, end: int) -> QueryToken:
        """Return a CJK run as a token: the strict match is the whole run, or all of it that is not grammar."""
        found = run_terms(run, japanese=self._japanese)[:MAX_RUN_TERMS]
        terms = tuple(_run_term(word, phrases) for word, phrases in found)
        first = terms[:MAX_TERM_PHRASES]  # limits the pairwise comparison below
        # A run with pairs would otherwise have to occur as a whole.
        parts = [
            term for term in first if not any(each.word in term.word for each in first if each is not term)
        ]
        whole = _phrase(run)
        strict = " AND ".join(f"({term.match})" for term in parts)
        strict = f"({whole} OR ({strict}))" if strict.strip("()") not in ("", whole) else whole
        return QueryToken(run, strict, terms, start, end)

    def _words(self, compound: str, start: int, end: int) -> QueryToken:
        """Return a word, or words joined by signs, as a token."""
        parts = (_ASCII_PART if compound.isascii() else _PART).findall(compound)
        whole = _phrase(compound)
        if _NEGATION.search(compound) is not None:
            return QueryToken(compound, whole, (), start, end)
        if "'" in compound or "’" in compound:
            parts = [part for place, part in enumerate(parts) if place == 0 or part.lower() not in _ENDINGS]
            if len(parts) > 1 and parts[0].lower() in _ELISIONS:
                parts = parts[1:]
        if len(parts) == 1:
            terms = self._word(parts[0])
            strict = terms[0].match if terms else _phrase(parts[0])
            return QueryToken(parts[0], f"({strict})", terms, start, end)
        terms = tuple(self._compound(compound, parts))
        return QueryToken(compound, f"({terms[0].match})", terms, start, end)

    def _word(self, word: str) -> tuple[Term, ...]:
        """Return the terms of one word: all its forms, and the parts of a camel-case name."""
        lower = word.lower()
        if lower in self._grammar or (len(word) == 1 and word.isascii() and not is_letter_name(word)):
            return ()
        parts = camel_parts(word)
        stems = [] if parts else stem_words(lower, self._stemmed)
        # `Go` within a query is a name and not a form of `gone`.
        forms = (
            irregular_forms(lower) if self._english and (word == lower or self._text.startswith(word)) else ()
        )
        match = _any_of([word, *forms, *([" ".join(parts)] if parts else []), *short_hashes(word), *stems])
        if is_hash(word):
            match += f" OR {_phrase(word)} *"
        elif self._may_begin_compound(word):
            match += f" OR {_phrase(min(_beginnings(stems, len(word)), key=len, default=word))} *"
        shown = [lower, *forms, *(_beginnings(stems, len(word)) if self._known else ())]
        rest = (self._word(part) for part in parts if len(part) > 2)
        return (Term(word, match, tuple(shown)), *(term for terms in rest for term in terms))

    def _may_begin_compound(self, word: str) -> bool:
        """Return whether longer words may begin with a word, as Zahnarzttermin begins with Zahnarzt."""
        if len(word) < MIN_COMPOUND_LETTERS or not word.isalpha():
            return False
        return ("de" in self._stemmed and word[0].isupper()) or (
            self._known and not _COMPOUNDING.isdisjoint(self._stemmed)
        )

    def _compound(self, compound: str, parts: Sequence[str]) -> Iterator[Term]:
        """Yield the terms of words joined by signs: the whole, names in it, and meaningful parts.

        Short numbers are not searched alone: `05` would match every other date. Two years are, because `1963-1966` may
        be written as *from 1963 to 1966*.
        """
        names = [name for name in re.split(r"[^\w\u2010\u2011-]+", compound) if name]
        for name in dict.fromkeys([compound, *names]):
            written_together = join_parts(name) if re.fullmatch(r"[\w\u2010\u2011-]+", name) else ""
            if name == compound or written_together:
                forms = [name, written_together, *symbol_words(name)]
                shown = [name.lower(), written_together] if written_together else [name.lower()]
                yield Term(name, _any_of(form for form in forms if form), tuple(shown))
        if all(part[0].isdigit() or len(part) < 3 for part in parts):  # `wi-fi` is one word
            if _YEARS.fullmatch(compound):
                yield from (term for part in parts for term in self._word(part))
            return
        for part in parts:
            short = len(part) < 3 and not part.isalpha()
            if len(part) > 1 and not short and part.lower() not in _EVERYWHERE:
                yield from self._word(part)

    def _with_neighbours(self, tokens: list[QueryToken]) -> list[QueryToken]:
        """Return the tokens, each word also joined with the next: `data base` matches `database`."""
        if sum(bool(token.terms) for token in tokens) > MAX_JOINED_WORDS:
            return tokens
        written = list(tokens)
        for place, (one, other) in enumerate(pairwise(tokens)):
            name = one.text + other.text
            plain = name.isascii() and name.isalnum() and (name.islower() or other.text.isdigit())
            if plain and one.terms and other.terms and self._text[one.end : other.start] == " ":
                first, *others = one.terms
                first = Term(first.word, f"{first.match} OR {_phrase(name)}", first.shown)
                written[place] = QueryToken(one.text, one.strict, (first, *others), one.start, one.end)
        return written


@lru_cache(maxsize=64)
def _grammar_words(languages: tuple[str, ...]) -> frozenset[str]:
    return frozenset[str]().union(*(WORDS_OF[each] for each in languages))


def phrase_term(words: str) -> Term:
    """Return the term of adjacent words."""
    return Term(words, _phrase(words), (words.lower(),))


def _run_term(word: str, phrases: Sequence[str]) -> Term:
    phrases = phrases[:MAX_TERM_PHRASES]
    return Term(
        word, _any_of(phrases), (phrases[0].lower(), *(word for word in phrases[1:] if len(word) > 1))
    )


def _beginnings(stems: Iterable[str], letters: int) -> Iterator[str]:
    """Yield the stems shorter than their word and long enough to identify it by its beginning."""
    yield from (
        stem
        for each in stems
        if MIN_SHOWN_STEM_LETTERS <= len(stem := each.removesuffix(STEM_MARK)) < letters
    )


def _phrase(words: str) -> str:
    """Return words as a quoted phrase in index spelling; a long phrase is cut."""
    text = index_text(words.replace('"', " "))
    if len(text) > 2 * MAX_PHRASE_WORDS:
        ends = [found.end() for found in islice(_TOKEN.finditer(text), MAX_PHRASE_WORDS)]
        text = text[: ends[-1]] if len(ends) == MAX_PHRASE_WORDS else text
    return f'"{text}"'


def _any_of(phrases: Iterable[str]) -> str:
    return " OR ".join(islice(dict.fromkeys(map(_phrase, phrases)), MAX_TERM_PHRASES))
