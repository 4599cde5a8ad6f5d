"""Opens agents' indexes as their settings say."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

import trio

from memd.index.connection import IndexFile
from memd.index.integrity.claims import IndexClaims
from memd.index.vectors.sqlite_vec import VectorExtension
from memd.settings.agents import AgentConfig
from memd.settings.search import is_usual_index
from memd.system.clock import Clock
from memd.system.temp_files import remove_leftovers, remove_leftovers_in_workspace

UNREADABLE_TRIES = 6
"""Attempts to open an index that the disk can't read, a minute in all: a cable or a network may come back, a bad
sector won't. Then the file is quarantined as damaged."""


class AgentIndexes:
    """Opens the indexes of all agents; no index is shared by two agents."""

    def __init__(self, state_dir: Callable[[], Path], clock: Clock) -> None:
        self._state_dir = state_dir
        self._clock = clock
        self._claims = IndexClaims()

    def __repr__(self) -> str:
        return f"<AgentIndexes, {self._claims!r}>"

    async def reserve(self, configs: Iterable[AgentConfig]) -> None:
        """Claim the agents' index paths; of agents with the same path the first in the settings gets it."""
        places = [(config.id, config.index_path) for config in configs]
        await trio.to_thread.run_sync(self._claims.reserve, places)

    def release(self, agent_id: str) -> None:
        """Release the claims of a removed agent."""
        self._claims.release(agent_id)

    async def open(self, config: AgentConfig, extension: VectorExtension, failures: int) -> IndexFile:
        """Open an agent's index; see `IndexFile.open`."""
        await trio.to_thread.run_sync(_remove_leftovers, config)
        return await IndexFile.open(
            config.index_path,
            extension=extension,
            clock=self._clock,
            earlier=config.earlier_index,
            gives_up_reading=failures >= UNREADABLE_TRIES,
            is_own_path=is_usual_index(config.index_path, config.id, self._state_dir()),
            claim=partial(self._claims.claim, config.id),
        )


def _remove_leftovers(config: AgentConfig) -> None:
    """Remove temporary files of killed writers, next to the index and among the notes."""
    remove_leftovers(config.index_path.parent)
    remove_leftovers_in_workspace(config.workspace)
