"""What the cosines of an embedding model mean.

Models use different ranges: MiniLM gives unrelated texts about 0.27, multilingual-e5-small 0.82. A *closeness* is a
cosine on a scale that is the same for all models: 0 is the cosine of the nearest chunk if nothing answers the query, 1
that of a typical answer. `scripts/calibrate` measures both; without a row in `calibration.txt`, cosines of a model are
only compared with each other.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from memd.search.thresholds import MIN_CLOSENESS, MIN_COSINE
from memd.text.data_files import read_sections
from memd.text.language.guess import guess_language
from memd.text.tokens import CJK_CLASS

ANY_SCRIPT = "any"

LANGUAGE_CHARS = 400
"""Start of a text that tells its language."""

MIN_COSINES = 20
"""Candidates from which their median cosine is that of unrelated chunks."""

UNRELATED_MARGIN = 1.6
"""Closeness of the nearest chunk above the median candidate's, if nothing answers the query."""

_OTHER_SCRIPT = re.compile(rf"[{CJK_CLASS}\u0370-\u1fff]")
"""A letter of a script that a model for English and other Latin languages wasn't trained on."""


class Calibration(Struct, frozen=True):
    """The range of a model's cosines.

    Attributes:
        unrelated: The median cosine of the nearest chunk to a query that nothing answers.
        related: The median cosine of a query and the chunk that answers it.
        has_all_scripts: Whether the model was trained on other scripts than the Latin one.
    """

    unrelated: float
    related: float
    has_all_scripts: bool = False

    def closeness(self, cosine: float) -> float:
        """Return a cosine as closeness."""
        return (cosine - self.unrelated) / (self.related - self.unrelated)

    def cosine(self, closeness: float) -> float:
        """Return a closeness as cosine."""
        return self.unrelated + closeness * (self.related - self.unrelated)

    def for_candidates(self, cosines: Collection[float]) -> Calibration:
        """Return the calibration for a query with these cosines.

        A query in another language than the notes has lower cosines with all of them. So closeness 0 is never far above
        the cosine of the median candidate.
        """
        if len(cosines) < MIN_COSINES:
            return self
        span = self.related - self.unrelated
        unrelated = min(self.unrelated, median_cosine(cosines) + UNRELATED_MARGIN * span)
        return Calibration(unrelated, unrelated + span, self.has_all_scripts)

    def covers(self, query: str) -> bool:
        """Return whether the model was trained on the scripts of a query, so that its cosines mean something."""
        return self.has_all_scripts or _OTHER_SCRIPT.search(query) is None


def _read_rows() -> list[tuple[re.Pattern[str], Calibration]]:
    rows = []
    for row in read_sections(Path(__file__).with_suffix(".txt"))["models"]:
        pattern, unrelated, related, scripts = row.split()
        calibration = Calibration(float(unrelated), float(related), scripts == ANY_SCRIPT)
        rows.append((re.compile(pattern, re.IGNORECASE), calibration))
    return rows


_ROWS = _read_rows()


@lru_cache(maxsize=64)
def calibration_of(model: str) -> Calibration | None:
    """Return the calibration of a model, by its name or the name of its file; None if it has none."""
    return next((calibration for pattern, calibration in _ROWS if pattern.fullmatch(model)), None)


def median_cosine(cosines: Collection[float]) -> float:
    """Return the median of candidates' cosines, the upper one of two; 0 without any."""
    return sorted(cosines)[len(cosines) // 2] if cosines else 0.0


def is_translated(query: str, texts: Iterable[str]) -> bool:
    """Return whether texts are all in another language than a query, so that they can't have its words."""
    language = guess_language(query)
    return all(guess_language(text[:LANGUAGE_CHARS]) != language for text in texts)


def is_near(calibration: Calibration | None, cosine: float) -> bool:
    """Return whether a cosine is that of a related chunk; `calibration` is None if its model has none."""
    if calibration is None:
        return cosine >= MIN_COSINE
    return calibration.closeness(cosine) >= MIN_CLOSENESS
