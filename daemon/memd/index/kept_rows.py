"""Where chunks stand, kept from one search to the next for as long as nobody changes the index.

For a process that does nothing but search while many ask: a row is then read once instead of with every question that
brings it up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from memd.index.database import Database, get_int
from memd.index.files import ChunkRow, chunks_by_id, chunks_of_vectors

MOST: Final = 20_000
"""Rows kept, of either kind: 8 MB. With more the keeping begins anew."""


class KeptRows:
    """Rows of one index, read through one connection."""

    def __init__(self) -> None:
        self._version = -1
        self._by_id: dict[int, ChunkRow] = {}
        self._by_vector: dict[int, ChunkRow] = {}

    def __repr__(self) -> str:
        return f"<KeptRows, {len(self._by_id)} by id, {len(self._by_vector)} by vector>"

    def of_ids(self, db: Database, ids: Sequence[int]) -> dict[int, ChunkRow]:
        """Return chunks by id; an id that isn't there is left out.

        Args:
            db: The connection.
            ids: Their ids.
        """
        self._follow(db)
        kept = self._by_id
        missing = [key for key in ids if key not in kept]
        if missing:
            kept.update((row.id, row) for row in chunks_by_id(db, missing))
        return {key: kept[key] for key in ids if key in kept}

    def of_vectors(
        self, db: Database, space_id: str, vector_ids: Sequence[int]
    ) -> list[tuple[int, ChunkRow]]:
        """Return the chunks whose text has one of some vectors, as `chunks_of_vectors` does.

        Args:
            db: The connection.
            space_id: The vector space the ids belong to.
            vector_ids: Their ids.
        """
        self._follow(db)
        kept = self._by_vector
        missing = [key for key in vector_ids if key not in kept]
        if missing:
            kept.update(chunks_of_vectors(db, space_id, missing))
        return [(key, kept[key]) for key in vector_ids if key in kept]

    def _follow(self, db: Database) -> None:
        """Forget what is kept where it is of another moment, or too much."""
        version = get_int(
            db, "PRAGMA data_version"
        )  # of the reader's snapshot; grows with every commit of others
        if version != self._version or max(len(self._by_id), len(self._by_vector)) > MOST:
            self._version = version
            self._by_id, self._by_vector = {}, {}
