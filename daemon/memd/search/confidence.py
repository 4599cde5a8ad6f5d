"""How likely each hit of a ranking holds what the query asks for: one calibrated probability. Pure.

A hit is strong if its probability reaches `thresholds.STRONG_PROBABILITY`. The features are few, and the same for every
model and memory, so that coefficients that were fitted on some memories hold for others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from memd.search import thresholds
from memd.search.calibration import is_translated, median_cosine
from memd.search.query import Query
from memd.search.rank.fusion import Ranked
from memd.search.rank.order import Ranking
from memd.search.retrieve import MAX_CANDIDATES
from memd.text.logistic import read_models

_MODELS: Final = read_models(Path(__file__).with_suffix(".txt"))

MAX_CLOSENESS: Final = 5.0
"""Highest closeness that counts: beyond it, two texts are nearly the same."""


class HitConfidence:
    """The probabilities of the hits of one ranking."""

    def __init__(self, query: Query, ranking: Ranking) -> None:
        self._texts = ranking.located.rows.texts
        self._ranks = {int(item.id): rank for rank, item in enumerate(ranking.ranked)}
        self._best_keyword_score = max(ranking.candidates.by_keyword.values(), default=0.0)
        self._calibration = ranking.signals.calibration
        if self._calibration is not None and not self._calibration.covers(query.text):
            self._calibration = None
        self._query, self._is_translated = query.text, ranking.signals.is_translated
        cosines = ranking.candidates.by_vector.values()
        # If there are fewer nearest chunks than requested, a chunk that isn't among them has no vector yet.
        self._lowest = min(cosines) if len(cosines) >= MAX_CANDIDATES else None
        self._median = median_cosine(cosines)
        self._numbers: Mapping[int, int] = {}
        if ranking.lines is not None:
            self._numbers, matches = ranking.lines
            self._coverage: list[float] = matches.coverage(matches.words).tolist()
            self._line_coverage: list[float] = matches.best_line_coverage().tolist()
            self._distinctive: list[int] = (matches.words & matches.distinctive()).sum(axis=1).tolist()

    def probability(self, item: Ranked) -> float:
        """Return the probability that a hit holds what the query asks for."""
        model, features = self.features(item)
        return _MODELS[model].probability(features)

    def has_all_words(self, key: int) -> bool:
        """Return whether a candidate has all words of the query, if its text was read."""
        number = self._numbers.get(key)
        return number is not None and self._coverage[number] >= thresholds.WHOLE_COVERAGE

    def features(self, item: Ranked) -> tuple[str, dict[str, float]]:
        """Return the name of the model that judges a hit, and what the probability depends on.

        `lead` is the reciprocal of its rank, `line` the share of the query in its best line, `keywords` its BM25
        relative to the best one, `close` its closeness, `margin` its distance to the median candidate's.
        `distinctive` (two distinctive words of the query) and `whole` (all of its words) are 1 or 0. The products let a
        first hit count more if its line matches.
        """
        key, calibration = int(item.id), self._calibration
        lead, vectors = 1 / (1 + self._ranks[key]), dict[str, float]()
        cosine = self._lowest if item.vector_score is None else item.vector_score
        if calibration is not None and cosine is not None:
            close = min(MAX_CLOSENESS, calibration.closeness(cosine))
            margin = calibration.closeness(cosine) - calibration.closeness(self._median)
            vectors = {"close": close, "lead_close": lead * close, "margin": margin}
            if self._is_translated and is_translated(self._query, [self._texts([key])[key]]):
                return "translation", {"lead": lead} | vectors
        number = self._numbers.get(key)
        line = 0.0 if number is None else self._line_coverage[number]
        is_distinctive = number is not None and self._distinctive[number] >= thresholds.DISTINCTIVE_TERMS
        words = {
            "lead": lead,
            "line": line,
            "lead_line": lead * line,
            "keywords": (item.text_score or 0.0) / (self._best_keyword_score or 1.0),
            "distinctive": float(is_distinctive),
            "whole": float(self.has_all_words(key)),
        }
        return "vectors" if vectors else "keywords", words | vectors
