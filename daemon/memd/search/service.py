"""One search request from its parameters to its reply.

Embed the query unless its vector is cached, check the disk, catch up, search one snapshot, compare lines if relevance
is in doubt, reply. If a part fails, keywords still answer and the reply reports what is missing.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import TypeVar

import trio
from msgspec import Struct
from msgspec.structs import replace

from memd.index.connection import Database, IndexFile
from memd.index.keyword import Scope
from memd.index.meta import generation as index_generation
from memd.index.snapshot import take_snapshot
from memd.index.work import WorkScope
from memd.programs.catalog import OPENCLAW_SOURCE
from memd.search.currency import HitCurrency
from memd.search.find import SearchResult, find
from memd.search.freshness import DiskView, FreshnessCheck
from memd.search.line_check import LineRelevance
from memd.search.query import QueryVector, SearchLimits, parse_query
from memd.search.work import search_work
from memd.settings.agents import AgentConfig
from memd.settings.schema import DaemonSettings
from memd.sync.search_scheduler import SearchScheduler
from memd.sync.text.text_sync import TextSync
from memd.system.clock import Clock
from memd.text.query.since import parse_since, parse_until
from memd.text.trust.origins import mask_of
from memd.vector_search.active_provider import ActiveProvider
from memd.vector_search.agent_vectors import VectorSearchManager
from memd_client.errors import (
    BadParamsError,
    DeadlineExceededError,
    MemdError,
    QueryEmptyError,
    ShuttingDownError,
)
from memd_client.messages import Degradation, Hit, SearchParams, SearchReply

DEADLINE_SLACK_S = 0.2
"""How long after its deadline a search is cancelled; its waits keep to the deadline, the rest is processor time."""

UNINDEXED_WAIT_S = 10.0
"""Catch-up time of a search without a deadline and without a strong hit: a third of what clients wait for a reply."""

MAX_RESULTS_WITHIN_BUDGET = 60
"""Most hits of a search that limits their characters alone."""

A = TypeVar("A")
B = TypeVar("B")


class _EmbeddedQuery(Struct, frozen=True):
    """The provider and vector of a query, if any, and why they are degraded."""

    provider: ActiveProvider | None = None
    vector: QueryVector | None = None
    degraded: Degradation | None = None


class _Request(Struct, frozen=True):
    """One search request."""

    params: SearchParams
    limits: SearchLimits
    embedded: _EmbeddedQuery


class SearchService:
    """Answers the searches of one agent."""

    def __init__(
        self,
        config: AgentConfig,
        index: IndexFile,
        vectors: VectorSearchManager,
        text: TextSync,
        *,
        daemon: DaemonSettings,
        clock: Clock,
        scheduler: SearchScheduler,
    ) -> None:
        self._config = config
        self._index = index
        self._vectors = vectors
        self._cache = vectors.vector_cache
        self._text = text
        self._daemon = daemon
        self._clock = clock
        self._started_ms = clock()
        self._scheduler = scheduler
        self._freshness = FreshnessCheck(config, text, vectors, lambda: daemon.catch_up_ms / 1000)
        self._lines = LineRelevance()
        self._currency = HitCurrency(index, is_enabled=config.settings.query.currency)
        self._conversations = {
            each.name: each.program for each in config.sources if each.kind == "transcripts"
        }
        if OPENCLAW_SOURCE in config.settings.sources:
            self._conversations[OPENCLAW_SOURCE] = ""
        self._notes = ("memory", *(each.name for each in config.sources if each.kind == "notes"))
        self._searched: tuple[str, ...] | None = None  # everything
        if config.settings.searched_sources is not None:
            self._searched = tuple(
                name for name in (*self._notes, *self._conversations) if name != OPENCLAW_SOURCE
            )

    async def search(self, params: SearchParams) -> SearchReply:
        """Return the hits of a query from what is on disk now."""
        if not params.query.strip():
            raise QueryEmptyError("the query is empty")
        started, arrived_at, deadline_ms = trio.current_time(), perf_counter(), params.deadline_ms
        budget_s = math.inf if deadline_ms is None else max(0.01, deadline_ms / 1000)
        if params.kinds is not None and "work" in params.kinds:
            return await self._search_work(params, started)
        with trio.move_on_after(budget_s + DEADLINE_SLACK_S), self._scheduler.searching():
            limits = self._limits(params, await self._transcript_of(params))
            look = partial(self._look, arrived_at, budget_s, with_vectors=not params.lexical_only)
            known = self._known_vector(params)
            if known is not None:
                embedded, view = known, await look()
            else:
                embedded, view = await _both(partial(self._embed, params.query, budget_s), look)
            request = _Request(params, limits, embedded)
            result, seen = await self._find_fresh(request, view, budget_s)
            if (
                known is not None
                and not _is_sure(result)
                and await self._first_vectors(known, started + budget_s / 2)
            ):
                embedded = self._known_vector(params) or await self._embed(params.query, budget_s)
                result, seen = await self._find_fresh(replace(request, embedded=embedded), seen, budget_s)
            is_relevant = await self._is_relevant(result, embedded, started + budget_s)
            hits = result.hits[: limits.max_results] if is_relevant else []
            hits = await self._currency.add_verdicts(hits, seen, params.max_chars)
            return self._reply(params, embedded, seen, result, hits, started)
        raise DeadlineExceededError(f"search did not finish within {deadline_ms} ms")

    async def _search_work(self, params: SearchParams, started: float) -> SearchReply:
        """Return hits in work alone, from what is on disk now."""
        if len(params.kinds or ()) > 1:
            raise BadParamsError(
                "search: work is searched alone", hint="search twice: for work, and for everything else"
            )
        budget_s = UNINDEXED_WAIT_S if params.deadline_ms is None else params.deadline_ms / 1000
        with trio.move_on_after(budget_s + DEADLINE_SLACK_S), self._scheduler.searching():
            view = await self._look(perf_counter(), budget_s, with_vectors=False)
            programs = {
                name: program
                for name, program in self._conversations.items()
                if params.sources is None or name in params.sources
            }
            scope = WorkScope(
                sources=tuple("" if name == OPENCLAW_SOURCE else name for name in programs),
                project=params.project,
                except_session=params.exclude_session,
                since_ms=None if params.since is None else parse_since(params.since, self._clock()),
                until_ms=None if params.until is None else parse_until(params.until, self._clock()),
            )
            most = params.max_results or self._config.settings.query.max_results
            find = partial(search_work, query=params.query, most=most, scope=scope, programs=programs)
            async with self._scheduler.slot(self._index):
                generation, hits = await self._index.read(lambda db: (index_generation(db), find(db)))
            if params.origins is not None:
                hits = [hit for hit in hits if hit.origin in params.origins]
            hits = await self._currency.add_verdicts(hits, view, params.max_chars)
            result = SearchResult(hits, "keyword", generation)
            return self._reply(params, _EmbeddedQuery(), view, result, hits, started)
        raise DeadlineExceededError(f"search did not finish within {params.deadline_ms} ms")

    async def _find_fresh(
        self, wanted: _Request, view: DiskView, budget_s: float
    ) -> tuple[SearchResult, DiskView]:
        """Return the result of a search; without a deadline and a strong hit, of one that waited for more files."""
        result = await self._find(wanted, view)
        if view.is_partial and budget_s == math.inf and not _is_sure(result):
            view = await self._catch_up(view, UNINDEXED_WAIT_S, with_vectors=False)
            result = await self._find(wanted, view)
        return result, view

    async def _first_vectors(self, known: _EmbeddedQuery, until: float) -> bool:
        """Wait for the first vectors of a small memory, which a search lacked; return whether there are some."""
        if known.provider is None or known.vector is not None:
            return False
        with self._scheduler.waiting():
            await self._freshness.wait_for_first_vectors(until)
        return self._cache.count > 0

    async def _transcript_of(self, params: SearchParams) -> str | None:
        """Return the transcript of the session to exclude; None excludes nothing."""
        key, sources = params.exclude_session, self._config.settings.sources
        if not key or OPENCLAW_SOURCE not in (params.sources or sources) or OPENCLAW_SOURCE not in sources:
            return None
        with suppress(MemdError):  # the search meets the same error
            return await self._index.read(lambda _: self._text.sources.find_session(key))
        return None

    def _limits(self, params: SearchParams, excluded: str | None) -> SearchLimits:
        """Return the limits of a request, with settings as defaults."""
        settings = self._config.settings
        sources = tuple(params.sources) if params.sources is not None else self._searched
        if params.kinds is not None:
            of_kind = {"notes": self._notes, "conversations": tuple(self._conversations)}
            sources = tuple(
                name for kind in params.kinds for name in of_kind[kind] if sources is None or name in sources
            )
        since_ms = None if params.since is None else parse_since(params.since, self._clock())
        scope = Scope(
            sources,
            params.path,
            excluded,
            params.exclude_session if any(self._conversations.values()) else None,
            params.project,
            since_ms,
            None if params.until is None else parse_until(params.until, self._clock()),
            None if params.origins is None else mask_of(params.origins),
        )
        notes = tuple(name for name in self._notes if sources is None or name in sources)
        has_conversations = any(sources is None or name in sources for name in self._conversations)
        most = settings.query.max_results if params.max_chars is None else MAX_RESULTS_WITHIN_BUDGET
        if params.max_results is not None:
            most = max(1, params.max_results)
        return SearchLimits(
            max_results=most,
            min_score=params.min_score,
            scope=scope if scope != Scope() else None,
            notes_scope=replace(scope, sources=notes) if has_conversations and notes else None,
            active_projects=tuple(params.active_projects or ()),
            explain=params.explain,
            max_chars=params.max_chars,
            include_weak=params.include_weak or (params.min_score is not None and params.min_score <= 0),
            conversations=self._conversations,
            limit_weak=params.limit_weak,
        )

    def _known_vector(self, params: SearchParams) -> _EmbeddedQuery | None:
        """Return the query's vector if there is nothing to wait for: it is cached or not needed."""
        provider = self._vectors.answering
        if params.lexical_only:  # requested, so nothing is missing
            return _EmbeddedQuery()
        if provider is None:
            is_missing = not self._vectors.is_keyword_only
            return _EmbeddedQuery(degraded=self._vectors.degraded() if is_missing else None)
        if not self._cache.count:
            return _EmbeddedQuery(
                provider, degraded=self._pending_vectors(provider) or self._vectors.degraded()
            )
        vector = self._vectors.find_vector(provider, params.query)
        if vector is None:
            return None
        return _EmbeddedQuery(provider, QueryVector(vector, provider.space.id, provider.space.model))

    def _pending_vectors(self, provider: ActiveProvider) -> Degradation | None:
        """Return a degradation while vectors are being computed, else None."""
        pending = self._vectors.chunks_pending
        if not pending or provider.health.degraded is not None:
            return None
        return Degradation(
            "vectors_pending",
            f"computing vectors ({pending:,} texts left)",
            self._started_ms,
            "no action needed: vector search starts automatically",
        )

    async def _embed(self, query: str, budget_s: float) -> _EmbeddedQuery:
        """Embed a query while loading the agent's vectors; without a vector the search uses keywords."""
        async with trio.open_nursery() as nursery:
            if self._cache.is_cold:
                self._cache.searcher()  # frees RAM within the budget
                nursery.start_soon(self._load_vectors)
            timeout_s = min(self._daemon.query_embed_timeout_ms / 1000, budget_s * 0.8)
            provider = self._vectors.answering
            while provider is not None:
                try:
                    vector = await self._vectors.vector_of(provider, query, timeout_s)
                    return _EmbeddedQuery(
                        provider, QueryVector(vector, provider.space.id, provider.space.model)
                    )
                except ShuttingDownError as error:
                    successor = self._vectors.answering
                    if successor is None or successor is provider:
                        return _EmbeddedQuery(provider, degraded=self._degraded_by(error))
                    provider = successor  # the answering space has just changed
                except MemdError as error:
                    degraded = provider.health.degraded or self._degraded_by(error)
                    return _EmbeddedQuery(provider, degraded=degraded)
        return _EmbeddedQuery(degraded=self._vectors.degraded())

    async def _load_vectors(self) -> None:
        """Load the vectors into RAM."""
        with suppress(MemdError):  # the search meets the same error
            await self._index.read(self._cache.warm_up)

    async def _look(self, arrived_at: float, budget_s: float, *, with_vectors: bool) -> DiskView:
        """Return what is on disk, after indexing changed files as far as the time allows."""
        view = await self._freshness.look(arrived_at)
        if view.behind is not None and self._config.settings.sync.on_search:
            view = await self._catch_up(view, budget_s, with_vectors=with_vectors)
        return view

    async def _catch_up(self, view: DiskView, budget_s: float, *, with_vectors: bool) -> DiskView:
        """Index changed files; indexing does not yield to this search meanwhile."""
        with self._scheduler.waiting():
            return await self._freshness.catch_up(view, budget_s, with_vectors=with_vectors)

    async def _find(self, wanted: _Request, view: DiskView) -> SearchResult:
        """Return the result from one snapshot of the index."""

        def find_in(db: Database) -> SearchResult:
            snapshot = take_snapshot(db, self._cache, searcher, second_reader)
            query = parse_query(
                wanted.params.query,
                snapshot.languages(),
                settings=self._config.settings.query,
                limits=wanted.limits,
                now_ms=self._clock(),
                vector=wanted.embedded.vector,
            )
            return find(snapshot, query, is_current=self._freshness.check(view))

        async with self._scheduler.slot(self._index):
            searcher = self._cache.searcher() if wanted.embedded.vector is not None else None
            second_reader = self._index if self._scheduler.has_core_to_spare else None
            return await self._index.read(find_in)

    async def _is_relevant(self, result: SearchResult, embedded: _EmbeddedQuery, until: float) -> bool:
        """Return whether hits are relevant, comparing a few lines if in doubt."""
        check, vector, provider = result.line_check, embedded.vector, embedded.provider
        if check is None or vector is None or provider is None:
            return True
        left_s = until - trio.current_time()
        return await self._lines.is_relevant(check, vector.values, provider.provider, left_s)

    def _reply(
        self,
        params: SearchParams,
        embedded: _EmbeddedQuery,
        view: DiskView,
        result: SearchResult,
        hits: list[Hit],
        started: float,
    ) -> SearchReply:
        """Return the reply: hits, search mode, and what is missing."""
        provider = embedded.provider
        timings = {"scan_ms": view.took_ms, **result.timings}
        return SearchReply(
            agent=self._config.id,
            hits=hits,
            mode=result.mode,
            degraded=self._degraded_by(view.error) if view.error is not None else embedded.degraded,
            abstained=not hits,
            took_ms=round((trio.current_time() - started) * 1000, 3),
            provider=provider.space.provider if provider is not None else "none",
            model=provider.space.model if provider is not None else "",
            generation=result.generation,
            pending=self._text.pending(
                view.behind, self._vectors.chunks_pending, self._vectors.oldest_pending_ms, self._clock()
            ),
            partial=view.is_partial,
            space=provider.space.id if provider is not None else "",
            filling=None if self._vectors.is_followed else self._vectors.filling(),
            fallback=self._vectors.fallback,
            timings={name: round(ms, 3) for name, ms in timings.items()} if params.explain else None,
        )

    def _degraded_by(self, error: MemdError) -> Degradation:
        """Return the degradation caused by an error."""
        return Degradation(error.code, error.message, self._clock(), error.hint)


def _is_sure(result: SearchResult) -> bool:
    """Return whether a result holds an answer, so that nothing else needs to be awaited."""
    return any(hit.relevance == "strong" for hit in result.hits)


async def _both(first: Callable[[], Awaitable[A]], second: Callable[[], Awaitable[B]]) -> tuple[A, B]:
    """Run two functions concurrently and return both results."""
    results: list[B] = []

    async def run_second() -> None:
        results.append(await second())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_second)
        result = await first()
    return result, results[0]
