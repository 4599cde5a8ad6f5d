"""Limits on an agent's indexed files, and how much memd may still write within them."""

from __future__ import annotations

import contextlib
from pathlib import Path

from msgspec import Struct

from memd.settings.ram_budget import MB
from memd.settings.schema import DaemonSettings
from memd.sources.rules import MEMORY_FOLDER, is_written_by_memd
from memd.system.safe_open import open_listing
from memd_client.errors import NoteUnwritableError


class SourceLimits(Struct, frozen=True):
    """Limits on one agent's indexed files: bytes per file, number of files, total bytes."""

    file_bytes: int
    files: int
    total_bytes: int


def limits_of(daemon: DaemonSettings) -> SourceLimits:
    """Return the limits that the settings set for each agent."""
    return SourceLimits(daemon.max_file_mb * MB, daemon.max_agent_files, daemon.max_agent_mb * MB)


class WriteCapacity(Struct, frozen=True):
    """Largest size of a file, and how many files and bytes may be added."""

    file_bytes: int
    files: int
    total_bytes: int

    def require(self, path: str, added_bytes: int, *, is_new: bool) -> None:
        """Raise if an addition exceeds the limits, because it would not be indexed."""
        if added_bytes <= min(self.total_bytes, self.file_bytes) and (self.files > 0 or not is_new):
            return
        limit = "max_agent_files" if is_new and self.files < 1 else "max_agent_mb"
        raise NoteUnwritableError(
            f"{path} can't be written: facts and daily notes have reached the limit `{limit}`",
            hint=f"raise `{limit}` in memd.toml, or remove old notes; nothing was written",
            data={"path": path, "limit": limit},
        )


def find_capacity(workspace: Path, limits: SourceLimits) -> WriteCapacity:
    """Return how much memd may still write into a workspace (blocking).

    Files that memd writes are indexed before others, so only they count.
    """
    sizes = []
    root = str(workspace)
    with contextlib.suppress(OSError), open_listing(root, f"{root.rstrip('/')}/{MEMORY_FOLDER}") as entries:
        for entry in entries:
            if is_written_by_memd(f"{MEMORY_FOLDER}/{entry.name}"):
                with contextlib.suppress(OSError):
                    sizes.append(min(entry.stat(follow_symlinks=False).st_size, limits.file_bytes))
    left = limits.total_bytes - sum(sizes)
    return WriteCapacity(min(limits.file_bytes, limits.total_bytes), limits.files - len(sizes), left)
