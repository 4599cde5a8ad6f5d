"""Rows and texts of candidates, read on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memd.index.chunk_locations import ChunkLocations
from memd.index.files import ChunkRow, chunks_by_id, load_texts
from memd.index.snapshot import Database


class CandidateRows:
    """Rows of candidates by id, read on demand."""

    def __init__(self, db: Database, known: dict[int, ChunkRow]) -> None:
        self._db = db
        self._rows = known

    def __getitem__(self, key: int) -> ChunkRow:
        if key not in self._rows:
            self.load([key])
        return self._rows[key]

    def load(self, ids: Sequence[int]) -> None:
        """Read rows in one statement."""
        missing = [key for key in ids if key not in self._rows]
        if missing:
            self._rows |= {row.id: row for row in chunks_by_id(self._db, missing)}


class CandidateTexts:
    """Texts of candidates by id, read on demand."""

    def __init__(self, db: Database, locations: ChunkLocations) -> None:
        self._db = db
        self._locations = locations
        self._texts: dict[int, str] = {}

    def load(self, ids: Sequence[int]) -> Mapping[int, str]:
        """Return texts by id, at least those of `ids`."""
        missing = [key for key in ids if key not in self._texts]
        if missing:
            self._texts |= load_texts(self._db, missing)
        return self._texts

    def load_all(self) -> Mapping[int, str]:
        """Return the texts of all candidates by id."""
        return self.load(self._locations.ids.tolist())
