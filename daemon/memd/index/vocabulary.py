"""The vocabulary of an index: its languages, and corrections of misspelled terms."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import monotonic

import apsw
import numpy as np

from memd.index.keyword import has_match
from memd.system.sqlite import Database
from memd.text.language.stems import ALGORITHMS, STEM_MARK, language_mark
from memd.text.query.terms import Term
from memd.text.query.typos import Vocabulary, errors_allowed, similar_words

TOKENIZER = ("porter", ("unicode61", "remove_diacritics", "2"))
"""The tokenizer of `chunks_fts` (`memd.index.schema`): its name and arguments."""

_RESPELLINGS = ("", "e", "y", "s", "ed", "ing", "al", "ion")
"""Endings that turn a stem into a word with that stem, because a query is stemmed again and a stem's own stem may
differ (agree -> agre -> agr)."""

VOCABULARY_MAX_AGE_S = 300.0
"""Longest use of a vocabulary after the index changed. Reading it takes up to hundreds of milliseconds, and only
corrections need it."""

MAX_WORDS = 200_000
"""Most words of a vocabulary: reading more would take longer than a search's deadline."""

MAX_UNKNOWN_TERMS = 4
"""Most unknown terms of a query that are corrected; a query with more is unrelated to the index."""


class VocabularyCache:
    """The vocabulary of one index, kept in RAM. Thread-safe."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._vocabulary: tuple[int, float, Vocabulary] | None = None
        self._languages: tuple[int, tuple[str, ...]] | None = None

    def languages(self, db: Database, generation: int) -> tuple[str, ...]:
        """Return the languages in which texts of the index are stemmed."""
        known = self._languages
        if known is None or known[0] != generation:
            known = self._languages = (generation, stemmed_languages(db))
        return known[1]

    def correct(self, db: Database, generation: int, terms: Sequence[Term]) -> dict[str, tuple[str, ...]]:
        """Return corrections of the terms that occur in no text: words of the index, by term."""
        wanted = [term for term in terms if errors_allowed(term.word.lower())]
        unknown = [term.word for term in wanted if not has_match(db, term.match)]
        if not 0 < len(unknown) <= MAX_UNKNOWN_TERMS:
            return {}
        vocabulary = self._load(db, generation)
        found = {word: tuple(suggest_words(db, vocabulary, word)) for word in unknown}
        return {word: near for word, near in found.items() if near}

    def _load(self, db: Database, generation: int) -> Vocabulary:
        """Return the vocabulary, outdated by at most `VOCABULARY_MAX_AGE_S`."""
        with self._lock:
            known = self._vocabulary
            if known is None or (known[0] != generation and self._clock() - known[1] >= VOCABULARY_MAX_AGE_S):
                known = self._vocabulary = (generation, self._clock(), load_vocabulary(db))
            return known[2]


def load_vocabulary(db: Database) -> Vocabulary:
    """Return the words of an index as FTS5 stores them: in lower case, without accents, stemmed.

    It has no CJK words, which FTS5 stores as single characters, no stems of other languages, and no numbers: they are
    never corrections, and an index may have more of them than of words.
    """
    is_read_only = db.pragma("query_only")
    if is_read_only:
        # The virtual table is created in the connection's temporary schema, never in the file.
        db.pragma("query_only", 0)
    try:
        db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab(main, chunks_fts, row)")
        # One row instead of many: see `memd.index.keyword.find_keyword`.
        row = db.execute(
            "SELECT group_concat(term, char(10)), group_concat(doc, ' ') FROM (SELECT term, doc FROM temp.words"
            " WHERE length(term) BETWEEN 3 AND 40 AND term GLOB '*[^0-9]*' AND substr(term, -1) <> ? LIMIT ?)",
            (STEM_MARK, MAX_WORDS),
        ).fetchone()
    finally:
        if is_read_only:
            db.pragma("query_only", 1)
    words, counts = row if row is not None and row[0] is not None else ("", "")
    return Vocabulary(str(words), np.array(str(counts).split(), np.int32))


def stemmed_languages(db: Database) -> tuple[str, ...]:
    """Return the languages in which texts of an index are stemmed."""
    one = "SELECT 1 FROM chunks_fts WHERE chunks_fts MATCH ? LIMIT 1"
    return tuple(
        each for each in ALGORITHMS if db.execute(one, (f'"{language_mark(each)}"',)).get is not None
    )


def suggest_words(db: Database, vocabulary: Vocabulary, word: str, limit: int = 3) -> list[str]:
    """Return words of an index that a misspelled word of a query may mean; none if it is in the index."""
    stem = stem_of(db, word)
    if (
        stem is None or stem in vocabulary or not errors_allowed(stem)
    ):  # `bill` of `billing` is too short: will, hill
        return []
    found = similar_words(stem, vocabulary, limit, errors_allowed(word.lower()))
    return [spelling for each in found if (spelling := _respelled(db, each)) is not None]


def stem_of(db: Database, word: str) -> str | None:
    """Return the token FTS5 makes of a word, or None if it makes none or several."""
    name, arguments = TOKENIZER
    tokenize = db.fts5_tokenizer(name, list(arguments))
    tokens = [
        *tokenize(
            word.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False
        )
    ]
    return str(tokens[0]) if len(tokens) == 1 else None


def _respelled(db: Database, stem: str) -> str | None:
    """Return a word that FTS5 stems to `stem`, or None."""
    return next((stem + end for end in _RESPELLINGS if stem_of(db, stem + end) == stem), None)
