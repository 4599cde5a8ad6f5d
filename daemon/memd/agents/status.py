"""A memory's state for people: counts, what is missing, what is wrong, and the way out of each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

import trio

from memd.embedding.local.runner import RunnerStatus
from memd.index.cache import RefusedChunk, load_refused
from memd.index.connection import Database, IndexFile
from memd.index.files import Counts, count_all, generation
from memd.index.keyword import find_keyword
from memd.index.transcripts import TranscriptCounts, count_transcripts
from memd.index.vectors.cache import VectorCache
from memd.settings.agents import AgentConfig
from memd.sync.disk.discover import Discovery
from memd.sync.sources import Sources
from memd.sync.text.text_sync import TextSync
from memd.sync.watch.watcher import WatchState
from memd.system.clock import Clock
from memd.system.units import count, span
from memd.vector_search.manager import VectorSearchManager
from memd_client.errors import MemdError
from memd_client.messages import (
    AgentStatus,
    BulkJob,
    Check,
    ModelStatus,
    Problem,
    RefusedText,
    SessionsStatus,
)

PROBE_TIMEOUT_S = 10.0
"""How long a deep status waits for the provider: a cold model loads within this."""


REFUSED_SHOWN = 100
"""Refused chunks that are named in a status."""


class Reported(Protocol):
    """The parts of a memory that a report looks at."""

    config: AgentConfig
    index_file: IndexFile
    text: TextSync
    warm: VectorCache
    meaning: VectorSearchManager
    sources: Sources
    clock: Clock
    watch_state: Callable[[], WatchState]


def as_problem(error: MemdError) -> Problem:
    """Return an error as a row of a status."""
    return Problem(error.wire_code, error.message, error.hint)


def model_status(row: RunnerStatus) -> ModelStatus:
    """Return a local model as a row of a status."""
    return ModelStatus(
        row.model,
        row.path,
        row.state,
        row.pid,
        row.rss_bytes,
        row.queued,
        row.restarts,
        row.problem or "",
    )


async def describe_agent(agent: Reported, *, deep: bool) -> AgentStatus:
    """Return one agent's status."""
    config, text = agent.config, agent.text
    target = agent.meaning.target

    def look(db: Database) -> tuple[Counts, int, TranscriptCounts, list[RefusedChunk]]:
        refused = load_refused(db, target.space.id, REFUSED_SHOWN) if target is not None else []
        return count_all(db), generation(db), count_transcripts(db), refused

    # In this order: a file indexed in between is then pending and counted, never neither.
    (disk, changes), (counts, at, transcripts, refused) = (
        await text.look(),
        await agent.index_file.read(look),
    )
    problems = _problems(agent, disk)
    watch = agent.watch_state()
    pending = text.pending(
        changes, agent.meaning.chunks_pending, agent.meaning.oldest_pending_ms, agent.clock()
    )
    skipped = text.left_out(disk)
    status = AgentStatus(
        agent=config.id,
        workspace=str(config.workspace),
        index_path=str(agent.index_file.path),
        enabled=config.settings.enabled,
        sources=list(config.settings.sources),
        files=counts.files,
        chunks=counts.chunks,
        vectors=agent.warm.count,
        files_pending=pending.files,
        chunks_pending=pending.chunks,
        oldest_pending_ms=pending.oldest_ms,
        last_sync_ms=text.last_sync_ms,
        syncing=text.syncing,
        watch=watch.mode,
        watch_reason=watch.reason,
        interval_minutes=config.settings.sync.interval_minutes,
        sessions=_sessions(agent, transcripts),
        generation=at,
        index_bytes=agent.index_file.size_bytes(),
        degraded=agent.meaning.degraded(),
        skipped=skipped,
        problems=problems,
        checks=await probe(agent, disk) if deep else [],
    )
    return _with_vectors(status, agent, refused)


def _with_vectors(status: AgentStatus, agent: Reported, refused: list[RefusedChunk]) -> AgentStatus:
    """Return a status that says which vectors answer, which are being made, and what no vector can be had for."""
    meaning, side = agent.meaning, agent.meaning.answering
    status = replace(
        status,
        filling=meaning.filling(),
        waits_for="mains power" if meaning.fill is not None and meaning.fill.rests else "",
        fallback=meaning.fallback,
        jobs=_jobs(meaning),
        refused=[RefusedText(row.path, row.start_line, row.end_line, row.reason) for row in refused],
    )
    if side is None:
        return replace(status, vector_path_reason="there is no embedding provider")
    choice = agent.warm.choice()
    return replace(
        status,
        provider=side.space.provider,
        model=side.space.model,
        dims=agent.warm.dims,
        space=side.space.id,
        vector_path=choice.search.name,
        vector_path_reason=choice.reason,
    )


def _jobs(meaning: VectorSearchManager) -> list[BulkJob]:
    """Return the jobs under way at the provider's batch API."""
    return meaning.fill.bulk.status() if meaning.fill is not None and meaning.fill.bulk is not None else []


def _sessions(agent: Reported, counts: TranscriptCounts) -> SessionsStatus | None:
    """Return how an agent's transcripts are, or None where they aren't memory."""
    seen = agent.sources.transcripts
    if seen is None:
        return None
    return SessionsStatus(
        counts.transcripts, counts.messages, counts.redactions, dict(seen.eras), dict(seen.left_out)
    )


def _problems(agent: Reported, disk: Discovery) -> list[Problem]:
    """Return what is wrong with an agent, each with its way out."""
    problems = [as_problem(error) for error in agent.config.problems]
    if agent.meaning.selection.problem is not None and agent.meaning.primary is None:
        problems.append(as_problem(agent.meaning.selection.problem))
    if agent.meaning.spare_problem is not None:
        error = agent.meaning.spare_problem
        told = f"the fallback {agent.config.settings.fallback} can't be used: {error.message}"
        problems.append(Problem(error.wire_code, told, error.hint))
    problems.extend(
        Problem("openclaw_database", notice, "Nothing is lost: what could not be reused is embedded anew.")
        for notice in agent.meaning.notices
    )
    if agent.sources.transcripts is not None:
        problems.extend(agent.sources.transcripts.problems)
    if disk.beyond_limits:
        problems.append(
            Problem(
                "memory_beyond_limits",
                f"{disk.beyond_limits:,} files are beyond the limits of one agent and are not indexed,"
                " the oldest first",
                "Narrow `extraPaths`, or raise `max_agent_files` and `max_agent_mb` in memd.toml.",
            )
        )
    if disk.workspace_missing:
        problems.append(
            Problem(
                "workspace_missing",
                f"the workspace {agent.config.workspace} does not exist",
                "Create it, or correct the agent's `workspace` in the settings.",
            )
        )
    if agent.index_file.fault is not None:
        problems.append(as_problem(agent.index_file.fault))
    if agent.index_file.set_aside is not None:
        problems.append(
            Problem(
                "index_corrupt",
                f"the index was damaged and is kept as {agent.index_file.set_aside.name}",
                "It was rebuilt from your Markdown; delete the kept file when you don't need it.",
            )
        )
    return problems


async def probe(agent: Reported, disk: Discovery) -> list[Check]:
    """Try each part of a memory for real and return what came of it."""
    return [
        await _probe_embedding(agent),
        await _probe_keyword(agent),
        await _probe_vectors(agent),
        _probe_files(agent, disk),
    ]


async def _probe_embedding(agent: Reported) -> Check:
    side = agent.meaning.target
    if side is None:
        problem = agent.meaning.selection.problem
        return Check(
            "embeddings", problem is None, problem.message if problem is not None else "off by settings"
        )
    started = trio.current_time()
    try:
        with trio.fail_after(PROBE_TIMEOUT_S):
            vector = await side.provider.embed_query("probe")
    except trio.TooSlowError:
        return Check("embeddings", False, f"no vector within {PROBE_TIMEOUT_S:.0f} s")
    except MemdError as error:
        return Check("embeddings", False, error.message)
    took_ms = (trio.current_time() - started) * 1000
    return Check(
        "embeddings",
        True,
        f"{side.provider.id}/{side.provider.model}, {vector.shape[0]} dimensions, {span(took_ms)}",
    )


async def _probe_keyword(agent: Reported) -> Check:
    def look(db: Database) -> int:
        find_keyword(db, '"probe"', 1, None)
        return count_all(db).chunks

    try:
        chunks = await agent.index_file.read(look)
    except MemdError as error:
        return Check("keyword index", False, error.message)
    return Check("keyword index", True, count(chunks, "chunk"))


async def _probe_vectors(agent: Reported) -> Check:
    side = agent.meaning.answering
    if side is None or agent.warm.count == 0:
        return Check("vectors", side is None, "none yet")
    choice = agent.warm.choice()
    return Check("vectors", True, f"{agent.warm.count:,} by {choice.search.name}: {choice.reason}")


def _probe_files(agent: Reported, disk: Discovery) -> Check:
    if disk.workspace_missing:
        return Check("files", False, f"{agent.config.workspace} does not exist")
    return Check("files", True, f"{len(disk.files)} memory files readable, {len(disk.skipped)} left out")
