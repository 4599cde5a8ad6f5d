"""How much memd may still write into an agent's memory, so that all of it is indexed."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from memd.settings.memory_budget import MB
from memd.settings.schema import DaemonSettings
from memd.sync.disk.rules import MEMORY_FOLDER, is_written_by_memd
from memd.sync.disk.safe_open import open_listing
from memd_client.errors import NoteUnwritableError


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """How much one agent may have indexed: bytes of one file, files in all, bytes in all."""

    file_bytes: int
    files: int
    total_bytes: int


def limits_of(daemon: DaemonSettings) -> SourceLimits:
    """Return how much of each agent's files the settings allow."""
    return SourceLimits(daemon.max_file_mb * MB, daemon.max_agent_files, daemon.max_agent_mb * MB)


@dataclass(frozen=True, slots=True)
class Room:
    """How large a file may become, and how many files and bytes may be added."""

    file_bytes: int
    files: int
    total_bytes: int

    def require(self, path: str, added_bytes: int, *, is_new: bool) -> None:
        """Raise when something can't be added: it would not be indexed."""
        if added_bytes <= min(self.total_bytes, self.file_bytes) and (self.files > 0 or not is_new):
            return
        limit = "max_agent_files" if is_new and self.files < 1 else "max_agent_mb"
        raise NoteUnwritableError(
            f"{path} can't be written: facts and daily notes have reached the limit `{limit}`",
            hint=f"Nothing of it was written. Raise `{limit}` in memd.toml, or remove old notes.",
            data={"path": path, "limit": limit},
        )


def find_room(workspace: Path, limits: SourceLimits) -> Room:
    """Return how much memd may still write into a workspace (blocking).

    What memd writes is indexed before other files, so those don't count.
    """
    sizes = []
    root = str(workspace)
    with contextlib.suppress(OSError), open_listing(root, f"{root.rstrip('/')}/{MEMORY_FOLDER}") as entries:
        for entry in entries:
            if is_written_by_memd(f"{MEMORY_FOLDER}/{entry.name}"):
                with contextlib.suppress(OSError):
                    sizes.append(min(entry.stat(follow_symlinks=False).st_size, limits.file_bytes))
    left = limits.total_bytes - sum(sizes)
    return Room(min(limits.file_bytes, limits.total_bytes), limits.files - len(sizes), left)
