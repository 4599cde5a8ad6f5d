"""Candidates of a query in a snapshot: by keywords, by vectors, and by the days it names.

The only module that runs both searches. If a core is free, the keyword statement runs in a second thread while this one
compares vectors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter

from msgspec import Struct, field

from memd.index.copies import find_distinct
from memd.index.days import find_dated, find_newest
from memd.index.keyword import Scope, find_literal
from memd.index.matches import Matches, MatchRow, MatchStatement, match_statement, read_matches
from memd.index.snapshot import Database, Snapshot
from memd.search.query import Query
from memd.text.query.exact import has_signs

MAX_CANDIDATES = 100
"""Candidates per search. Independent of `max_results`, so that the first k of k+1 results are the k results."""

MAX_RESUMED = 4
"""Chunks at the end of the newest conversation that a query without a subject finds."""

PART_WEIGHT = 0.9
"""Weight of the best match of a part of a query next to the best match of the whole."""

MAX_CHUNKS_SCANNED = 50_000
"""Chunks up to which all texts are scanned for an exact term of signs."""


class LinkedLine(Struct, frozen=True):
    """A line that a name in another line leads to: its chunk, its start and end there, its text."""

    chunk: int
    start: int
    end: int
    text: str


class Candidates(Struct, frozen=True):
    """The chunks retrieved for a query.

    Attributes:
        by_keyword: Negated BM25 by chunk id.
        by_vector: Cosine by chunk id.
        of_days: Chunks of notes from days that the query names.
        corrections: Corrected spellings of terms that no text has.
        with_all_terms: Chunks that have all terms of the query; None if unknown.
        linked: Lines to which names in the best line lead, if the query nests relations.
        keyword_ms, vector_ms: Durations of both searches.
    """

    by_keyword: dict[int, float] = field(default_factory=dict)
    by_vector: dict[int, float] = field(default_factory=dict)
    of_days: frozenset[int] = frozenset()
    corrections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    with_all_terms: frozenset[int] | None = None
    linked: tuple[LinkedLine, ...] = ()
    keyword_ms: float = 0.0
    vector_ms: float = 0.0

    def nearest(self, most: int) -> list[int]:
        """Return the nearest chunks, the nearest first."""
        scores = self.by_vector
        return sorted(scores, key=lambda key: (-scores[key], key))[:most]


def uses_vectors(snapshot: Snapshot, query: Query) -> bool:
    return snapshot.vectors is not None and query.vector is not None


def uses_keywords(snapshot: Snapshot, query: Query) -> bool:
    """Return whether keyword search runs: always unless hybrid search is off and there are vectors."""
    return query.settings.hybrid.enabled or not uses_vectors(snapshot, query)


def retrieve(snapshot: Snapshot, query: Query) -> Candidates:
    """Return the candidates of a query (blocking); of one without a subject, the end of the newest conversation."""
    if query.is_resumption:
        last = find_newest(snapshot.db, MAX_RESUMED, query.limits.scope)
        return Candidates({key: 1 / place for place, key in enumerate(last, 1)}, of_days=frozenset(last))
    keywords = _KeywordSearch(snapshot, query) if uses_keywords(snapshot, query) else None
    with_vectors = uses_vectors(snapshot, query)
    by_vector: dict[int, float] = {}
    started = perf_counter()
    vector_ms = 0.0
    if with_vectors and keywords is not None and keywords.statements and snapshot.second_reader is not None:
        with snapshot.second_reader.read_parallel(snapshot.db, keywords.run) as parallel:
            by_vector = _nearest_chunks(snapshot, query)
            vector_ms = (perf_counter() - started) * 1000
            matched = parallel.result()
    else:
        matched = keywords.run(snapshot.db) if keywords is not None else ([], 0.0)
        if with_vectors:
            started = perf_counter()
            by_vector = _nearest_chunks(snapshot, query)
            vector_ms = (perf_counter() - started) * 1000
    found = keywords.read(*matched) if keywords is not None else Candidates()
    return Candidates(
        by_keyword=found.by_keyword,
        by_vector=by_vector,
        of_days=_chunks_of_days(snapshot, query),
        corrections=found.corrections,
        with_all_terms=found.with_all_terms,
        keyword_ms=found.keyword_ms,
        vector_ms=vector_ms,
    )


class _KeywordSearch:
    """Keyword search: its FTS5 statements, and their results as candidates."""

    def __init__(self, snapshot: Snapshot, query: Query) -> None:
        started = perf_counter()
        self._snapshot = snapshot
        self._query = query
        plan = query.plan
        self.corrections = snapshot.correct(plan.terms)
        phrases = [plan.any] if plan.any is not None else []
        phrases += [f'"{near}"' for words in self.corrections.values() for near in words]
        self._any_of = " OR ".join(phrases) or plan.strict
        self.statements = self._make_statements()
        self._prepared_ms = (perf_counter() - started) * 1000

    def _make_statements(self) -> list[MatchStatement]:
        """Return one statement per scope."""
        if self._any_of is None:
            return []
        wanted = (self._any_of, self._query.plan.strict, MAX_CANDIDATES)
        return [match_statement(self._snapshot.db, *wanted, scope) for scope in self._query.limits.scopes]

    def run(self, db: Database) -> tuple[list[MatchRow], float]:
        """Run the statements in any thread; return their rows and the milliseconds."""
        started = perf_counter()
        return [each.run(db) for each in self.statements], (perf_counter() - started) * 1000

    def read(self, rows: Sequence[MatchRow], took_ms: float) -> Candidates:
        """Return matches of any term and of all terms, by negated BM25.

        A chunk found by both keeps the better score.
        """
        started = perf_counter()
        matches = [read_matches(row) for row in rows]
        if any(each.generation != self._snapshot.generation for each in matches):
            # The second thread read a later commit than this snapshot.
            matches = [read_matches(row) for row in self.run(self._snapshot.db)[0]]
        scores: dict[int, float] = {}
        with_all: frozenset[int] | None = None
        for scope, found in zip(self._query.limits.scopes, matches, strict=False):
            some, every = self._distinct(scope, found)
            if every is not None and scope == self._query.limits.scope and len(found.by_all) < MAX_CANDIDATES:
                with_all = frozenset(key for key, _ in found.by_all)
            for key, score in every or ():
                some[key] = max(some.get(key, 0.0), score)
            scores |= some
        self._add_parts(scores)
        self._add_literals(scores)
        spent_ms = self._prepared_ms + took_ms + (perf_counter() - started) * 1000
        return Candidates(scores, corrections=self.corrections, with_all_terms=with_all, keyword_ms=spent_ms)

    def _distinct(
        self, scope: Scope | None, found: Matches
    ) -> tuple[dict[int, float], list[tuple[int, float]] | None]:
        """Return the distinct matches of any term, and of all terms; None if the first include those."""
        db, all_of = self._snapshot.db, self._query.plan.strict
        assert self._any_of is not None
        some = dict(find_distinct(db, self._any_of, MAX_CANDIDATES, scope, found.by_any))
        if (
            all_of is None or len(some) < MAX_CANDIDATES
        ):  # matches of all terms are among those of any, unless these were cut off
            return some, None
        return some, find_distinct(db, all_of, MAX_CANDIDATES, scope, found.by_all)

    def _add_parts(self, scores: dict[int, float]) -> None:
        """Add the matches of each subject that the query joins, apart from the others: the best of each come first."""
        best = max(scores.values(), default=0.0)
        db, scope = self._snapshot.db, self._query.limits.scope
        for part in self._query.parts:
            found = find_distinct(db, part, MAX_CANDIDATES, scope)
            most = max((score for _, score in found), default=0.0)
            for key, score in found if most > 0 else ():
                scores[key] = max(scores.get(key, 0.0), PART_WEIGHT * best * score / most)

    def _add_literals(self, scores: dict[int, float]) -> None:
        """Add chunks with an exact term of signs if no candidate has it: FTS5 does not index signs.

        It scans all texts, so only such terms are searched this way.
        """
        db, scope, text = self._snapshot.db, self._query.limits.scope, self._query.text
        whole = " ".join(text.split())
        # The whole query comes last: a name in it is more likely to occur.
        wanted = sorted(filter(has_signs, self._query.exact_terms), key=lambda term: term == whole)
        if not wanted or self._snapshot.chunk_count > MAX_CHUNKS_SCANNED:
            return
        if not find_literal(db, wanted[0], list(scores), scope):
            best = max(scores.values(), default=1.0)
            scores |= dict.fromkeys(find_literal(db, wanted[0], None, scope, MAX_CANDIDATES), best)


def _nearest_chunks(snapshot: Snapshot, query: Query) -> dict[int, float]:
    """Return the chunks nearest to the query's vector with their cosines."""
    assert snapshot.vectors is not None
    assert query.vector is not None
    db, space_id, scope = snapshot.db, query.vector.space_id, query.limits.scope
    shifted = snapshot.without_language(space_id, query.vector.model, query.vector.values)
    nearest: dict[int, float] = {}
    for each in query.limits.scopes:
        nearest |= dict(snapshot.vectors.nearest(db, space_id, shifted.values, MAX_CANDIDATES, each))
    found = snapshot.chunks_of_vectors(space_id, nearest, scope)
    return {chunk_id: shifted.cosine_of(nearest[vector_id]) for vector_id, chunk_id in found}


def _chunks_of_days(snapshot: Snapshot, query: Query) -> frozenset[int]:
    """Return chunks of notes from the days a query names, the newest notes first if there are too many."""
    found: set[int] = set()
    for span in query.days:
        found |= set(find_dated(snapshot.db, span.first, span.last, MAX_CANDIDATES, query.limits.scope))
    return frozenset(found)
