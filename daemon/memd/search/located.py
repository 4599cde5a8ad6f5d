"""Where the candidates of a question are: read by those that found them, or read now."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from memd.index.database import Database
from memd.index.files import ChunkRow, chunks_by_id
from memd.index.kept_rows import KeptRows
from memd.index.places import places_of
from memd.ranking.fusion import FloatArray, Side
from memd.ranking.places import Places

Known: TypeAlias = tuple[Mapping[int, ChunkRow], Mapping[int, ChunkRow]]
"""Where chunks are, by id, as words and meaning read it, with others or without."""

NONE_KNOWN: Known = ({}, {})


@dataclass(frozen=True, slots=True)
class Located:
    """Where candidates are, and what found them.

    Attributes:
        rows: By id; others may be among them.
        places: Of the candidates alone, in columns.
        by_words: Which of them words found.
        by_meaning: Which of them meaning found.
    """

    rows: Mapping[int, ChunkRow]
    places: Places
    by_words: Side
    by_meaning: Side


def locate(
    db: Database,
    texts: Mapping[int, float],
    vectors: Mapping[int, float],
    of_day: Collection[int] = (),
    known: Known = NONE_KNOWN,
    kept: KeptRows | None = None,
) -> Located:
    """Return where chunks are; those that aren't there are left out.

    Args:
        db: A reader connection.
        texts: Scores of those that words found, by chunk id.
        vectors: Scores of those that meaning found.
        of_day: Others.
        known: Where they are, as far as that was read already.
        kept: Where chunks are, as earlier searches read it.
    """
    found = np.fromiter(chain(texts, vectors, of_day), np.int64, len(texts) + len(vectors) + len(of_day))
    ids, at = np.unique(found, return_inverse=True)
    rows, places = _read(db, ids, known, kept)
    if len(places) < len(ids):
        there = frozenset(places.ids.tolist())
        texts, vectors = ({key: side[key] for key in side if key in there} for side in (texts, vectors))
        return locate(db, texts, vectors, there.intersection(of_day), (rows, {}), kept)
    by_meaning = at[len(texts) : len(texts) + len(vectors)]
    return Located(rows, places, Side(at[: len(texts)], _scores(texts)), Side(by_meaning, _scores(vectors)))


def _scores(side: Mapping[int, float]) -> FloatArray:
    return np.fromiter(side.values(), np.float64, len(side))


def _read(
    db: Database, ids: NDArray[np.int64], known: Known, kept: KeptRows | None
) -> tuple[Mapping[int, ChunkRow], Places]:
    """Return where chunks are, by id and in columns."""
    if kept is not None:
        places = kept.places_of(db, ids)
        return kept.rows, places
    by_words, by_meaning = known
    wanted = ids.tolist()
    rows = {key: row for key in wanted if (row := by_words.get(key) or by_meaning.get(key)) is not None}
    if len(rows) < len(ids):
        rows |= {row.id: row for row in chunks_by_id(db, [key for key in wanted if key not in rows])}
        rows = {key: rows[key] for key in wanted if key in rows}
    return rows, places_of(rows.values())
