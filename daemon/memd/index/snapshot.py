"""Snapshots: point-in-time views of one index, from which a search reads."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec import Struct

from memd.index.chunk_locations import ChunkLocations
from memd.index.connection import IndexFile
from memd.index.files import chunks_of_vectors
from memd.index.keyword import Scope, count_chunks
from memd.index.meta import generation
from memd.index.vectors.cache import VectorCache
from memd.index.vectors.language_means import ShiftedQuery
from memd.index.vectors.vector_search import FloatArray, VectorSearch
from memd.system.sqlite import Database as Database
from memd.text.query.terms import Term


class Snapshot(Struct, frozen=True):
    """One index at one generation.

    Attributes:
        db: A reader connection inside a read transaction.
        generation: Generation of the index.
        chunk_count: An upper bound of the number of chunks.
        cache: The parts of the index in RAM; `vectors` are its state at this generation.
        vectors: The vector search to use, or None if there are no vectors to search.
        second_reader: The open index if a core is free for a read in a second thread, else None.
    """

    db: Database
    generation: int
    chunk_count: int
    cache: VectorCache
    vectors: VectorSearch | None = None
    second_reader: IndexFile | None = None

    def languages(self) -> tuple[str, ...]:
        """Return the languages in which texts of the index are stemmed."""
        return self.cache.vocabulary.languages(self.db, self.generation)

    def without_language(self, space_id: str, model: str, query: FloatArray) -> ShiftedQuery:
        """Return a query's vector to search with if the model prefers the query's language, else the vector itself."""
        return self.cache.languages.shift(self.db, space_id, model, query, self.chunk_count)

    def correct(self, terms: Sequence[Term]) -> dict[str, tuple[str, ...]]:
        """Return corrections of the terms that occur in no text, by term."""
        return self.cache.vocabulary.correct(self.db, self.generation, terms)

    def locate(self, ids: Sequence[int]) -> ChunkLocations:
        """Return the locations of chunks, in the order of their ids; those that are not in the index are left out."""
        return self.cache.locations.at(self.generation).locate(self.db, ids)

    def chunks_of_vectors(
        self, space_id: str, vector_ids: Collection[int], scope: Scope | None
    ) -> list[tuple[int, int]]:
        """Return (vector id, chunk id): for each vector the chunk in scope with the lowest id that has its text."""
        if scope is not None:
            return chunks_of_vectors(self.db, space_id, list(vector_ids), scope)
        return self.cache.locations.at(self.generation).chunks_of_vectors(self.db, space_id, vector_ids)


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
    return Snapshot(db, generation(db), count_chunks(db), cache, vectors, second_reader)
