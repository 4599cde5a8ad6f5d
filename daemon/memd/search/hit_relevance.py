"""What a hit's score means: strongly related to the query, weakly, or not at all.

Fitted on conversations: a strong hit holds evidence four times as often as a weak one.
"""

from __future__ import annotations

import re
from typing import Final

import numpy as np
from numpy.typing import NDArray

from memd.search.query import Query
from memd.search.rank.fusion import Ranked
from memd.search.rank.lines import LineMatches
from memd.search.rank.order import MIN_COSINE, Ranking
from memd.text.tokens import CJK_CLASS

_CALIBRATED = re.compile(r"minilm(?:-l6.*)?|.*all-minilm-l6.*", re.IGNORECASE)
"""Names of the model that thresholds of cosines are calibrated for, as a name and as a file."""

STRONG_COSINE: Final = 0.4
STRONG_COVERAGE: Final = 0.55
STRONG_WORDS: Final = 2
STRONG_WORDS_COVERAGE: Final = 0.3
"""A hit is strong by its cosine, by the share of the query's words that it has, or by distinctive terms with
less of that share."""

STRONG_KEYWORD_SHARE: Final = 0.6
"""Share of the best keyword score from which a hit is strong if its words were matched by the index alone."""

SHORT_QUERY_TERMS: Final = 2
"""Most terms of a query in which a corrected term is a typing error rather than a guess."""

MIN_SCALED_COSINE: Final = 0.2
"""Cosine of a related hit by any other model, scaled to 0..1 among the candidates."""

_FOREIGN = re.compile(rf"[{CJK_CLASS}\u0370-\u1fff]")


def is_calibrated(model: str) -> bool:
    """Return whether thresholds of cosines are calibrated for a model."""
    return _CALIBRATED.fullmatch(model) is not None


def is_foreign(query: str) -> bool:
    """Return whether a query has a script that MiniLM was not trained on, so that its cosines mean nothing."""
    return _FOREIGN.search(query) is not None


class HitRelevance:
    """Judges the hits of one ranking."""

    def __init__(self, query: Query, ranking: Ranking) -> None:
        self._ranking = ranking
        self._terms = query.plan.terms
        if ranking.lines is not None:
            self._has_words = [bool(row.any()) for row in ranking.lines.words]
            self._strong_texts = [bool(strong) for strong in _strong_texts(ranking.lines)]
        self._is_calibrated = query.vector is not None and is_calibrated(query.vector.model)
        self._is_foreign = is_foreign(query.text)
        cosines = ranking.candidates.by_vector.values()
        self._lowest = min(cosines, default=0.0)
        self._best_keyword_score = max(ranking.candidates.by_keyword.values(), default=0.0)
        self._range = max(cosines, default=0.0) - self._lowest

    def is_strong(self, item: Ranked) -> bool:
        """Return whether a hit is likely about what the query asks."""
        key = int(item.id)
        if key in self._ranking.exact_matches or key in self._ranking.of_days:
            return True
        cosine = -1.0 if item.vector_score is None else item.vector_score
        if self._is_calibrated and not self._is_foreign and cosine >= STRONG_COSINE:
            return True
        return self._has_strong_words(item)

    def is_related(self, item: Ranked) -> bool:
        """Return whether a hit has a word of the query or is near it in vector space."""
        return item.text_score is not None or self.is_strong(item) or self._is_near(item.vector_score)

    def _has_strong_words(self, item: Ranked) -> bool:
        number = self._ranking.text_numbers.get(int(item.id))
        if number is None:
            return False
        if self._has_words[number]:
            return self._strong_texts[number]
        # The index knows forms of words that texts are not read for. A correction is a guess, except of a short query.
        if self._ranking.candidates.corrections and len(self._terms) > SHORT_QUERY_TERMS:
            return False
        return (item.text_score or 0.0) > STRONG_KEYWORD_SHARE * self._best_keyword_score

    def _is_near(self, cosine: float | None) -> bool:
        if cosine is None or cosine < MIN_COSINE:
            return False
        if self._is_calibrated:
            return True
        return self._range <= 0 or (cosine - self._lowest) / self._range >= MIN_SCALED_COSINE


def _strong_texts(lines: LineMatches) -> NDArray[np.bool_]:
    """Return (n,) which texts have enough of the query's words, or two telling ones."""
    coverage = lines.coverage(lines.words)
    telling = (lines.words & lines.telling()).sum(axis=1) >= STRONG_WORDS
    strong: NDArray[np.bool_] = (telling & (coverage >= STRONG_WORDS_COVERAGE)) | (
        coverage >= STRONG_COVERAGE
    )
    return strong
