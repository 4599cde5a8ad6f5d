"""All programs whose transcripts can be read, by name."""

from __future__ import annotations

from typing import Final

from memd.sync.transcripts.programs.claude_code import CLAUDE_CODE
from memd.sync.transcripts.programs.codex import CODEX
from memd.sync.transcripts.programs.copilot import COPILOT, COPILOT_CHAT
from memd.sync.transcripts.programs.cursor import CURSOR
from memd.sync.transcripts.programs.cursor_editor import CURSOR_EDITOR
from memd.sync.transcripts.programs.gemini import GEMINI
from memd.sync.transcripts.programs.opencode import KILO, OPENCODE
from memd.sync.transcripts.programs.program import DatabaseProgram, FileProgram

FILE_PROGRAMS: Final[dict[str, FileProgram]] = {
    program.name: program for program in (CLAUDE_CODE, CODEX, GEMINI, CURSOR, COPILOT, COPILOT_CHAT)
}
DATABASE_PROGRAMS: Final[dict[str, DatabaseProgram]] = {
    program.name: program for program in (OPENCODE, KILO, CURSOR_EDITOR)
}
