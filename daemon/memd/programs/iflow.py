"""Conversations of iFlow: the records of Claude Code in files of other names."""

from __future__ import annotations

from typing import Final

from memd.programs.claude_code import ClaudeCodeReader
from memd.programs.lines import Form, LinesFiles

READER: Final = LinesFiles(ClaudeCodeReader, Form(r".+/session-([0-9a-f-]{36})\.jsonl"))
