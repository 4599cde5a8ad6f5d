"""Placeholder of the lead; the owner of this file replaces it."""

from __future__ import annotations

from pathlib import Path

from memd.sync.discover import Found
from memd.sync.read import FileText
from memd.sync.sessions.session_source import Transcripts


class AgentSessions:
    """None."""

    def __init__(self, state_dir: Path, agent_id: str, max_file_bytes: int) -> None:
        pass

    def find(self) -> Transcripts:
        """Find."""
        return Transcripts()

    def load(self, found: Found) -> FileText:
        """Load."""
        raise NotImplementedError

    def close(self) -> None:
        """Close."""
