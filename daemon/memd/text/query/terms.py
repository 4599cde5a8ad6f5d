"""What a query asks for, piece by piece."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise

from memd.system.cancellation import check_cancelled
from memd.text.language.runs import has_kana, run_pairs, run_terms
from memd.text.language.spelling import index_text
from memd.text.language.stems import MARK, languages_of_query, other_forms, stem_words
from memd.text.language.stopwords import WORDS_OF
from memd.text.query.identifiers import (
    camel_parts,
    find_symbols,
    is_hash,
    is_name,
    joined,
    short_hashes,
    symbol_words,
)
from memd.text.tokens import CJK_CLASS

MOST_JOINED = 5
"""Words of the longest query whose neighbours are also asked written together (`data base`): each asked for costs
the search a little, and long queries find their texts without."""

COMPOUND_FROM = 6
"""Letters from which a word is also looked for at the beginning of longer ones."""

LONGEST_TITLE = 8
"""Words of the longest query of grammar alone that may be a title: The Who, To be or not to be."""

MOST_PHRASES = 64
"""Phrases of one term, and parts of one run: a run of 2,000 letters has as many pairs, each costing every search."""

MOST_RUN_TERMS = 4 * MOST_PHRASES
"""Terms of one run that are looked at; of those that are left, distinct ones, a query has fewer."""

MOST_TOKENS = 64
"""Words of one phrase, of CJK letters: the first of a longer phrase tell a text as well as all do."""

SHOWN_FROM = 4
"""Letters of the shortest stem that a snippet is looked through for."""

# Vowel signs and accents that stand behind their letter: without them a Hindi word falls into its letters.
_MARKS = "".join(
    chr(code) for code in range(0x300, 0x2100) if unicodedata.category(chr(code)).startswith("M")
)
_LETTER = rf"[^\W_{CJK_CLASS}]"
_WORD = rf"{_LETTER}(?:{_LETTER}|[{_MARKS}])*"
_SIGNS = r"[-./:@_+#'’&~\\\u2010\u2011]"
# Either a run of CJK, or words with nothing but signs between them: `POL-358`, `user@example.com`, `don't`.
_PIECE = re.compile(rf"(?P<cjk>[{CJK_CLASS}]+)|(?P<words>{_WORD}(?:{_SIGNS}{{1,3}}{_WORD})*)")
_PART = re.compile(_WORD)
_TOKEN = re.compile(r"\w+")
_LETTERS_ONLY = re.compile(r"[^\W\d_]+")
_ENDINGS = frozenset({"s", "d", "m", "ll", "re", "ve"})
_ELISIONS = frozenset("l d j m n s t c qu jusqu lorsqu puisqu dell all nell dall sull quell un gl".split())
_NEGATION = re.compile(r"n['’]t\Z", re.IGNORECASE)
_SOME_LANGUAGES = 4  # and more: it could be any
_COMPOUNDING = frozenset({"de", "nl", "sv"})
_EVERYWHERE = frozenset("www http https com org net html".split())
_CJK_RUN = re.compile(f"[{CJK_CLASS}]+")


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a query, the MATCH expression of all its forms, and what a snippet shows of it, in lower case."""

    word: str
    match: str
    shown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """A word, name or CJK run of a query and its place.

    `strict` is the expression that wants all of it, `terms` find any of it; grammar has none.
    """

    text: str
    strict: str
    terms: tuple[Term, ...]
    start: int
    end: int


class QueryTerms:
    """Reads one query; its languages decide what is grammar and which stems are asked."""

    def __init__(self, text: str, stemmed: Collection[str] | None = None) -> None:
        """Find out the query's languages."""
        self._text = text
        self._japanese = has_kana(text)
        words = [word.lower() for word in _LETTERS_ONLY.findall(text) if len(word) > 1]
        grammar, languages = languages_of_query(words, text)
        self._stemmed = [each for each in languages if stemmed is None or each in stemmed]
        self._english = "en" in grammar
        self._grammar = _grammar_words(grammar)
        # Beginnings of words are worth showing only where the language is known.
        self._known = len(languages) < _SOME_LANGUAGES

    def pieces(self) -> list[Piece]:
        """Return the query's pieces in order."""
        pieces = []
        text = self._text
        for start, end, words in find_symbols(text):
            name = text[start:end]
            match = _any_of(words)
            pieces.append(Piece(name, f"({match})", (Term(name, match, (name.lower(),)),), start, end))
            text = text[:start] + " " * (end - start) + text[end:]
        for found in _PIECE.finditer(text):
            check_cancelled()
            read = self._run if found["cjk"] else self._words
            pieces.append(read(found[0], found.start(), found.end()))
        pieces.sort(key=lambda piece: piece.start)
        return self._with_neighbours(pieces)

    def grammar(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Return the pieces of a query that is grammar alone, with terms: each word, and all as one phrase."""
        asked = []
        for piece in pieces:
            if _CJK_RUN.fullmatch(piece.text):
                terms = tuple(_run_term(word, phrases) for word, phrases in run_pairs(piece.text))
            else:
                terms = (Term(piece.text, _phrase(piece.text), (piece.text.lower(),)),)
            asked.append(Piece(piece.text, piece.strict, terms, piece.start, piece.end))
        if 1 < len(asked) <= LONGEST_TITLE:
            whole = self._text[asked[0].start : asked[-1].end]
            if '"' not in whole:
                last = asked[-1]
                terms = (*last.terms, phrase_term(whole))
                asked[-1] = Piece(last.text, last.strict, terms, last.start, last.end)
        return asked

    def _run(self, run: str, start: int, end: int) -> Piece:
        """Return a run of CJK as a piece: all of it means the whole run, or all that isn't grammar."""
        found = run_terms(run, japanese=self._japanese)[:MOST_RUN_TERMS]
        terms = tuple(_run_term(word, phrases) for word, phrases in found)
        first = terms[:MOST_PHRASES]  # each is compared with each
        # A whole that is asked in pairs as well would have to occur whole.
        parts = [
            term for term in first if not any(each.word in term.word for each in first if each is not term)
        ]
        whole = _phrase(run)
        strict = " AND ".join(f"({term.match})" for term in parts)
        strict = f"({whole} OR ({strict}))" if strict.strip("()") not in ("", whole) else whole
        return Piece(run, strict, terms, start, end)

    def _words(self, compound: str, start: int, end: int) -> Piece:
        """Return a word, or words joined by signs, as a piece."""
        parts = _PART.findall(compound)
        whole = _phrase(compound)
        if _NEGATION.search(compound) is not None:
            return Piece(compound, whole, (), start, end)
        if "'" in compound or "’" in compound:
            parts = [part for place, part in enumerate(parts) if place == 0 or part.lower() not in _ENDINGS]
            if len(parts) > 1 and parts[0].lower() in _ELISIONS:
                parts = parts[1:]
        if len(parts) == 1:
            terms = self._word(parts[0])
            strict = terms[0].match if terms else _phrase(parts[0])
            return Piece(parts[0], f"({strict})", terms, start, end)
        terms = tuple(self._compound(compound, parts))
        return Piece(compound, f"({terms[0].match})", terms, start, end)

    def _word(self, word: str) -> tuple[Term, ...]:
        """Return the terms of one word: itself in all its forms, and the parts of a name with humps."""
        lower = word.lower()
        if lower in self._grammar or (len(word) == 1 and word.isascii() and not is_name(word)):
            return ()
        parts = camel_parts(word)
        stems = [] if parts else stem_words(lower, self._stemmed)
        # `Go` amid a query is a name and no form of `gone`.
        forms = other_forms(lower) if self._english and (word == lower or self._text.startswith(word)) else ()
        match = _any_of([word, *forms, *([" ".join(parts)] if parts else []), *short_hashes(word), *stems])
        if is_hash(word):
            match += f" OR {_phrase(word)} *"
        elif self._may_begin_compound(word):
            match += f" OR {_phrase(min(_beginnings(stems, len(word)), key=len, default=word))} *"
        shown = [lower, *forms, *(_beginnings(stems, len(word)) if self._known else ())]
        rest = (self._word(part) for part in parts if len(part) > 2)
        return (Term(word, match, tuple(shown)), *(term for terms in rest for term in terms))

    def _may_begin_compound(self, word: str) -> bool:
        """Return whether longer words may begin with a word, as a Zahnarzttermin does with a Zahnarzt."""
        if len(word) < COMPOUND_FROM or not word.isalpha():
            return False
        return ("de" in self._stemmed and word[0].isupper()) or (
            self._known and not _COMPOUNDING.isdisjoint(self._stemmed)
        )

    def _compound(self, compound: str, parts: Sequence[str]) -> Iterator[Term]:
        """Yield the terms of words joined by signs: the whole, names inside of it, and parts that say something.

        Short numbers stay with the whole: `05` alone would find every other date.
        """
        names = [name for name in re.split(r"[^\w\u2010\u2011-]+", compound) if name]
        for name in dict.fromkeys([compound, *names]):
            written_together = joined(name) if re.fullmatch(r"[\w\u2010\u2011-]+", name) else ""
            if name == compound or written_together:
                forms = [name, written_together, *symbol_words(name)]
                shown = [name.lower(), written_together] if written_together else [name.lower()]
                yield Term(name, _any_of(form for form in forms if form), tuple(shown))
        if all(part[0].isdigit() for part in parts):
            return
        for part in parts:
            short = len(part) < 3 and not part.isalpha()
            if len(part) > 1 and not short and part.lower() not in _EVERYWHERE:
                yield from self._word(part)

    def _with_neighbours(self, pieces: list[Piece]) -> list[Piece]:
        """Return the pieces, each word also asked as one with the next: `data base` is a `database`."""
        if sum(bool(piece.terms) for piece in pieces) > MOST_JOINED:
            return pieces
        written = list(pieces)
        for place, (one, other) in enumerate(pairwise(pieces)):
            name = one.text + other.text
            plain = name.isascii() and name.isalnum() and (name.islower() or other.text.isdigit())
            if plain and one.terms and other.terms and self._text[one.end : other.start] == " ":
                first, *others = one.terms
                first = Term(first.word, f"{first.match} OR {_phrase(name)}", first.shown)
                written[place] = Piece(one.text, one.strict, (first, *others), one.start, one.end)
        return written


@lru_cache(maxsize=64)
def _grammar_words(languages: tuple[str, ...]) -> frozenset[str]:
    return frozenset[str]().union(*(WORDS_OF[each] for each in languages))


def phrase_term(words: str) -> Term:
    """Return the term of words that stand next to each other."""
    return Term(words, _phrase(words), (words.lower(),))


def _run_term(word: str, phrases: Sequence[str]) -> Term:
    phrases = phrases[:MOST_PHRASES]
    return Term(
        word, _any_of(phrases), (phrases[0].lower(), *(word for word in phrases[1:] if len(word) > 1))
    )


def _beginnings(stems: Iterable[str], letters: int) -> Iterator[str]:
    """Yield the stems shorter than their word and long enough to tell a word by its beginning."""
    yield from (stem for each in stems if SHOWN_FROM <= len(stem := each.removesuffix(MARK)) < letters)


def _phrase(words: str) -> str:
    """Return words as the index keeps them, quoted; of a long phrase its first words."""
    text = index_text(words.replace('"', " "))
    if len(text) > 2 * MOST_TOKENS:
        ends = [found.end() for found in islice(_TOKEN.finditer(text), MOST_TOKENS)]
        text = text[: ends[-1]] if len(ends) == MOST_TOKENS else text
    return f'"{text}"'


def _any_of(phrases: Iterable[str]) -> str:
    return " OR ".join(islice(dict.fromkeys(map(_phrase, phrases)), MOST_PHRASES))
