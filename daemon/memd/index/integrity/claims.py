"""Claims of agents on index files: no two agents of a daemon ever share one file, even under different paths.

An index is identified by the device and inode of its file, and while it is being created or replaced by those of its
folder and its name. An agent keeps its claim while its index is closed, until it gets another path or is removed.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from memd.index.integrity.file_check import refusal
from memd_client.errors import IndexIOError

Key: TypeAlias = tuple[int, int, str]
"""Device and inode of a file, with an empty name; or those of a folder, and a name in it."""

HINT = "put {agentId} into store.path, so that each agent has its own index"


class IndexClaims:
    """The claims of all agents. Thread-safe."""

    def __init__(self) -> None:
        self._owners: dict[Key, str] = {}
        self._lock = threading.Lock()

    def of(self, agent_id: str) -> IndexClaim:
        """Return the claim of an agent."""
        return IndexClaim(self, agent_id)

    def reserve(self, agents: Iterable[tuple[str, Path]]) -> None:
        """Claim the agents' paths in the order of the settings; a path that another agent claimed is skipped."""
        for agent_id, path in agents:
            with suppress(IndexIOError):
                self.of(agent_id).add(path)

    def release(self, agent_id: str) -> None:
        """Release all claims of an agent."""
        self._keep(agent_id, set())

    def owner(self, path: Path) -> str | None:
        """Return the agent that claimed a file, or None."""
        with self._lock:
            return next((self._owners[key] for key in sorted(_keys_of(path)) if key in self._owners), None)

    def _add(self, agent_id: str, path: Path, keys: set[Key]) -> None:
        with self._lock:
            for key in sorted(keys):
                owner = self._owners.get(key, agent_id)
                if owner != agent_id:
                    raise refusal(path, f"it is the index of agent {owner}", HINT)
            self._owners.update(dict.fromkeys(keys, agent_id))

    def _keep(self, agent_id: str, keys: set[Key]) -> None:
        with self._lock:
            self._owners = {
                key: owner for key, owner in self._owners.items() if owner != agent_id or key in keys
            }


class IndexClaim:
    """The claims of one agent. Made by `IndexClaims.of`."""

    def __init__(self, claims: IndexClaims, agent_id: str) -> None:
        self._claims = claims
        self._agent_id = agent_id

    def add(self, path: Path) -> None:
        """Claim a path and the file at it, in addition to earlier claims."""
        self._claims._add(self._agent_id, path, _keys_of(path))

    def keep_only(self, *paths: Path) -> None:
        """Release all claims except those on these paths and the files at them."""
        self._claims._keep(self._agent_id, {key for path in paths for key in _keys_of(path)})

    def is_others(self, path: Path) -> bool:
        """Return whether another agent claimed the file at a path."""
        return self._claims.owner(path) not in (None, self._agent_id)


def _keys_of(path: Path) -> set[Key]:
    """Return the keys of a path and of the file at it, as far as folder and file exist."""
    keys: set[Key] = set()
    with suppress(OSError):
        folder = os.stat(path.parent)
        keys.add((folder.st_dev, folder.st_ino, path.name))
    with suppress(OSError):
        facts = os.stat(path)
        if stat.S_ISREG(facts.st_mode):
            keys.add((facts.st_dev, facts.st_ino, ""))
    return keys
