"""Requests that maintain an agent's index: `index`, `reset` and `vacuum`."""

from __future__ import annotations

from msgspec import field

from memd_client.limits import AgentId
from memd_client.problems import Degradation, Problem, SkippedFile
from memd_client.schema import Record


class IndexParams(Record, frozen=True):
    """Update an agent's index now; a search does so too, for recent changes.

    Attributes:
        agent: Only this agent; None: all agents.
        force: Read, chunk and embed everything again.

    Returns:
        `agents`, a row for each: `files`, `chunks`, `files_changed`, `embedded`, `took_ms`, `skipped`, `error`.

    Raises:
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The settings of the one agent turn memory off.
        DeadlineExceededError: No progress for five minutes.
        DaemonUnreachableError, ConnectionLostError: As with every request.
    """

    agent: AgentId | None = None
    force: bool = False


class IndexedAgent(Record, frozen=True):
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


class IndexReply(Record, frozen=True):
    """One row per agent synced.

    Attributes:
        agents: A row per agent.
    """

    agents: list[IndexedAgent]


class ResetParams(Record, frozen=True):
    """Drop an agent's index and rebuild it from its files.

    Attributes:
        agent: Only this agent; None: all agents.
        delete_vectors: Delete the vectors too, so that every chunk is embedded again.

    Returns:
        `agents`, a row for each, as in `index`.

    Raises:
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The settings of the one agent turn memory off.
        DeadlineExceededError: No progress for five minutes.
        DaemonUnreachableError, ConnectionLostError: As with every request.
    """

    agent: AgentId | None = None
    delete_vectors: bool = False


class ResetReply(Record, frozen=True):
    """One row per agent.

    Attributes:
        agents: A row per agent.
    """

    agents: list[IndexedAgent]


class VacuumParams(Record, frozen=True):
    """Remove unneeded vectors from an agent's index and free their disk space.

    Attributes:
        agent: Only this agent; None: all agents.

    Returns:
        `agents`, a row for each: `bytes_before`, `bytes_after`, `vectors_removed`, `took_ms`, `error`.

    Raises:
        AgentUnknownError: No agent has that id.
        MemoryDisabledError: The settings of the one agent turn memory off.
        DeadlineExceededError: No progress for five minutes.
        DaemonUnreachableError, ConnectionLostError: As with every request.
    """

    agent: AgentId | None = None


class VacuumedAgent(Record, frozen=True):
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


class VacuumReply(Record, frozen=True):
    """One row per agent.

    Attributes:
        agents: A row per agent.
    """

    agents: list[VacuumedAgent]
