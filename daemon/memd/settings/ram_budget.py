"""The daemon's RAM budget: vectors, local models and SQLite's caches. Pure."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from memd.settings.schema import DaemonSettings

MB: Final = 1_048_576

BASE_BYTES: Final = 512 * MB
"""RAM for the interpreter, its libraries and requests, in addition to the shares."""

VECTORS_SHARE: Final = 16
LEAST_VECTORS: Final = 64 * MB
MOST_VECTORS: Final = 1024 * MB
"""By default vectors get a sixteenth of the machine's RAM within these bounds: 512 MB of 8 GB, enough for 350,000
vectors of 384 dimensions."""

MODELS_SHARE: Final = 2
"""By default local models get half of the RAM; a model that is larger than that is loaded alone."""

PAGES_SHARE: Final = 64
LEAST_PAGES: Final = 32 * MB
MOST_PAGES: Final = 256 * MB
"""SQLite's page caches of all connections get 1/64 of the RAM; the system caches the files too."""


class RamBudget(Struct, frozen=True):
    """Limits of RAM in bytes.

    `vectors`: the matrices of all agents. `models`: the processes of local models. `pages`: SQLite's caches.
    """

    vectors: int
    models: int
    pages: int

    @property
    def total(self) -> int:
        """The whole budget, including the daemon's base."""
        return BASE_BYTES + self.vectors + self.models + self.pages


def budget_of(daemon: DaemonSettings, machine_bytes: int) -> RamBudget:
    """Return the budget from the settings, with defaults that depend on the machine's RAM."""
    vectors = _within(machine_bytes // VECTORS_SHARE, LEAST_VECTORS, MOST_VECTORS)
    if daemon.vector_ram_mb is not None:
        vectors = daemon.vector_ram_mb * MB
    return RamBudget(
        vectors=vectors,
        models=daemon.model_ram_mb * MB or machine_bytes // MODELS_SHARE,
        pages=_within(machine_bytes // PAGES_SHARE, LEAST_PAGES, MOST_PAGES),
    )


def _within(value: int, least: int, most: int) -> int:
    return max(least, min(value, most))
