"""Relevance check: answer or abstain.

Two values decide: the share of the query's terms that one chunk covers, weighted by rarity, and the cosine of query and
chunk. If both leave doubt, a few lines are embedded and compared. Error rates of the thresholds are in
benchmarks/NOTES.md.
"""

from __future__ import annotations

import math
import re
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
from memd.search.hit_relevance import SHORT_QUERY_TERMS, is_calibrated, is_foreign
from memd.search.query import Query
from memd.search.rank.order import MIN_COSINE, Ranking
from memd.search.retrieve import Candidates
from memd.system.cancellation import check_cancelled
from memd.system.lru import LruCache
from memd.text.query.names import find_names, has_name
from memd.text.query.terms import Term
from memd.text.tokens import has_cjk
from memd_client.errors import MemdError

log = structlog.get_logger(__name__)

MIN_COVERAGE = 0.55
"""Coverage from which a chunk is relevant regardless of its vector."""

COSINE_WEIGHT = 1.2
"""Weight of a cosine added to the coverage: the nearest chunk's and the nearest line's."""

RELEVANCE_THRESHOLD = 1.12
"""Minimum of coverage plus weighted cosines of a relevant hit."""

LINE_MARGIN = 0.2
"""Margin over the threshold, with the chunk's cosine for the line's, above which no line is compared."""

MIN_KEYWORD_COVERAGE = 0.25
"""Minimum coverage without vectors."""

MIN_CJK_COVERAGE = 0.15
"""Minimum coverage of scripts without spaces: their terms are letter pairs, and many are not words."""

MAX_TELLING_SHARE = 0.02
MIN_TELLING_CHUNKS = 3
TELLING_TERMS = 2
"""A term is telling if at most this share of the chunks, or so few, have it. Two of them in one chunk are enough."""

MIN_CHUNKS_FOR_WEIGHTS = 50
"""Chunks an index needs for term weights: in a smaller one no term is rare, and any match counts."""

MAX_CHUNKS_COMPARED = 3
"""Nearest chunks whose lines are compared."""

MAX_LINES_COMPARED = 8
"""Most lines compared: each is embedded once."""

MAX_RANKED_CHECKED = 6
"""Best candidates whose coverage is calculated, besides the best of each search."""

CORRECTED_WEIGHT = 0.5
"""Weight of a spelling-corrected term."""

SHORT_QUERY_CORRECTED_WEIGHT = 0.9
"""Weight of a corrected term in a query of at most `SHORT_QUERY_TERMS`: it is a typing error."""

LINE_CHECK_TIMEOUT_S = 0.4
"""How long a search may compare lines."""

MAX_CACHED_LINES = 1_000
"""Line vectors kept in RAM."""

_HEADING = re.compile(r"\s*#{1,6}\s")


@dataclass(frozen=True, slots=True)
class WeighedTerm:
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


@dataclass(frozen=True, slots=True)
class WordEvidence:
    """What the words of the best candidates say about relevance.

    Attributes:
        coverage: The greatest coverage of a chunk.
        is_enough: Whether a chunk has two telling terms or a name of the query: then the search never abstains.
    """

    coverage: float
    is_enough: bool


@dataclass(frozen=True, slots=True)
class LineCheck:
    """An open relevance check: hits are relevant if the query's cosine with a line reaches `min_cosine`."""

    lines: tuple[str, ...]
    min_cosine: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the hits are relevant; if `line_check` is set, that check has to confirm it."""

    is_relevant: bool = True
    line_check: LineCheck | None = None


def judge_relevance(snapshot: Snapshot, query: Query, ranking: Ranking) -> Verdict:
    """Return whether the ranking has hits relevant to the query."""
    candidates, min_score = ranking.candidates, query.limits.min_score
    if not ranking.ids:
        return Verdict(is_relevant=False)
    if ranking.is_certain or (min_score is not None and min_score <= 0):  # 0 requests any match
        return Verdict()
    best = max(candidates.by_vector.values(), default=0.0)
    foreign = is_foreign(query.text)
    is_small = count_chunks(snapshot.db) < MIN_CHUNKS_FOR_WEIGHTS
    model = query.vector.model if query.vector is not None else ""
    if is_small or (candidates.by_vector and not is_calibrated(model)):
        return Verdict(is_relevant=best >= MIN_COSINE or bool(candidates.by_keyword))
    cosine = 0.0 if foreign else best
    if 2 * COSINE_WEIGHT * cosine >= RELEVANCE_THRESHOLD + LINE_MARGIN:
        return Verdict()
    evidence = _weigh_evidence(snapshot.db, query, ranking)
    if evidence.is_enough:
        return Verdict()
    covered = evidence.coverage
    if foreign or not candidates.by_vector:
        enough = MIN_CJK_COVERAGE if has_cjk(query.text) else MIN_KEYWORD_COVERAGE
        return Verdict(is_relevant=covered >= enough)
    if covered >= MIN_COVERAGE or covered + 2 * COSINE_WEIGHT * cosine >= RELEVANCE_THRESHOLD + LINE_MARGIN:
        return Verdict()
    wanted = (RELEVANCE_THRESHOLD - covered) / COSINE_WEIGHT - cosine
    lines = _nearest_lines(snapshot.db, candidates)
    if wanted > 1 or not lines:
        return Verdict(is_relevant=False)
    return Verdict(line_check=LineCheck(lines, wanted))


def weigh_terms(
    db: Database, query: Query, corrections: Mapping[str, tuple[str, ...]], ids: Sequence[int]
) -> list[WeighedTerm]:
    """Return the terms of a query with their weights, and which of the given chunks have them."""
    total = count_chunks(db)
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
    is_short = len(terms) <= SHORT_QUERY_TERMS
    corrected = SHORT_QUERY_CORRECTED_WEIGHT if is_short else CORRECTED_WEIGHT
    covered = sum(
        term.weight * (1.0 if term.chunks else corrected) for term in terms if chunk_id in term.matching
    )
    return covered / whole if whole > 0 else 0.0


def _single_words(terms: Sequence[Term]) -> list[Term]:
    """Return the single-word terms: phrases only repeat them."""
    return [term for term in terms if " " not in term.word.strip()] or list(terms)


def _weigh_evidence(db: Database, query: Query, ranking: Ranking) -> WordEvidence:
    """Return what the words of the best candidates say."""
    found = ranking.candidates
    by_keyword = sorted(found.by_keyword, key=found.by_keyword.__getitem__, reverse=True)[
        :MAX_CHUNKS_COMPARED
    ]
    by_vector = sorted(found.by_vector, key=found.by_vector.__getitem__, reverse=True)[:MAX_CHUNKS_COMPARED]
    checked = list(dict.fromkeys([*ranking.ids[:MAX_RANKED_CHECKED], *by_keyword, *by_vector]))
    terms = weigh_terms(db, query, found.corrections, checked)
    most_chunks = max(MIN_TELLING_CHUNKS, MAX_TELLING_SHARE * count_chunks(db))
    telling = [term for term in terms if 0 < term.chunks <= most_chunks]
    names = find_names(query.text)
    return WordEvidence(
        max((coverage(terms, key) for key in checked), default=0.0),
        any(sum(key in term.matching for term in telling) >= TELLING_TERMS for key in checked)
        or any(has_name(text, names) for text in (ranking.texts.load(checked).values() if names else ())),
    )


def _nearest_lines(db: Database, candidates: Candidates) -> tuple[str, ...]:
    """Return lines of the chunks nearest to the query, the nearest chunk's first."""
    scores = candidates.by_vector
    nearest = sorted(scores, key=lambda key: (-scores[key], key))[:MAX_CHUNKS_COMPARED]
    texts = load_texts(db, nearest)
    lines = [line.strip() for key in nearest for line in texts[key].split("\n")]
    telling = [line for line in lines if line and _HEADING.match(line) is None]
    return tuple(dict.fromkeys(telling))[:MAX_LINES_COMPARED]


class LineRelevance:
    """Compares lines with queries in the query's vector space; lines are embedded as queries."""

    def __init__(self) -> None:
        self._vectors: LruCache[tuple[str, str], NDArray[np.float32]] = LruCache(MAX_CACHED_LINES)

    async def is_relevant(
        self, check: LineCheck, query: NDArray[np.float32], provider: EmbeddingProvider, wait_s: float
    ) -> bool:
        """Return whether a line is close enough to the query; True if time or the provider fails."""
        with trio.move_on_after(max(0.0, min(LINE_CHECK_TIMEOUT_S, wait_s))):
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
        """Return a line's vector, cached if possible."""
        key = (provider.space.id, line)
        vector = self._vectors.get(key)
        if vector is None:
            vector = await provider.embed_query(line)
            self._vectors.put(key, vector)
        return vector
