"""What a source of transcripts is (placeholder of the lead; the owner of this file replaces it)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from memd.sync.discover import Found
from memd.sync.read import FileText
from memd_client.messages import Problem, Skipped


@dataclass(slots=True)
class Transcripts:
    """An agent's transcripts at one moment."""

    found: dict[str, Found] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    eras: dict[str, int] = field(default_factory=dict)


class SessionSource(Protocol):
    """Transcripts."""

    def find(self) -> Transcripts:
        """Find."""

    def load(self, found: Found) -> FileText:
        """Load."""

    def close(self) -> None:
        """Close."""
