"""Homes with sessions of several programs, each in its own files."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from tests.support.transcript_programs.agent_steps import AgentSession
from tests.support.transcript_programs.claude_code_work import write_claude_code
from tests.support.transcript_programs.codex_work import write_codex
from tests.support.transcript_programs.copilot_work import write_copilot
from tests.support.transcript_programs.cursor_work import write_cursor
from tests.support.transcript_programs.gemini_work import write_gemini
from tests.support.transcript_programs.openclaw_work import write_openclaw
from tests.support.transcript_programs.opencode_work import write_opencode

Writer: TypeAlias = Callable[[Path, list[AgentSession]], None]

WRITERS: Final[dict[str, Writer]] = {
    "claude-code": write_claude_code,
    "codex": write_codex,
    "codex-paginated": partial(write_codex, is_paginated=True),
    "gemini": write_gemini,
    "opencode": write_opencode,
    "copilot": write_copilot,
    "cursor-editor": write_cursor,
}
"""Programs whose files are in the home folder; Codex has two modes."""


def write_sessions(home: Path, state: Path, sessions: Iterable[AgentSession]) -> None:
    """Write sessions below a home folder; OpenClaw's are below its state directory."""
    by_program: dict[str, list[AgentSession]] = defaultdict(list)
    for session in sessions:
        by_program[session.program].append(session)
    for program, written in by_program.items():
        if program == "openclaw":
            write_openclaw(state, written)
        else:
            WRITERS[program](home, written)
