"""Relevance: answer or abstain, and whether a hit is strongly or weakly related to the query.

Two values decide whether to answer: the coverage of the best chunk and the closeness of the nearest one. If both leave
doubt, a few lines are embedded and compared (`memd.search.line_check`). All thresholds are in
`memd.search.thresholds`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final

from msgspec import Struct

from memd.index.files import load_texts
from memd.index.keyword import count_matches
from memd.index.snapshot import Database, Snapshot
from memd.search import thresholds
from memd.search.calibration import is_near
from memd.search.confidence import HitConfidence
from memd.search.line_check import LineCheck
from memd.search.query import Query
from memd.search.rank.fusion import Ranked, ids_of
from memd.search.rank.order import Ranking
from memd.search.retrieve import Candidates
from memd.system.cancellation import check_cancelled
from memd.text.query.names import find_names, has_name
from memd.text.query.terms import Term
from memd.text.tokens import has_cjk

MAX_CHUNKS_COMPARED: Final = 3
"""Nearest chunks whose lines are compared."""

MAX_LINES_COMPARED: Final = 8
"""Most lines compared: each is embedded once."""

MAX_RANKED_CHECKED: Final = 6
"""Best candidates whose coverage is calculated, besides the best of each search."""

MAX_EXACT_QUERY_TERMS: Final = 4
"""Most terms of a query in which an exact term is what it asks for: in a longer one, it is one detail of several."""

_HEADING = re.compile(r"\s*#{1,6}\s")


class WeighedTerm(Struct, frozen=True):
    """One term of a query, and the chunks that have it.

    Attributes:
        word: The term in the query.
        weight: Inverse document frequency.
        chunks: How many chunks have it.
        matching: Ids of the given chunks that have it.
        corrections: Corrected spellings, if no text has the term.
    """

    word: str
    weight: float
    chunks: int
    matching: frozenset[int]
    corrections: tuple[str, ...] = ()


class Verdict(Struct, frozen=True):
    """Whether the hits are relevant; if `line_check` is set, that check has to confirm it."""

    is_relevant: bool = True
    line_check: LineCheck | None = None


def judge_relevance(snapshot: Snapshot, query: Query, ranking: Ranking) -> Verdict:
    """Return whether the ranking has hits relevant to the query."""
    candidates, min_score = ranking.candidates, query.limits.min_score
    if not ranking.ranked:
        return Verdict(is_relevant=False)
    if ranking.is_certain or (min_score is not None and min_score <= 0):  # 0 requests any match
        return Verdict()
    best = max(candidates.by_vector.values(), default=-1.0)
    calibration = ranking.signals.calibration
    is_small = snapshot.chunk_count < thresholds.MIN_CHUNKS_FOR_WEIGHTS
    if is_small or (candidates.by_vector and calibration is None):
        return Verdict(is_relevant=bool(candidates.by_keyword) or is_near(calibration, best))
    is_comparable = calibration is not None and bool(candidates.by_vector) and calibration.covers(query.text)
    weight, enough = thresholds.CLOSENESS_WEIGHT, thresholds.RELEVANCE_THRESHOLD
    near = weight * calibration.closeness(best) if calibration is not None and is_comparable else 0.0
    if is_comparable and 2 * near >= enough + thresholds.LINE_MARGIN:
        return Verdict()
    is_far = calibration is None or calibration.closeness(best) < thresholds.TRANSLATED_CLOSENESS
    if ranking.signals.is_translated and not is_far:
        return Verdict()
    covered, is_enough = _weigh_evidence(snapshot, query, ranking)
    if is_enough:
        return Verdict()
    if calibration is None or not is_comparable:
        least = thresholds.MIN_CJK_COVERAGE if has_cjk(query.text) else thresholds.MIN_KEYWORD_COVERAGE
        return Verdict(is_relevant=covered >= least)
    if covered >= thresholds.SUFFICIENT_COVERAGE or covered + 2 * near >= enough + thresholds.LINE_MARGIN:
        return Verdict()
    min_cosine = calibration.cosine((enough - covered - near) / weight)
    lines = _nearest_lines(snapshot.db, candidates)
    if min_cosine > 1 or not lines:
        return Verdict(is_relevant=False)
    return Verdict(line_check=LineCheck(lines, min_cosine))


def weigh_terms(
    snapshot: Snapshot, query: Query, corrections: Mapping[str, tuple[str, ...]], ids: Sequence[int]
) -> list[WeighedTerm]:
    """Return the terms of a query with their weights, and which of the given chunks have them."""
    db, total = snapshot.db, snapshot.chunk_count
    weighed = []
    for term in _single_words(query.plan.terms):
        check_cancelled()
        chunks, matching = count_matches(db, term.match, ids)
        corrected = corrections.get(term.word, ())
        if not chunks and corrected:
            _, matching = count_matches(db, " OR ".join(f'"{word}"' for word in corrected), ids)
        # Robertson-Sparck Jones weight, kept positive as in Lucene.
        weight = math.log(1 + (total - chunks + 0.5) / (chunks + 0.5))
        weighed.append(
            WeighedTerm(term.word, weight, chunks, frozenset(matching), () if chunks else corrected)
        )
    return weighed


def coverage(terms: Sequence[WeighedTerm], chunk_id: int) -> float:
    """Return the share of a query's term weights that a chunk covers, 0 to 1."""
    whole = sum(term.weight for term in terms)
    is_short = len(terms) <= thresholds.SHORT_QUERY_TERMS
    corrected = thresholds.SHORT_QUERY_CORRECTED_WEIGHT if is_short else thresholds.CORRECTED_WEIGHT
    covered = sum(
        term.weight * (1.0 if term.chunks else corrected) for term in terms if chunk_id in term.matching
    )
    return covered / whole if whole > 0 else 0.0


def _single_words(terms: Sequence[Term]) -> list[Term]:
    """Return the single-word terms: phrases only repeat them."""
    return [term for term in terms if " " not in term.word.strip()] or list(terms)


def _weigh_evidence(snapshot: Snapshot, query: Query, ranking: Ranking) -> tuple[float, bool]:
    """Return the greatest coverage of the best candidates, and whether their terms alone are enough.

    They are if a candidate has two distinctive terms or a name of the query.
    """
    candidates = ranking.candidates
    best_of_each = (
        sorted(scores, key=scores.__getitem__, reverse=True)[:MAX_CHUNKS_COMPARED]
        for scores in (candidates.by_keyword, candidates.by_vector)
    )
    checked = list(
        dict.fromkeys([*ids_of(ranking.ranked[:MAX_RANKED_CHECKED]), *chain.from_iterable(best_of_each)])
    )
    terms = weigh_terms(snapshot, query, candidates.corrections, checked)
    most_chunks = max(
        thresholds.MIN_DISTINCTIVE_CHUNKS, thresholds.MAX_DISTINCTIVE_SHARE * snapshot.chunk_count
    )
    distinctive = [term for term in terms if 0 < term.chunks <= most_chunks]
    names = find_names(query.text)
    return (
        max((coverage(terms, key) for key in checked), default=0.0),
        any(
            sum(key in term.matching for term in distinctive) >= thresholds.DISTINCTIVE_TERMS
            for key in checked
        )
        or any(
            has_name(text, names) for text in (ranking.located.rows.texts(checked).values() if names else ())
        ),
    )


def _nearest_lines(db: Database, candidates: Candidates) -> tuple[str, ...]:
    """Return lines of the chunks nearest to the query, the nearest chunk's first."""
    nearest = candidates.nearest(MAX_CHUNKS_COMPARED)
    texts = load_texts(db, nearest)
    lines = [line.strip() for key in nearest for line in texts[key].split("\n")]
    content = [line for line in lines if line and _HEADING.match(line) is None]
    return tuple(dict.fromkeys(content))[:MAX_LINES_COMPARED]


class HitRelevance:
    """Judges the hits of one ranking."""

    def __init__(self, query: Query, ranking: Ranking) -> None:
        self.confidence = HitConfidence(query, ranking)
        self._query, self._signals = query, ranking.signals
        self._lines = ranking.lines
        self._cosines = ranking.candidates.by_vector.values()

    def is_strong(self, item: Ranked) -> bool:
        """Return whether a hit likely holds what the query asks for.

        The end of the conversation that a query resumes does.
        """
        key = int(item.id)
        if self._query.is_resumption:
            return True
        terms = len(self._query.plan.terms)
        is_exact = key in self._signals.exact_matches and terms <= MAX_EXACT_QUERY_TERMS
        is_whole = terms == 1 and self.confidence.has_all_words(key)
        if not (is_exact or is_whole) and self.confidence.probability(item) < thresholds.STRONG_PROBABILITY:
            return False
        return not self._only_asks(key)

    def _only_asks(self, key: int) -> bool:
        """Return whether a hit only asks what the query asks."""
        if self._lines is None or key not in self._lines.numbers:
            return False
        return self._lines.matches.only_asks(self._lines.numbers[key], self._query.text)

    def is_related(self, item: Ranked) -> bool:
        """Return whether a hit has a word of the query or is near it in vector space."""
        signals = self._signals
        is_matched = (
            item.text_score is not None or item.id in signals.exact_matches or item.id in signals.of_days
        )
        return is_matched or self._is_near(item.vector_score)

    def _is_near(self, cosine: float | None) -> bool:
        calibration = self._signals.calibration
        if cosine is None or not (self._signals.is_translated or is_near(calibration, cosine)):
            return False
        if calibration is not None:
            return True
        lowest = min(self._cosines, default=0.0)
        span = max(self._cosines, default=0.0) - lowest
        return span <= 0 or (cosine - lowest) / span >= thresholds.MIN_SCALED_COSINE
