"""Status of an open agent: counts, pending work, and problems with their hints."""

from __future__ import annotations

from typing import NamedTuple

import trio
from msgspec.structs import replace

from memd.agents.open_agent import OpenAgent
from memd.agents.source_status import describe_sources
from memd.index.cache import RefusedChunk, load_refused
from memd.index.connection import Database
from memd.index.files import IndexCounts, count_all, generation
from memd.index.keyword import find_keyword
from memd.index.origins import find_outside
from memd.index.transcripts import SourceCounts, TranscriptCounts, count_by_source, count_transcripts
from memd.programs.catalog import OPENCLAW_SOURCE
from memd.settings.agents import AgentConfig
from memd.sources.source import Listing
from memd.system.units import count, span
from memd.vector_search.agent_vectors import VectorSearchManager
from memd_client.errors import MemdError
from memd_client.messages import (
    AgentStatus,
    Check,
    Problem,
    RejectedText,
    SessionsStatus,
)

PROBE_TIMEOUT_S = 10.0
"""How long a deep status waits for the provider: long enough to load a model."""


MAX_REFUSED_SHOWN = 100
"""Most refused chunks in a status."""


def as_problem(error: MemdError) -> Problem:
    """Return an error as a status row."""
    return Problem(error.wire_code, error.message, error.hint)


class _Looked(NamedTuple):
    """What the index says about itself."""

    counts: IndexCounts
    generation: int
    transcripts: TranscriptCounts
    by_source: dict[str, SourceCounts]
    refused: list[RefusedChunk]
    outside: int


async def describe_agent(config: AgentConfig, opened: OpenAgent, now_ms: int, *, deep: bool) -> AgentStatus:
    """Return one agent's status; `deep` tests each part."""
    text, vectors = opened.text, opened.vector_search
    target = vectors.target

    def look(db: Database) -> _Looked:
        refused = load_refused(db, target.space.id, MAX_REFUSED_SHOWN) if target is not None else []
        by_source = count_by_source(db) if config.sources else {}
        outside = len(find_outside(db))
        return _Looked(count_all(db), generation(db), count_transcripts(db), by_source, refused, outside)

    # In this order, a file indexed in between is both pending and counted, never neither.
    disk, changes = await text.scan_in_thread()
    counts, at, transcripts, by_source, refused, outside = await opened.index_file.read(look)
    watch = opened.watcher.state(config.id)
    pending = text.pending(changes, vectors.chunks_pending, vectors.oldest_pending_ms, now_ms)
    fill = vectors.fill
    status = AgentStatus(
        agent=config.id,
        workspace=str(config.workspace),
        index_path=str(opened.index_file.path),
        enabled=config.settings.enabled,
        sources=[*config.settings.sources, *(each.name for each in config.sources)],
        files=counts.files,
        chunks=counts.chunks,
        vectors=opened.vector_cache.count,
        files_pending=pending.files,
        chunks_pending=pending.chunks,
        oldest_pending_ms=pending.oldest_ms,
        last_sync_ms=text.last_sync_ms,
        syncing=text.syncing,
        watch=watch.mode,
        watch_reason=watch.reason,
        interval_minutes=config.settings.sync.interval_minutes,
        sessions=_sessions(opened, transcripts),
        added=describe_sources(config, opened, by_source),
        generation=at,
        index_bytes=opened.index_file.size_bytes(),
        degraded=vectors.degraded(),
        skipped=text.excluded(disk),
        problems=_problems(config, opened, disk),
        filling=vectors.filling(),
        waits_for="mains power" if fill is not None and fill.rests else "",
        fallback=vectors.fallback,
        jobs=fill.bulk.status() if fill is not None and fill.bulk is not None else [],
        outside=outside,
        rejected=[RejectedText(row.path, row.start_line, row.end_line, row.reason) for row in refused],
        checks=await probe(config, opened, disk) if deep else [],
    )
    return _with_provider(status, opened)


def _with_provider(status: AgentStatus, opened: OpenAgent) -> AgentStatus:
    """Return a status with the provider whose vectors answer, and the vector search in use."""
    answering = opened.vector_search.answering
    if answering is None:
        return replace(status, vector_path_reason="no embedding provider")
    choice = opened.vector_cache.choice()
    return replace(
        status,
        provider=answering.space.provider,
        model=answering.space.model,
        dims=opened.vector_cache.dims,
        space=answering.space.id,
        vector_path=choice.search.name,
        vector_path_reason=choice.reason,
    )


def _sessions(opened: OpenAgent, counts: TranscriptCounts) -> SessionsStatus | None:
    """Return the status of an agent's transcripts; None if they aren't indexed."""
    seen = opened.sources.listings.get(OPENCLAW_SOURCE)
    if seen is None:
        return None
    return SessionsStatus(
        counts.transcripts, counts.messages, counts.redactions, dict(seen.stores), dict(seen.excluded)
    )


def _problems(config: AgentConfig, opened: OpenAgent, disk: Listing) -> list[Problem]:
    """Return an agent's problems, each with its hint."""
    vectors = opened.vector_search
    problems = [as_problem(error) for error in config.problems]
    if vectors.problem is not None and vectors.primary is None:
        problems.append(as_problem(vectors.problem))
    if vectors.fallback_problem is not None:
        error = vectors.fallback_problem
        message = f"fallback provider {config.settings.fallback} is unavailable: {error.message}"
        problems.append(Problem(error.wire_code, message, error.hint))
    problems.extend(
        Problem(
            "openclaw_database",
            notice,
            "no action needed: vectors that could not be reused are computed again",
        )
        for notice in vectors.notices
    )
    if (seen := opened.sources.listings.get(OPENCLAW_SOURCE)) is not None:
        problems.extend(seen.problems)
    if disk.beyond_limits:
        problems.append(
            Problem(
                "memory_beyond_limits",
                f"{disk.beyond_limits:,} files exceed the limits of one agent; the oldest are not indexed",
                "narrow `extraPaths`, or raise `max_agent_files` and `max_agent_mb` in memd.toml",
            )
        )
    if disk.is_missing and not config.sources:  # an agent may have nothing but sources
        problems.append(
            Problem(
                "workspace_missing",
                f"workspace {config.workspace} does not exist",
                "create it, or correct the agent's `workspace` in the settings",
            )
        )
    if opened.index_file.fault is not None:
        problems.append(as_problem(opened.index_file.fault))
    if opened.index_file.quarantined is not None:
        problems.append(
            Problem(
                "index_corrupt",
                f"the index was damaged and rebuilt; the damaged file is kept as {opened.index_file.quarantined.name}",
                "delete the damaged file when you don't need it: the new index is built from your Markdown",
            )
        )
    return problems


async def probe(config: AgentConfig, opened: OpenAgent, disk: Listing) -> list[Check]:
    """Test each part of an open agent and return the results."""
    return [
        await _probe_embedding(opened.vector_search),
        await _probe_keyword(opened),
        await _probe_vectors(opened),
        _probe_files(config, disk),
    ]


async def _probe_embedding(vectors: VectorSearchManager) -> Check:
    target = vectors.target
    if target is None:
        problem = vectors.problem
        return Check(
            "embeddings",
            problem is None,
            problem.message if problem is not None else "disabled in the settings",
        )
    started = trio.current_time()
    try:
        with trio.fail_after(PROBE_TIMEOUT_S):
            vector = await target.provider.embed_query("probe")
    except trio.TooSlowError:
        return Check("embeddings", False, f"no vector within {PROBE_TIMEOUT_S:.0f} s")
    except MemdError as error:
        return Check("embeddings", False, error.message)
    took_ms = (trio.current_time() - started) * 1000
    return Check(
        "embeddings",
        True,
        f"{target.provider.id}/{target.provider.model}, {vector.shape[0]} dimensions, {span(took_ms)}",
    )


async def _probe_keyword(opened: OpenAgent) -> Check:
    def look(db: Database) -> int:
        find_keyword(db, '"probe"', 1, None)
        return count_all(db).chunks

    try:
        chunks = await opened.index_file.read(look)
    except MemdError as error:
        return Check("keyword index", False, error.message)
    return Check("keyword index", True, count(chunks, "chunk"))


async def _probe_vectors(opened: OpenAgent) -> Check:
    answering = opened.vector_search.answering
    if answering is None or opened.vector_cache.count == 0:
        return Check("vectors", answering is None, "none yet")
    choice = opened.vector_cache.choice()
    return Check("vectors", True, f"{opened.vector_cache.count:,} by {choice.search.name}: {choice.reason}")


def _probe_files(config: AgentConfig, disk: Listing) -> Check:
    if disk.is_missing and not config.sources:  # an agent may have nothing but sources
        return Check("files", False, f"{config.workspace} does not exist")
    return Check("files", True, f"{len(disk.files)} memory files readable, {len(disk.skipped)} skipped")
