"""Requests that maintain an agent's index: `index`, `reset` and `vacuum`."""

from __future__ import annotations

from memd_client.record import field, record
from memd_client.reports import Degradation, Problem, SkippedFile


@record
class IndexParams:
    """Which agent's index to update (None: all); `force` reads, chunks and embeds everything again."""

    agent: str | None = None
    force: bool = False


@record
class IndexedAgent:
    """The result of one agent's sync."""

    agent: str
    files: int
    chunks: int
    files_changed: int
    files_removed: int
    embedded: int
    reused: int
    took_ms: float
    degraded: Degradation | None = None
    skipped: list[SkippedFile] = field(default_factory=list)
    error: Problem | None = None


@record
class IndexReply:
    """One row per agent synced."""

    agents: list[IndexedAgent]


@record
class ResetParams:
    """Which agent's index to rebuild (None: all); with `delete_vectors` all chunks are embedded again."""

    agent: str | None = None
    delete_vectors: bool = False


@record
class ResetReply:
    """One row per agent."""

    agents: list[IndexedAgent]


@record
class VacuumParams:
    """Which agent's index to compact (None: all)."""

    agent: str | None = None


@record
class VacuumedAgent:
    """The result of compacting one agent's index. Sizes are bytes, including the write-ahead log."""

    agent: str
    bytes_before: int
    bytes_after: int
    vectors_removed: int
    took_ms: float
    error: Problem | None = None


@record
class VacuumReply:
    """One row per agent."""

    agents: list[VacuumedAgent]
