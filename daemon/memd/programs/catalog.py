"""All programs whose transcripts can be read, by name."""

from __future__ import annotations

from typing import Final

from memd.programs.claude_code import CLAUDE_CODE
from memd.programs.codex import CODEX
from memd.programs.copilot import COPILOT, COPILOT_CHAT
from memd.programs.cursor import CURSOR
from memd.programs.cursor_editor import CURSOR_EDITOR
from memd.programs.gemini import GEMINI
from memd.programs.opencode import KILO, OPENCODE
from memd.programs.program import DatabaseProgram, FileProgram

FILE_PROGRAMS: Final[dict[str, FileProgram]] = {
    program.name: program for program in (CLAUDE_CODE, CODEX, GEMINI, CURSOR, COPILOT, COPILOT_CHAT)
}
DATABASE_PROGRAMS: Final[dict[str, DatabaseProgram]] = {
    program.name: program for program in (OPENCODE, KILO, CURSOR_EDITOR)
}
