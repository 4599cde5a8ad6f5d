"""Which index belongs to which agent of this daemon: no two agents ever have one file, whatever their paths are called.

An index is known by the device and inode of its file, and by those of its folder with its name there while it is being
made or replaced. An agent keeps its claim while its index is closed for a moment, until it has another path or is gone.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from memd.index.care.file_check import refused
from memd_client.errors import IndexIOError

Key: TypeAlias = tuple[int, int, str]
"""Device and inode of a file, with an empty name; or those of a folder, and a name in it."""

HINT = "Give each agent an index of its own: put {agentId} into store.path."


class IndexClaims:
    """The claims of all agents. For any number of threads."""

    def __init__(self) -> None:
        self._owners: dict[Key, str] = {}
        self._lock = threading.Lock()

    def of(self, agent_id: str) -> IndexClaim:
        """Return the claim of an agent."""
        return IndexClaim(self, agent_id)

    def reserve(self, agents: Iterable[tuple[str, Path]]) -> None:
        """Claim what there is at the agents' paths, so that of two with one file the first in the settings has it."""
        for agent_id, path in agents:
            with suppress(IndexIOError):
                self.of(agent_id).add(path)

    def release(self, agent_id: str) -> None:
        """Give up all an agent has."""
        self._keep(agent_id, set())

    def owner(self, path: Path) -> str | None:
        """Return which agent has a file, None for none."""
        with self._lock:
            return next((self._owners[key] for key in sorted(_keys_of(path)) if key in self._owners), None)

    def _add(self, agent_id: str, path: Path, keys: set[Key]) -> None:
        with self._lock:
            for key in sorted(keys):
                owner = self._owners.get(key, agent_id)
                if owner != agent_id:
                    raise refused(path, f"it is the index of agent {owner}", HINT)
            self._owners.update(dict.fromkeys(keys, agent_id))

    def _keep(self, agent_id: str, keys: set[Key]) -> None:
        with self._lock:
            self._owners = {
                key: owner for key, owner in self._owners.items() if owner != agent_id or key in keys
            }


class IndexClaim:
    """One agent's claim. Made by `IndexClaims.of`."""

    def __init__(self, claims: IndexClaims, agent_id: str) -> None:
        self._claims = claims
        self._agent_id = agent_id

    def add(self, path: Path) -> None:
        """Claim a path and the file there, beside what the agent has already."""
        self._claims._add(self._agent_id, path, _keys_of(path))

    def keep_only(self, *paths: Path) -> None:
        """Give up everything but these paths and the files there."""
        self._claims._keep(self._agent_id, {key for path in paths for key in _keys_of(path)})

    def is_others(self, path: Path) -> bool:
        """Return whether another agent has the file at a path."""
        return self._claims.owner(path) not in (None, self._agent_id)


def _keys_of(path: Path) -> set[Key]:
    """Return what a path and the file there are known by, as far as there is something."""
    keys: set[Key] = set()
    with suppress(OSError):
        folder = os.stat(path.parent)
        keys.add((folder.st_dev, folder.st_ino, path.name))
    with suppress(OSError):
        facts = os.stat(path)
        if stat.S_ISREG(facts.st_mode):
            keys.add((facts.st_dev, facts.st_ino, ""))
    return keys
