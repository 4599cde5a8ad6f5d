"""One search of one snapshot: retrieve candidates, rank them, judge their relevance, build hits."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from msgspec import Struct, field

from memd.index.snapshot import Snapshot
from memd.search.hops import follow_names
from memd.search.line_check import LineCheck
from memd.search.query import Query
from memd.search.rank.order import rank
from memd.search.relevance import judge_relevance
from memd.search.retrieve import retrieve, uses_keywords, uses_vectors
from memd.search.snippets import build_hits
from memd.system.cancellation import check_cancelled
from memd_client.messages import Hit


class SearchResult(Struct, frozen=True):
    """The result of one search.

    Attributes:
        hits: Best first.
        mode: `hybrid`, `keyword` or `vector`.
        generation: Generation of the index.
        line_check: Lines to compare before the hits count as relevant, or None.
        timings: Milliseconds by phase of the search.
    """

    hits: list[Hit]
    mode: str
    generation: int
    line_check: LineCheck | None = None
    timings: dict[str, float] = field(default_factory=dict)

    @property
    def abstained(self) -> bool:
        """Whether nothing relevant was found."""
        return not self.hits


def find(snapshot: Snapshot, query: Query, *, is_current: Callable[[Hit], bool]) -> SearchResult:
    """Return the hits of a query in one snapshot (blocking).

    Args:
        snapshot: The index at one generation.
        query: The parsed query.
        is_current: Returns whether a hit's text is still on disk; stale hits are replaced by other candidates.
    """
    candidates = follow_names(snapshot, query, retrieve(snapshot, query))
    check_cancelled()
    started = perf_counter()
    ranking = rank(snapshot, query, candidates)
    check_cancelled()
    verdict = judge_relevance(snapshot, query, ranking)
    hits = build_hits(snapshot, query, ranking, is_current) if verdict.is_relevant else []
    timings = {
        "keyword_ms": candidates.keyword_ms,
        "vector_ms": candidates.vector_ms,
        "ranking_ms": (perf_counter() - started) * 1000,
    }
    mode = "keyword"
    if uses_vectors(snapshot, query):
        mode = "hybrid" if uses_keywords(snapshot, query) else "vector"
    return SearchResult(hits, mode, snapshot.generation, verdict.line_check if hits else None, timings)
