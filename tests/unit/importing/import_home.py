"""A home directory with memories of other programs, and an agent to import them for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from memd.importing.origins import ImportEnvironment, find_origins
from memd.importing.plan import ImportRow, carry_out, make_plan


@dataclass
class ImportHome:
    """A home directory, and the workspace in it."""

    home: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        """The agent's workspace."""
        return self.home / "workspace"

    def write(self, path: str, text: str | bytes = "tea\n") -> Path:
        """Write a file below the home directory and return its path."""
        location = self.home / path
        location.parent.mkdir(parents=True, exist_ok=True)
        location.write_bytes(text.encode() if isinstance(text, str) else text)
        return location

    def plan(self, kind: str, source: str | None = None, *, keep_mine: bool = False) -> list[ImportRow]:
        """Return the plan for every file."""
        around = ImportEnvironment(self.environ, self.home, self.home)
        return make_plan(find_origins(kind, source, around), self.workspace, keep_mine=keep_mine)

    def run(self, kind: str, source: str | None = None, *, keep_mine: bool = False) -> list[ImportRow]:
        """Import, and return the result for every file."""
        return carry_out(
            self.plan(kind, source, keep_mine=keep_mine), kind, self.workspace, "2026-11-22T17:00:00Z"
        )

    def states(self, kind: str, source: str | None = None) -> dict[str, str]:
        """Return the state of every file, by its path below the home directory."""
        return {row.source.removeprefix(f"{self.home}/"): row.state for row in self.plan(kind, source)}

    def targets(self, kind: str, source: str | None = None) -> list[str]:
        """Return the targets of all files, below the folder of imports."""
        written = [row for row in self.plan(kind, source) if row.state in ("new", "changed")]
        return [row.target.removeprefix("memory/imported/") for row in written]

    def copy(self, target: str) -> Path:
        """Return the path of a copy."""
        return self.workspace / "memory/imported" / target
