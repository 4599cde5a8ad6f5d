"""Whether anything found is relevant: abstain, or answer.

Judged by two figures: the share of the query that one chunk covers (rare terms count more), and the cosine of the query
and what was found. If both leave doubt, a few lines are embedded and compared. The thresholds were fitted on queries
with and without an answer; their error rates are in docs/ranking.md.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import structlog
import trio
from numpy.typing import NDArray

from memd.embedding.provider import EmbeddingProvider
from memd.index.files import load_texts
from memd.index.keyword import count_chunks, count_matches
from memd.index.snapshot import Database, Snapshot
from memd.search.query import Query
from memd.search.rank.order import MIN_COSINE, Ranking
from memd.search.retrieve import Candidates
from memd.system.cancellation import check_cancelled
from memd.text.query.terms import Term
from memd.text.tokens import CJK_CLASS, has_cjk
from memd_client.errors import MemdError

log = structlog.get_logger(__name__)

COVERAGE_ENOUGH = 0.55
"""Coverage from which a chunk is relevant whatever its vector says."""

COSINE_WEIGHT = 1.2
"""Weight of a cosine added to the coverage: that of the nearest chunk, and again that of the nearest line."""

RELEVANCE_THRESHOLD = 1.12
"""Coverage and weighted cosines together from which a hit is relevant."""

LINE_MARGIN = 0.2
"""Excess over the threshold, with the chunk's cosine in place of the line's, above which no line is compared."""

KEYWORD_COVERAGE_ENOUGH = 0.25
"""Coverage that is enough without vectors."""

CJK_COVERAGE_ENOUGH = 0.15
"""The same for scripts without spaces: their terms are pairs of letters, many of which are no words."""

CALIBRATED_MODELS = frozenset({"minilm"})
"""Models whose cosines the thresholds are for. For others only `MIN_COSINE` is known."""

MIN_CHUNKS_FOR_WEIGHTS = 50
"""Chunks an index needs for its terms to be weighed: in a smaller one no term is rare, and any match counts."""

CHUNKS_COMPARED = 3
"""Nearest chunks whose lines are compared one by one."""

MAX_LINES_COMPARED = 8
"""Lines compared at most: each costs some milliseconds once."""

RANKED_CHECKED = 6
"""Best candidates whose coverage is computed, besides the best of each side."""

CORRECTED_WEIGHT = 0.5
"""Weight of a term that is in no text and was corrected."""

SHORT_QUERY_TERMS = 2
SHORT_QUERY_CORRECTED_WEIGHT = 0.9
"""In a query of so few terms a corrected term was mistyped, and counts nearly in full."""

LINE_CHECK_S = 0.4
"""How long a search compares lines: eight short ones take some 30 ms, once."""

MAX_CACHED_LINES = 1_000
"""Vectors of lines kept in RAM: 1.5 MB with MiniLM."""

_FOREIGN = re.compile(rf"[{CJK_CLASS}\u0370-\u1fff]")
_HEADING = re.compile(r"\s*#{1,6}\s")


@dataclass(frozen=True, slots=True)
class WeighedTerm:
    """One term of a query, and which of some chunks have it.

    Attributes:
        word: As in the query.
        weight: Its inverse document frequency.
        chunks: In how many chunks it is.
        matching: Which of the given chunks have it.
        corrections: What it was taken for if it is in no text.
    """

    word: str
    weight: float
    chunks: int
    matching: frozenset[int]
    corrections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LineCheck:
    """What is left to decide: the hits are relevant if the query's cosine with one of some lines is `min_cosine`."""

    lines: tuple[str, ...]
    min_cosine: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether anything is relevant; `line_check` is what has to be compared to be sure of a yes."""

    is_relevant: bool = True
    line_check: LineCheck | None = None


def judge(snapshot: Snapshot, query: Query, ranking: Ranking) -> Verdict:
    """Return whether what was found is relevant to the query."""
    candidates, min_score = ranking.candidates, query.limits.min_score
    if not ranking.ids:
        return Verdict(is_relevant=False)
    if ranking.is_certain or (min_score is not None and min_score <= 0):  # 0 asks for anything
        return Verdict()
    best = max(candidates.by_vector.values(), default=0.0)
    is_foreign = _FOREIGN.search(query.text) is not None
    is_small = count_chunks(snapshot.db) < MIN_CHUNKS_FOR_WEIGHTS
    model = query.vector.model if query.vector is not None else ""
    if is_small or (candidates.by_vector and model not in CALIBRATED_MODELS):
        return Verdict(is_relevant=best >= MIN_COSINE or bool(candidates.by_keyword))
    cosine = 0.0 if is_foreign else best
    if 2 * COSINE_WEIGHT * cosine >= RELEVANCE_THRESHOLD + LINE_MARGIN:
        return Verdict()
    covered = _best_coverage(snapshot.db, query, ranking)
    if is_foreign or not candidates.by_vector:
        enough = CJK_COVERAGE_ENOUGH if has_cjk(query.text) else KEYWORD_COVERAGE_ENOUGH
        return Verdict(is_relevant=covered >= enough)
    if (
        covered >= COVERAGE_ENOUGH
        or covered + 2 * COSINE_WEIGHT * cosine >= RELEVANCE_THRESHOLD + LINE_MARGIN
    ):
        return Verdict()
    wanted = (RELEVANCE_THRESHOLD - covered) / COSINE_WEIGHT - cosine
    lines = _nearest_lines(snapshot.db, candidates)
    if wanted > 1 or not lines:
        return Verdict(is_relevant=False)
    return Verdict(line_check=LineCheck(lines, wanted))


def weigh_terms(
    db: Database, query: Query, corrections: Mapping[str, tuple[str, ...]], ids: Sequence[int]
) -> list[WeighedTerm]:
    """Return the terms of a query with their weights, and which of some chunks have them."""
    total = count_chunks(db)
    weighed = []
    for term in _single_words(query.plan.terms):
        check_cancelled()
        chunks, matching = count_matches(db, term.match, ids)
        corrected = corrections.get(term.word, ())
        if not chunks and corrected:
            _, matching = count_matches(db, " OR ".join(f'"{word}"' for word in corrected), ids)
        # Robertson and Sparck Jones' weight, kept positive as in Lucene.
        weight = math.log(1 + (total - chunks + 0.5) / (chunks + 0.5))
        weighed.append(
            WeighedTerm(term.word, weight, chunks, frozenset(matching), () if chunks else corrected)
        )
    return weighed


def coverage(terms: Sequence[WeighedTerm], chunk_id: int) -> float:
    """Return the share of a query that a chunk covers, by the weights of its terms; 0 to 1."""
    whole = sum(term.weight for term in terms)
    is_short = len(terms) <= SHORT_QUERY_TERMS
    corrected = SHORT_QUERY_CORRECTED_WEIGHT if is_short else CORRECTED_WEIGHT
    covered = sum(
        term.weight * (1.0 if term.chunks else corrected) for term in terms if chunk_id in term.matching
    )
    return covered / whole if whole > 0 else 0.0


def _single_words(terms: Sequence[Term]) -> list[Term]:
    """Return the terms that are words: phrases and joined neighbours only repeat them."""
    return [term for term in terms if " " not in term.word.strip()] or list(terms)


def _best_coverage(db: Database, query: Query, ranking: Ranking) -> float:
    """Return the greatest coverage of one candidate."""
    found = ranking.candidates
    by_keyword = sorted(found.by_keyword, key=found.by_keyword.__getitem__, reverse=True)[:CHUNKS_COMPARED]
    by_vector = sorted(found.by_vector, key=found.by_vector.__getitem__, reverse=True)[:CHUNKS_COMPARED]
    checked = list(dict.fromkeys([*ranking.ids[:RANKED_CHECKED], *by_keyword, *by_vector]))
    terms = weigh_terms(db, query, found.corrections, checked)
    return max((coverage(terms, key) for key in checked), default=0.0)


def _nearest_lines(db: Database, candidates: Candidates) -> tuple[str, ...]:
    """Return lines of the chunks nearest to the query, the nearest chunk's first."""
    scores = candidates.by_vector
    nearest = sorted(scores, key=lambda key: (-scores[key], key))[:CHUNKS_COMPARED]
    texts = load_texts(db, nearest)
    lines = [line.strip() for key in nearest for line in texts[key].split("\n")]
    telling = [line for line in lines if line and _HEADING.match(line) is None]
    return tuple(dict.fromkeys(telling))[:MAX_LINES_COMPARED]


class LineRelevance:
    """Compares single lines with queries, in the query's vector space; their vectors are embedded as queries are."""

    def __init__(self) -> None:
        self._vectors: OrderedDict[tuple[str, str], NDArray[np.float32]] = OrderedDict()

    async def is_relevant(
        self, check: LineCheck, query: NDArray[np.float32], provider: EmbeddingProvider, wait_s: float
    ) -> bool:
        """Return whether a line is near enough to the query; True if there is no time or no model to find out."""
        with trio.move_on_after(max(0.0, min(LINE_CHECK_S, wait_s))):
            try:
                for line in check.lines:
                    if float(await self._vector(line, provider) @ query) >= check.min_cosine:
                        return True
            except MemdError as error:
                log.debug("search.lines_not_read", code=error.code)
                return True
            return False
        return True

    async def _vector(self, line: str, provider: EmbeddingProvider) -> NDArray[np.float32]:
        """Return a line's vector, from the cache if it is there."""
        key = (provider.space.id, line)
        vector = self._vectors.get(key)
        if vector is None:
            vector = await provider.embed_query(line)
        self._vectors[key] = vector
        self._vectors.move_to_end(key)
        while len(self._vectors) > MAX_CACHED_LINES:
            self._vectors.popitem(last=False)
        return vector
