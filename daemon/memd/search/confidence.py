"""How likely each hit of a ranking holds what the query asks for: one calibrated probability. Pure.

A hit is strong if its probability reaches `thresholds.STRONG_PROBABILITY`. The features are few, and the same for every
model and memory, so that coefficients that were fitted on some memories hold for others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from memd.search import thresholds
from memd.search.calibration import calibration_of
from memd.search.query import Query
from memd.search.rank.fusion import Ranked
from memd.search.rank.order import Ranking
from memd.text.logistic import read_models

_MODELS: Final = read_models(Path(__file__).with_suffix(".txt"))

MAX_CLOSENESS: Final = 5.0
"""Highest closeness that counts: beyond it, two texts are nearly the same."""


class HitConfidence:
    """The probabilities of the hits of one ranking."""

    def __init__(self, query: Query, ranking: Ranking) -> None:
        self._ranks = {int(item.id): rank for rank, item in enumerate(ranking.ranked)}
        self._best_keyword_score = max(ranking.candidates.by_keyword.values(), default=0.0)
        model = "" if query.vector is None else query.vector.model
        self._calibration = calibration_of(model)
        if self._calibration is not None and not self._calibration.covers(query.text):
            self._calibration = None
        self._model = _MODELS["keywords" if self._calibration is None else "vectors"]
        self._lowest = min(ranking.candidates.by_vector.values(), default=0.0)
        self._numbers: Mapping[int, int] = {}
        if ranking.lines is not None:
            self._numbers, matches = ranking.lines
            self._coverage: list[float] = matches.coverage(matches.words).tolist()
            self._line_coverage: list[float] = matches.best_line_coverage().tolist()
            self._distinctive: list[int] = (matches.words & matches.distinctive()).sum(axis=1).tolist()
        self._probabilities: dict[int, float] = {}

    def probability(self, item: Ranked) -> float:
        """Return the probability that a hit holds what the query asks for."""
        key = int(item.id)
        if key not in self._probabilities:
            self._probabilities[key] = self._model.probability(self.features(item))
        return self._probabilities[key]

    def features(self, item: Ranked) -> dict[str, float]:
        """Return what the probability of a hit depends on.

        `lead` is the reciprocal of its rank, `line` the share of the query in its best line, `keywords` its BM25
        relative to the best one, `close` its closeness. `distinctive` (two distinctive words of the query) and `whole`
        (all of its words) are 1 or 0. The products let a first hit count more if its line matches.
        """
        key, calibration = int(item.id), self._calibration
        number = self._numbers.get(key)
        lead = 1 / (1 + self._ranks[key])
        line = 0.0 if number is None else self._line_coverage[number]
        features = {
            "lead": lead,
            "line": line,
            "lead_line": lead * line,
            "keywords": (item.text_score or 0.0) / (self._best_keyword_score or 1.0),
            "distinctive": float(
                number is not None and self._distinctive[number] >= thresholds.DISTINCTIVE_TERMS
            ),
            "whole": float(number is not None and self._coverage[number] >= thresholds.WHOLE_COVERAGE),
        }
        if calibration is not None:
            cosine = self._lowest if item.vector_score is None else item.vector_score
            close = min(MAX_CLOSENESS, calibration.closeness(cosine))
            features |= {"close": close, "lead_close": lead * close}
        return features
