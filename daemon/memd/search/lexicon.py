"""What is known of an index's words: the languages they are stemmed in, and what an unknown one may have been."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from time import monotonic

from memd.index.connection import Database
from memd.index.keyword import has_match
from memd.index.vocabulary import load_vocabulary, near_words, stemmed_languages
from memd.text.query.terms import Term
from memd.text.query.typos import Vocabulary, errors_allowed

FRESH_S = 300.0
"""How long the words of an index are used after it changed. Reading them takes up to some hundred milliseconds, and a
correction can wait for a word that was written a moment ago; the word itself is found at once."""

MOST_UNKNOWN = 4
"""Unknown words of one question that are looked into; one with more is about something else."""


class Lexicon:
    """The words of one index.

    Several threads at once.
    """

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: tuple[int, float, Vocabulary] | None = None
        self._languages: tuple[int, tuple[str, ...]] | None = None

    def languages(self, db: Database, generation: int) -> tuple[str, ...]:
        """Return the languages that texts of the index are stemmed in."""
        known = self._languages
        if known is None or known[0] != generation:
            known = self._languages = (generation, stemmed_languages(db))
        return known[1]

    def respell(self, db: Database, generation: int, terms: Sequence[Term]) -> dict[str, tuple[str, ...]]:
        """Return which words stand nowhere, and the words of the index each may have been meant as."""
        wanted = [term for term in terms if errors_allowed(term.word.lower())]
        unknown = [term.word for term in wanted if not has_match(db, term.match)]
        if not 0 < len(unknown) <= MOST_UNKNOWN:
            return {}
        vocabulary = self._vocabulary(db, generation)
        found = {word: tuple(near_words(db, vocabulary, word)) for word in unknown}
        return {word: near for word, near in found.items() if near}

    def _vocabulary(self, db: Database, generation: int) -> Vocabulary:
        """Return the words of the index, as they are now or were a while ago."""
        with self._lock:
            known = self._known
            if known is None or (known[0] != generation and self._clock() - known[1] >= FRESH_S):
                known = self._known = (generation, self._clock(), load_vocabulary(db))
            return known[2]
