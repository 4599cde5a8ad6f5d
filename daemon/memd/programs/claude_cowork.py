"""Conversations of Claude Cowork: each session has a folder with the transcripts of Claude Code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from memd.programs.claude_code import ClaudeCode
from memd.programs.conversation import Session
from memd.programs.lines import read_json
from memd.programs.program import TranscriptFile
from memd.programs.records import text_of, time_ms_of, title_of
from memd.programs.small_files import paths_in

_SESSION: Final = re.compile(r"[^/]+/[^/]+/local_[^/]+/\.claude/projects/(.+)", re.S)
_ABOVE: Final = re.compile(r"[^/]+(/[^/]+(/local_[^/]+(/\.claude(/projects)?)?)?)?")


class ClaudeCowork(ClaudeCode):
    """The folder in which Claude's desktop program keeps sessions by organization and workspace."""

    def transcript_at(self, path: str) -> TranscriptFile | None:
        """Return the transcript at a path."""
        below = _SESSION.fullmatch(path)
        return super().transcript_at(below[1]) if below is not None else None

    def is_walked(self, path: str) -> bool:
        """Return whether a folder may contain transcripts."""
        below = _SESSION.fullmatch(path)
        return super().is_walked(below[1]) if below is not None else _ABOVE.fullmatch(path) is not None

    def read_details(self, folder: Path, session_id: str) -> Session | None:
        """Return the title in `local_<id>.json`, which names the transcript."""
        workspaces = [path for parent in paths_in(folder) for path in paths_in(Path(parent))]
        for path in (
            path for parent in workspaces for path in paths_in(Path(parent)) if path.endswith(".json")
        ):
            record = read_json(path)
            if record is not None and record.get("cliSessionId") == session_id:
                times = time_ms_of(record.get("createdAt")), time_ms_of(record.get("lastActivityAt"))
                title = title_of(text_of(record.get("title")))
                return Session(session_id, title=title, started_ms=times[0], updated_ms=times[1])
        return None


READER: Final = ClaudeCowork()
