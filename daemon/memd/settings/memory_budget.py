"""How the daemon's memory is shared out: between vectors, local models and SQLite's caches. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from memd.settings.schema import DaemonSettings

MB: Final = 1_048_576

BASE_BYTES: Final = 512 * MB
"""The interpreter, its libraries and what requests hold for a moment, above what is shared out."""

VECTORS_SHARE: Final = 16
LEAST_VECTORS: Final = 64 * MB
MOST_VECTORS: Final = 1024 * MB
"""Vectors get a sixteenth of the machine's memory, where the settings don't say: 512 MB of 8 GB, which is 350,000
vectors of 384 dimensions. Beyond the bounds it is too little for one agent, or more than anyone's notes."""

MODELS_SHARE: Final = 2
"""Local models get half, where the settings don't say: one that is larger than its share is loaded alone."""

PAGES_SHARE: Final = 64
LEAST_PAGES: Final = 32 * MB
MOST_PAGES: Final = 256 * MB
"""SQLite's page caches of all agents' connections together. The system caches the files as well."""


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """What may be held in memory, in bytes.

    `vectors`: the matrices of all agents. `models`: the processes of local models. `pages`: SQLite's caches.
    """

    vectors: int
    models: int
    pages: int

    @property
    def total(self) -> int:
        """All of it, with what the daemon itself takes."""
        return BASE_BYTES + self.vectors + self.models + self.pages


def budget_of(daemon: DaemonSettings, machine_bytes: int) -> MemoryBudget:
    """Return the budget that follows from the settings, and from the machine where they say nothing."""
    vectors = _within(machine_bytes // VECTORS_SHARE, LEAST_VECTORS, MOST_VECTORS)
    if daemon.memory_budget_mb is not None:
        vectors = daemon.memory_budget_mb * MB
    return MemoryBudget(
        vectors=vectors,
        models=daemon.model_memory_mb * MB or machine_bytes // MODELS_SHARE,
        pages=_within(machine_bytes // PAGES_SHARE, LEAST_PAGES, MOST_PAGES),
    )


def _within(value: int, least: int, most: int) -> int:
    return max(least, min(value, most))
