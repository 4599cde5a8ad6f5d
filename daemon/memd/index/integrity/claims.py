"""Claims of agents on index files: no two agents of a daemon ever share one file, even under different paths.

An index is identified by the device and inode of its file, and while it is being created or replaced by those of its
folder and its name. An agent keeps its claim while its index is closed, until it gets another path or is removed.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from memd.index.integrity.file_check import refusal
from memd_client.errors import IndexIOError

Key: TypeAlias = tuple[int, int, str]
"""Device and inode of a file, with an empty name; or those of a folder, and a name in it."""

Claim: TypeAlias = Callable[[Collection[Path]], None]
"""Claims paths for one agent: `IndexClaims.claim` of that agent."""

HINT = "put {agentId} into store.path, so that each agent has its own index"


class IndexClaims:
    """The claims of all agents. Thread-safe."""

    def __init__(self) -> None:
        self._owners: dict[Key, str] = {}
        self._lock = threading.Lock()

    def reserve(self, agents: Iterable[tuple[str, Path]]) -> None:
        """Claim the agents' paths in the order of the settings; a path that another agent claimed is skipped."""
        for agent_id, path in agents:
            with suppress(IndexIOError):
                self._add(agent_id, [path])

    def claim(self, agent_id: str, paths: Collection[Path]) -> None:
        """Claim paths and the files at them for an agent, instead of its earlier claims; refuse another agent's."""
        self.release(agent_id)
        self._add(agent_id, paths)

    def release(self, agent_id: str) -> None:
        """Release all claims of an agent."""
        with self._lock:
            self._owners = {key: owner for key, owner in self._owners.items() if owner != agent_id}

    def _add(self, agent_id: str, paths: Collection[Path]) -> None:
        keys = {key: path for path in paths for key in _keys_of(path)}
        with self._lock:
            for key, path in keys.items():
                owner = self._owners.get(key, agent_id)
                if owner != agent_id:
                    raise refusal(path, f"it is the index of agent {owner}", HINT)
            self._owners.update(dict.fromkeys(keys, agent_id))


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
