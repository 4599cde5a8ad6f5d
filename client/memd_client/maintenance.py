"""Requests that maintain an agent's index: `index`, `reset` and `vacuum`."""

from __future__ import annotations

from memd_client.problems import Degradation, Problem, SkippedFile
from memd_client.record import field, record


@record
class IndexParams:
    """Which agent's index to update (None: all); `force` reads, chunks and embeds everything again.

    Attributes:
        agent: One agent; None: all.
        force: Read, chunk and embed everything again.
    """

    agent: str | None = None
    force: bool = False


@record
class IndexedAgent:
    """The result of one agent's sync.

    Attributes:
        agent: The agent's id.
        files: Files in the index.
        chunks: Chunks in the index.
        files_changed: Files read again.
        files_removed: Files removed from the index.
        embedded: Chunks embedded now.
        reused: Chunks whose vector existed.
        took_ms: Duration in ms.
        degraded: None, or why vectors are missing.
        skipped: Files that are not indexed, or only in part.
        error: None, or why this agent's part failed.
    """

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
    """One row per agent synced.

    Attributes:
        agents: A row per agent.
    """

    agents: list[IndexedAgent]


@record
class ResetParams:
    """Which agent's index to rebuild (None: all); with `delete_vectors` all chunks are embedded again.

    Attributes:
        agent: One agent; None: all.
        delete_vectors: Delete the vectors too, so that every chunk is embedded again.
    """

    agent: str | None = None
    delete_vectors: bool = False


@record
class ResetReply:
    """One row per agent.

    Attributes:
        agents: A row per agent.
    """

    agents: list[IndexedAgent]


@record
class VacuumParams:
    """Which agent's index to compact (None: all).

    Attributes:
        agent: One agent; None: all.
    """

    agent: str | None = None


@record
class VacuumedAgent:
    """The result of compacting one agent's index. Sizes are bytes, including the write-ahead log.

    Attributes:
        agent: The agent's id.
        bytes_before: Size on disk before, write-ahead log included.
        bytes_after: Size on disk after.
        vectors_removed: Vectors removed.
        took_ms: Duration in ms.
        error: None, or why this agent's part failed.
    """

    agent: str
    bytes_before: int
    bytes_after: int
    vectors_removed: int
    took_ms: float
    error: Problem | None = None


@record
class VacuumReply:
    """One row per agent.

    Attributes:
        agents: A row per agent.
    """

    agents: list[VacuumedAgent]
