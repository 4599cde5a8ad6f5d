"""Snapshots: point-in-time views of one index, from which a search reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memd.index.connection import IndexFile
from memd.index.meta import generation
from memd.index.vectors.cache import VectorCache
from memd.index.vectors.vector_search import VectorSearch
from memd.system.sqlite import Database as Database
from memd.text.query.terms import Term


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One index at one generation.

    Attributes:
        db: A reader connection inside a read transaction.
        generation: Generation of the index.
        cache: The parts of the index in RAM; `vectors` are its state at this generation.
        vectors: The vector search to use, or None if there are no vectors to search.
        second_reader: The open index if a core is free for a read in a second thread, else None.
    """

    db: Database
    generation: int
    cache: VectorCache
    vectors: VectorSearch | None = None
    second_reader: IndexFile | None = None

    def languages(self) -> tuple[str, ...]:
        """Return the languages in which texts of the index are stemmed."""
        return self.cache.vocabulary.languages(self.db, self.generation)

    def correct(self, terms: Sequence[Term]) -> dict[str, tuple[str, ...]]:
        """Return corrections of the terms that occur in no text, by term."""
        return self.cache.vocabulary.correct(self.db, self.generation, terms)


def take_snapshot(
    db: Database,
    cache: VectorCache,
    vectors: VectorSearch | None = None,
    second_reader: IndexFile | None = None,
) -> Snapshot:
    """Return the index as the read transaction of `db` sees it.

    Args:
        db: A reader connection inside a read transaction.
        cache: The parts of the index in RAM.
        vectors: What `VectorCache.searcher` returned on the event loop, if vectors are to be searched.
        second_reader: The open index, if a core is free for a read in a second thread.
    """
    if vectors is not None:
        cache.warm_up(db)  # before the generation is read: loading renews the read transaction
    return Snapshot(db, generation(db), cache, vectors, second_reader)
