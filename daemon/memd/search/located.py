"""Where the candidates of a question are: in memory, read by those that found them, or read now."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np

from memd.index.chunk_columns import Places
from memd.index.chunk_locations import AllPlaces
from memd.index.database import Database
from memd.index.files import ChunkRow, chunks_by_id
from memd.index.row_locations import places_of
from memd.index.text_keys import Ints
from memd.search.query import Question
from memd.search.rank.fusion import FloatArray, Side


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of where chunks are.

    Attributes:
        by_words: Rows that were read on the way, by id.
        by_meaning: Others.
        places: Where all chunks stand at the moment of the search, where that is in memory.
    """

    by_words: Mapping[int, ChunkRow] = field(default_factory=dict)
    by_meaning: Mapping[int, ChunkRow] = field(default_factory=dict)
    places: AllPlaces | None = None


NONE_KNOWN = Known()


class Rows:
    """Rows of candidates by id, read where they are needed: few of some hundred are."""

    def __init__(self, db: Database, known: dict[int, ChunkRow]) -> None:
        self._db = db
        self._rows = known

    def __getitem__(self, key: int) -> ChunkRow:
        """Return a row; what isn't loaded yet is read alone."""
        if key not in self._rows:
            self.load([key])
        return self._rows[key]

    def load(self, ids: Sequence[int]) -> None:
        """Read rows that will be needed, in one go."""
        missing = [key for key in ids if key not in self._rows]
        if missing:
            self._rows |= {row.id: row for row in chunks_by_id(self._db, missing)}


@dataclass(frozen=True, slots=True)
class Located:
    """Where candidates are, and what found them.

    Attributes:
        rows: By id.
        places: In columns.
        by_words: Which of them words found.
        by_meaning: Which of them meaning found.
    """

    rows: Rows
    places: Places
    by_words: Side
    by_meaning: Side


def all_places(db: Database, question: Question, now: int) -> AllPlaces | None:
    """Return where all chunks stand at the moment of a search, None where that isn't in memory."""
    return None if question.places is None else question.places.at(db, now)


def locate(
    db: Database,
    texts: Mapping[int, float],
    vectors: Mapping[int, float],
    of_day: Collection[int] = (),
    known: Known = NONE_KNOWN,
) -> Located:
    """Return where chunks are; those that aren't there are left out."""
    found = np.fromiter(chain(texts, vectors, of_day), np.int64, len(texts) + len(vectors) + len(of_day))
    ids, at = np.unique(found, return_inverse=True)
    rows, places = _read(db, ids, known)
    if len(places) < len(ids):
        there = frozenset(places.ids.tolist())
        texts, vectors = ({key: side[key] for key in side if key in there} for side in (texts, vectors))
        return locate(db, texts, vectors, there.intersection(of_day), Known(rows, {}, known.places))
    by_meaning = at[len(texts) : len(texts) + len(vectors)]
    by_words = Side(at[: len(texts)], _scores(texts))
    return Located(Rows(db, rows), places, by_words, Side(by_meaning, _scores(vectors)))


def _scores(side: Mapping[int, float]) -> FloatArray:
    return np.fromiter(side.values(), np.float64, len(side))


def _read(db: Database, ids: Ints, known: Known) -> tuple[dict[int, ChunkRow], Places]:
    """Return where chunks are: rows by id, and columns. Where those are in memory no rows are read."""
    if known.places is not None:
        return {}, known.places.places_of(ids)
    wanted = ids.tolist()
    rows = {
        key: row
        for key in wanted
        if (row := known.by_words.get(key) or known.by_meaning.get(key)) is not None
    }
    if len(rows) < len(ids):
        rows |= {row.id: row for row in chunks_by_id(db, [key for key in wanted if key not in rows])}
        rows = {key: rows[key] for key in wanted if key in rows}
    return rows, places_of(rows.values())
