"""Locations of chunks that searches have read, kept for later searches.

A search needs the locations of hundreds of candidates and shows a few. Reading them from the index takes as long as
comparing all vectors, because each is on another page.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

from memd.index.chunk_locations import FACTS, ChunkLocations, Numbers, pack_facts
from memd.index.files import chunks_by_id, chunks_of_vectors
from memd.system.sqlite import Database

MAX_KNOWN: Final = 50_000
"""Chunks, and as many vectors, that are kept: 16 MB."""


class LocationCache:
    """The known locations of one index, at the generation of the latest search. Thread-safe."""

    def __init__(self) -> None:
        self._known = KnownLocations(-1)

    def __repr__(self) -> str:
        return f"<LocationCache: {self._known!r}>"

    def at(self, generation: int) -> KnownLocations:
        """Return what is known of a generation: after each change of the index, nothing."""
        known = self._known
        if known.generation != generation:
            known = self._known = KnownLocations(generation)
        return known

    def clear(self) -> None:
        """Release the RAM."""
        self._known = KnownLocations(-1)


class KnownLocations:
    """Locations of chunks at one generation of an index, read when they are needed first. Thread-safe."""

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self._lock = threading.Lock()
        self._forget_chunks()
        self._of_vectors: dict[int, int | None] = {}

    def __repr__(self) -> str:
        return f"<KnownLocations of {len(self._rows)} chunks and {len(self._of_vectors)} vectors>"

    def _forget_chunks(self) -> None:
        self._facts = np.empty((0, FACTS), np.int64)
        self._rows: dict[int, int] = {}
        self._paths, self._sources = Numbers(), Numbers()

    def locate(self, db: Database, ids: Sequence[int]) -> ChunkLocations:
        """Return the locations of chunks, in the order of their ids; those that are not in the index are left out."""
        with self._lock:
            rows = [row for row in map(self._rows.get, ids) if row is not None]
            if len(rows) < len(ids):
                if len(self._rows) > MAX_KNOWN:
                    self._forget_chunks()
                self._read(db, [key for key in ids if key not in self._rows])
                rows = [row for row in map(self._rows.get, ids) if row is not None]
            return ChunkLocations(self._facts[rows], self._paths, self._sources)

    def _read(self, db: Database, ids: Sequence[int]) -> None:
        """Read the locations of chunks from the index."""
        path, source = self._paths.give, self._sources.give
        rows = chunks_by_id(db, ids)
        facts = (
            (
                row.id,
                path(row.path),
                source(row.source),
                row.start_line,
                row.end_line,
                row.start_char,
                row.end_char,
                row.likeness,
            )
            for row in rows
        )
        first, end = len(self._rows), len(self._rows) + len(rows)
        if end > len(self._facts):
            grown = np.empty((max(2 * end, 1_000), FACTS), np.int64)
            grown[:first] = self._facts[:first]
            self._facts = grown
        self._facts[first:end] = pack_facts(facts, len(rows))
        self._rows.update(zip((row.id for row in rows), range(first, end), strict=True))

    def chunks_of_vectors(
        self, db: Database, space_id: str, vector_ids: Collection[int]
    ) -> list[tuple[int, int]]:
        """Return (vector id, chunk id): for each vector the chunk with the lowest id that has its text."""
        with self._lock:
            missing = [key for key in vector_ids if key not in self._of_vectors]
            if missing:
                if len(self._of_vectors) > MAX_KNOWN:
                    self._of_vectors.clear()
                    missing = list(vector_ids)
                self._of_vectors.update(dict.fromkeys(missing))
                self._of_vectors.update(chunks_of_vectors(db, space_id, missing))
            known = self._of_vectors
            return [(key, chunk) for key in vector_ids if (chunk := known[key]) is not None]
