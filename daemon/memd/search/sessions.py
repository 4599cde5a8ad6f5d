"""What a hit in a transcript says about its session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from memd.index.snapshot import Database
from memd.index.transcripts import SessionFacts, load_line_maps, load_session_facts, load_times
from memd.programs.catalog import how_to_open
from memd_client.messages import SessionInfo

SPEAKERS = ("User", "Assistant")


class HitSessions:
    """Sessions of hits, each read once.

    Args:
        db: The index.
        programs: The program of each source of transcripts, by the source's name.
    """

    def __init__(self, db: Database, programs: Mapping[str, str]) -> None:
        self._db = db
        self._programs = programs
        self._facts: dict[str, SessionFacts | None] = {}
        self._line_maps: dict[str, Sequence[int] | None] = {}
        self._times: dict[str, Sequence[int]] = {}

    def line_map(self, path: str) -> Sequence[int] | None:
        """Return the places of a transcript's lines; None for other files."""
        if path not in self._line_maps:
            self._line_maps[path] = load_line_maps(self._db, [path]).get(path)
        return self._line_maps[path]

    def find(self, path: str, last_line: int, text: str) -> SessionInfo | None:
        """Return the session of some lines of a transcript; None for OpenClaw's own and for other files."""
        if path not in self._facts:
            self._facts[path] = load_session_facts(self._db, [path]).get(path)
        facts = self._facts[path]
        if facts is None or not facts.program:
            return None
        return session_info(
            facts, self._programs.get(facts.program, ""), self.time_at(path, last_line), speakers_in(text)
        )

    def time_at(self, path: str, line: int) -> int:
        """Return the time of a line, or of the last one before it that has one; 0 if unknown."""
        if path not in self._times:
            self._times[path] = load_times(self._db, path)
        times = self._times[path]
        return next((time for time in reversed(times[:line]) if time), 0)


def session_info(
    facts: SessionFacts, program: str, time_ms: int = 0, speakers: Sequence[str] = ()
) -> SessionInfo:
    """Return a session for people and agents; `time_ms` 0 means the session's last time."""
    return SessionInfo(
        program=facts.program,
        id=facts.session,
        title=facts.title,
        project=facts.project,
        branch=facts.branch,
        date=day_of(time_ms or facts.updated_ms),
        speakers=list(speakers),
        open=how_to_open(program, facts.session, facts.cwd),
        deleted=facts.is_deleted,
        commands=facts.commands,
        files=facts.files,
    )


def speakers_in(text: str) -> list[str]:
    """Return who speaks in lines of a transcript, in order of appearance."""
    labels = (line.partition(": ")[0] for line in text.split("\n"))
    return list(dict.fromkeys(label.lower() for label in labels if label in SPEAKERS))


def day_of(time_ms: int) -> str:
    """Return the day of a time in milliseconds UTC; empty if it is unknown or invalid."""
    try:
        return datetime.fromtimestamp(time_ms / 1000, UTC).date().isoformat() if time_ms > 0 else ""
    except (ValueError, OverflowError, OSError):
        return ""
