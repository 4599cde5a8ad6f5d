"""All programs whose transcripts can be read, by name."""

from __future__ import annotations

from memd.sync.transcripts.programs.program import DatabaseProgram, FileProgram

FILE_PROGRAMS: dict[str, FileProgram] = {}
DATABASE_PROGRAMS: dict[str, DatabaseProgram] = {}
