"""What keeps an agent's index up to date and small: the requests `index`, `reset` and `vacuum`."""

from __future__ import annotations

from memd_client.record import field, record
from memd_client.reports import Degraded, Problem, Skipped


@record
class IndexParams:
    """Bring one agent (or all) up to date now; `force` reads, chunks and embeds everything again."""

    agent: str | None = None
    force: bool = False


@record
class IndexedAgent:
    """What one agent's sync did."""

    agent: str
    files: int
    chunks: int
    files_changed: int
    files_removed: int
    embedded: int
    reused: int
    took_ms: float
    degraded: Degraded | None = None
    skipped: list[Skipped] = field(default_factory=list)
    error: Problem | None = None


@record
class IndexReply:
    """One row per agent synced."""

    agents: list[IndexedAgent]


@record
class ResetParams:
    """Which agent's index to build anew (all where none is named); with `vectors` everything is embedded again."""

    agent: str | None = None
    vectors: bool = False


@record
class ResetReply:
    """One row an agent."""

    agents: list[IndexedAgent]


@record
class VacuumParams:
    """Which agent's index to make small; all where none is named."""

    agent: str | None = None


@record
class VacuumedAgent:
    """What making one agent's index small brought. Sizes are bytes, the log included."""

    agent: str
    bytes_before: int
    bytes_after: int
    vectors_removed: int
    took_ms: float
    error: Problem | None = None


@record
class VacuumReply:
    """One row an agent."""

    agents: list[VacuumedAgent]
