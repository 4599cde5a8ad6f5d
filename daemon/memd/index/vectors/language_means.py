"""Searches notes in several languages with a model that prefers the query's own language.

Multilingual E5 places all texts of a language near each other: a chunk in the query's language about another subject
is nearer than the answer in another language. Therefore the mean vector of the query's language in this index is
subtracted from the query. Half of the mean of all chunks is added, so that the common part of all vectors still counts.
The chunks' vectors stay as they are.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec import Struct

from memd.index.numbers import pack_ids
from memd.index.vectors.stored import read_rows
from memd.index.vectors.vector_search import FloatArray, unit_query, used_ids
from memd.system.sqlite import Database
from memd.text.language.guess import guess_language

SAMPLE_CHUNKS: Final = 1_000
"""Chunks whose languages are guessed."""

MIN_CHUNKS: Final = 20
MIN_SHARE: Final = 0.03
"""Chunks of a language, and their share of the sample, that it needs for a mean of its own."""

MIN_DISTANCE: Final = 0.22
"""Least distance between the means of two languages: e5-small has 0.29 to 0.36. Chunks of one language whose language
was guessed wrongly are 0.1 to 0.16 apart."""

COMMON_SHARE: Final = 0.5
"""Share of the mean of all chunks that is added to a query."""

MAX_GROWTH: Final = 0.1
"""Share by which the number of chunks may change before the means are computed again."""

_BIASED: Final = re.compile(r"(?<![a-z0-9])e5(?![a-z0-9])", re.IGNORECASE)


class ShiftedQuery(Struct, frozen=True):
    """A query to search with. `scale` and `offset` make its cosines comparable to those of the query itself."""

    values: FloatArray
    scale: float = 1.0
    offset: float = 0.0

    def cosine_of(self, shifted: float) -> float:
        """Return what the cosine would be if all languages had the same mean."""
        return shifted * self.scale + self.offset


class LanguageMeans(Struct, frozen=True):
    """The mean vectors (languages, dims) of an index, and the mean (dims,) of all its chunks."""

    by_language: FloatArray
    overall: FloatArray

    def shift(self, query: FloatArray) -> ShiftedQuery:
        """Return a query without the mean of its language, which is the nearest mean."""
        exact = unit_query(query)
        if exact is None or len(self.by_language) < 2:
            return ShiftedQuery(query)
        nearest = self.by_language[np.argmin(((self.by_language - exact) ** 2).sum(axis=1))]
        removed = nearest - COMMON_SHARE * self.overall
        shifted = exact - removed
        return ShiftedQuery(
            shifted.astype(np.float32), float(np.linalg.norm(shifted)), float(removed @ self.overall)
        )


def mean_vectors(languages: Sequence[str], vectors: FloatArray) -> LanguageMeans:
    """Return the means of vectors (n, dims) by language, without rare languages and wrong guesses."""
    least = max(MIN_CHUNKS, MIN_SHARE * len(languages))
    names = np.array(languages)
    means: list[FloatArray] = []
    for name, count in Counter(languages).most_common():
        mean = vectors[names == name].mean(axis=0)
        if count >= least and all(np.linalg.norm(mean - other) >= MIN_DISTANCE for other in means):
            means.append(mean)
    return LanguageMeans(np.array(means, dtype=np.float32), vectors.mean(axis=0))


class LanguageMeansCache:
    """The means of one index, computed at the first search and again after enough changes. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: tuple[str, int, LanguageMeans | None] | None = None

    def shift(
        self, db: Database, space_id: str, model: str, query: FloatArray, chunk_count: int
    ) -> ShiftedQuery:
        """Return the query to search with: itself, unless the model prefers a query's language."""
        if _BIASED.search(model) is None:
            return ShiftedQuery(query)
        with self._lock:
            known = self._known
            if known is None or known[0] != space_id or abs(chunk_count - known[1]) > MAX_GROWTH * known[1]:
                known = self._known = (space_id, chunk_count, load_means(db, space_id))
        return ShiftedQuery(query) if known[2] is None else known[2].shift(query)


def load_means(db: Database, space_id: str) -> LanguageMeans | None:
    """Return the means of a sample of chunks; None if there are fewer than two languages."""
    ids = used_ids(db, space_id, None)
    sample, vectors = read_rows(db, ids[:: 1 + ids.size // SAMPLE_CHUNKS])
    rows = db.execute(
        """SELECT e.id, (SELECT c.text FROM chunks AS c WHERE c.hash = e.hash LIMIT 1)
           FROM json_each(?) AS wanted CROSS JOIN embedding_cache AS e ON e.id = wanted.value""",
        (pack_ids(sample.tolist()),),
    ).fetchall()
    languages = {key: guess_language(str(text)) for key, text in rows}
    if len(set(languages.values())) < 2:
        return None
    means = mean_vectors([languages[key] for key in sample.tolist()], vectors)
    return means if len(means.by_language) > 1 else None
