"""Query × snapshot to candidates: by keywords, by vectors, and by the days a query names.

The only place where keyword and vector search meet. If a core is free, the keyword statement runs in a second thread
while vectors are compared here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from memd.index.copies import find_distinct
from memd.index.days import find_dated
from memd.index.files import ChunkRow, chunks_of_vectors
from memd.index.keyword import Scope, count_chunks, holding
from memd.index.matches import Matches, MatchRow, MatchStatement, match_statement, read_matches
from memd.index.snapshot import Database, Snapshot
from memd.search.query import Query
from memd.text.query.exact import is_unfindable

CANDIDATES = 100
"""Candidates of each kind. It never depends on how many results are wanted, so that the first k of k+1 results are the
k results; on the evaluation set 100 find what 400 find, and 50 half a point less."""

MAX_CHUNKS_SCANNED = 50_000
"""Chunks up to which all texts are read for an exact term made of signs."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """The chunks that a query brings up.

    Attributes:
        by_keyword: Negated BM25 by chunk id.
        by_vector: Cosine by chunk id.
        of_days: Chunks of notes of the days the query names.
        corrections: Terms that are in no text, each with the words it was taken for.
        with_all_terms: The chunks that have all terms of the query, or None if that isn't known.
        rows: Chunks that were read on the way, by id.
        keyword_ms, vector_ms: What finding them took.
    """

    by_keyword: dict[int, float] = field(default_factory=dict)
    by_vector: dict[int, float] = field(default_factory=dict)
    of_days: frozenset[int] = frozenset()
    corrections: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    with_all_terms: frozenset[int] | None = None
    rows: Mapping[int, ChunkRow] = field(default_factory=dict)
    keyword_ms: float = 0.0
    vector_ms: float = 0.0


def uses_vectors(snapshot: Snapshot, query: Query) -> bool:
    """Return whether vectors are searched."""
    return snapshot.vectors is not None and query.vector is not None


def uses_keywords(snapshot: Snapshot, query: Query) -> bool:
    """Return whether keywords are searched: they also answer a vector search that has no vectors."""
    return query.settings.hybrid.enabled or not uses_vectors(snapshot, query)


def retrieve(snapshot: Snapshot, query: Query) -> Candidates:
    """Return the candidates of a query (blocking)."""
    keywords = _KeywordSearch(snapshot, query) if uses_keywords(snapshot, query) else None
    with_vectors = uses_vectors(snapshot, query)
    rows: dict[int, ChunkRow] = {}
    by_vector: dict[int, float] = {}
    started = perf_counter()
    vector_ms = 0.0
    if with_vectors and keywords is not None and keywords.statements and snapshot.second_reader is not None:
        with snapshot.second_reader.read_parallel(snapshot.db, keywords.run) as parallel:
            by_vector = _nearest_chunks(snapshot, query, rows)
            vector_ms = (perf_counter() - started) * 1000
            matched = parallel.result()
    else:
        matched = keywords.run(snapshot.db) if keywords is not None else ([], 0.0)
        if with_vectors:
            started = perf_counter()
            by_vector = _nearest_chunks(snapshot, query, rows)
            vector_ms = (perf_counter() - started) * 1000
    found = keywords.read(*matched) if keywords is not None else Candidates()
    return Candidates(
        by_keyword=found.by_keyword,
        by_vector=by_vector,
        of_days=_chunks_of_days(snapshot, query),
        corrections=found.corrections,
        with_all_terms=found.with_all_terms,
        rows={**found.rows, **rows},
        keyword_ms=found.keyword_ms,
        vector_ms=vector_ms,
    )


class _KeywordSearch:
    """The keyword side: what is asked of FTS5, and what its answer means."""

    def __init__(self, snapshot: Snapshot, query: Query) -> None:
        started = perf_counter()
        self._snapshot = snapshot
        self._query = query
        plan = query.plan
        self.corrections = snapshot.correct(plan.terms)
        asked = [plan.any] if plan.any is not None else []
        asked += [f'"{near}"' for words in self.corrections.values() for near in words]
        self._any_of = " OR ".join(asked) or plan.strict
        self.statements = self._make_statements()
        self._prepared_ms = (perf_counter() - started) * 1000

    def _make_statements(self) -> list[MatchStatement]:
        """Return the statement for each scope."""
        if self._any_of is None:
            return []
        with_rows = self._snapshot.locations is None
        wanted = (self._any_of, self._query.plan.strict, CANDIDATES)
        return [
            match_statement(self._snapshot.db, *wanted, scope, with_rows=with_rows)
            for scope in self._query.limits.scopes
        ]

    def run(self, db: Database) -> tuple[list[MatchRow], float]:
        """Run the statements, in whichever thread; return their rows and the milliseconds they took."""
        started = perf_counter()
        return [each.run(db) for each in self.statements], (perf_counter() - started) * 1000

    def read(self, rows: Sequence[MatchRow], took_ms: float) -> Candidates:
        """Return what matches any term, and what matches all of them, by negated BM25.

        A chunk that both bring up keeps the better score; both are on the same scale.
        """
        started = perf_counter()
        matches = [read_matches(row) for row in rows]
        if any(each.generation != self._snapshot.generation for each in matches):
            # The parallel read saw a commit that is not in this snapshot.
            matches = [read_matches(row) for row in self.run(self._snapshot.db)[0]]
        scores: dict[int, float] = {}
        known: dict[int, ChunkRow] = {}
        with_all: frozenset[int] | None = None
        for scope, found in zip(self._query.limits.scopes, matches, strict=False):
            known |= found.rows
            some, every = self._distinct(scope, found, known)
            if every is not None and scope == self._query.limits.scope and len(found.by_all) < CANDIDATES:
                with_all = frozenset(key for key, _ in found.by_all)
            for key, score in every or ():
                some[key] = max(some.get(key, 0.0), score)
            scores |= some
        self._add_literals(scores)
        spent_ms = self._prepared_ms + took_ms + (perf_counter() - started) * 1000
        return Candidates(
            scores, corrections=self.corrections, with_all_terms=with_all, rows=known, keyword_ms=spent_ms
        )

    def _distinct(
        self, scope: Scope | None, found: Matches, rows: Mapping[int, ChunkRow]
    ) -> tuple[dict[int, float], list[tuple[int, float]] | None]:
        """Return the distinct matches of any term, and of all terms; None if the first have those already."""
        db, locations, all_of = self._snapshot.db, self._snapshot.locations, self._query.plan.strict
        assert self._any_of is not None
        some = dict(find_distinct(db, self._any_of, CANDIDATES, scope, rows, found.by_any, locations))
        if all_of is None or len(some) < CANDIDATES:  # what has all terms has any: it's missing only if cut
            return some, None
        return some, find_distinct(db, all_of, CANDIDATES, scope, rows, found.by_all, locations)

    def _add_literals(self, scores: dict[int, float]) -> None:
        """Add chunks that have an exact term made of signs if no candidate does: FTS5 doesn't index signs.

        It reads all texts, some 10 ms at 15,000 chunks, so it is done for such terms alone.
        """
        db, scope, text = self._snapshot.db, self._query.limits.scope, self._query.text
        whole = " ".join(text.split())
        # The query itself comes last: a name in it is likelier to be written down.
        wanted = sorted(filter(is_unfindable, self._query.exact_terms), key=lambda term: term == whole)
        if not wanted or count_chunks(db) > MAX_CHUNKS_SCANNED:
            return
        if not holding(db, wanted[0], list(scores), scope):
            best = max(scores.values(), default=1.0)
            scores |= dict.fromkeys(holding(db, wanted[0], None, scope, CANDIDATES), best)


def _nearest_chunks(snapshot: Snapshot, query: Query, rows: dict[int, ChunkRow]) -> dict[int, float]:
    """Return the chunks nearest to the query's vector by cosine; chunks that are read on the way go to `rows`."""
    assert snapshot.vectors is not None
    assert query.vector is not None
    db, space_id, scope = snapshot.db, query.vector.space_id, query.limits.scope
    nearest: dict[int, float] = {}
    for each in query.limits.scopes:
        nearest |= dict(snapshot.vectors.nearest(db, space_id, query.vector.values, CANDIDATES, each))
    if snapshot.locations is not None and scope is None:
        vector_ids = np.fromiter(nearest, np.int64, len(nearest))
        ids = snapshot.cache.locations.chunks_of(db, snapshot.locations, space_id, vector_ids).tolist()
        scores = dict(zip(ids, nearest.values(), strict=True))
        scores.pop(0, None)  # of a vector no chunk has
        return scores
    found = chunks_of_vectors(db, space_id, list(nearest), scope)
    rows |= {row.id: row for _, row in found}
    return {row.id: nearest[vector_id] for vector_id, row in found}


def _chunks_of_days(snapshot: Snapshot, query: Query) -> frozenset[int]:
    """Return chunks of the notes of the days a query names, those of the newest notes first if they are too many."""
    found: set[int] = set()
    for span in query.days:
        found |= set(find_dated(snapshot.db, span.first, span.last, CANDIDATES, query.limits.scope))
    return frozenset(found)
