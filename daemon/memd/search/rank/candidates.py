"""Candidates with their locations; rows and texts are read on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from memd.index.chunk_locations import ChunkLocations
from memd.index.files import ChunkRow, chunks_by_id, load_texts
from memd.index.snapshot import Database


class CandidateRows:
    """Rows and texts of candidates by id, read on demand."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._rows: dict[int, ChunkRow] = {}
        self._texts: dict[int, str] = {}

    def __getitem__(self, key: int) -> ChunkRow:
        if key not in self._rows:
            self.load([key])
        return self._rows[key]

    def load(self, ids: Sequence[int]) -> None:
        """Read rows in one statement."""
        missing = [key for key in ids if key not in self._rows]
        if missing:
            self._rows |= {row.id: row for row in chunks_by_id(self._db, missing)}

    def texts(self, ids: Sequence[int]) -> Mapping[int, str]:
        """Return texts by id, at least those of `ids`, read in one statement."""
        missing = [key for key in ids if key not in self._texts]
        if missing:
            self._texts |= load_texts(self._db, missing)
        return self._texts


class MatchScores(NamedTuple):
    """Matches of keyword or vector search: row of each candidate in the columns, and its score."""

    at: NDArray[np.intp]
    scores: NDArray[np.float64]


class LocatedCandidates(Struct, frozen=True):
    """Candidates with their locations.

    Attributes:
        rows: Rows and texts by chunk id.
        locations: The locations in columns.
        by_keyword, by_vector: Keyword and vector matches with their scores.
    """

    rows: CandidateRows
    locations: ChunkLocations
    by_keyword: MatchScores
    by_vector: MatchScores
