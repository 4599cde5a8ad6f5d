"""The contract of sources, for each program."""

from __future__ import annotations

from pathlib import Path

from tests.contracts.program_transcripts import ProgramTranscriptsContract
from tests.support.transcript_programs.opencode import V2_MESSAGE, V2_SESSION
from tests.support.transcript_programs.plain import (
    CursorEditorPlain,
    CursorLines,
    OpencodePlain,
    PlainWriter,
    claude_code,
    codex,
    copilot,
    copilot_chat,
    gemini,
)


class TestClaudeCode(ProgramTranscriptsContract):
    """Claude Code."""

    program = "claude-code"

    def writer(self, home: Path) -> PlainWriter:
        return claude_code(home)


class TestCodex(ProgramTranscriptsContract):
    """Codex."""

    program = "codex"

    def writer(self, home: Path) -> PlainWriter:
        return codex(home)


class TestGeminiTranscripts(ProgramTranscriptsContract):
    """Gemini CLI."""

    program = "gemini"
    file_name = "session-2026-11-02T08-00-{session}"

    def writer(self, home: Path) -> PlainWriter:
        return gemini(home)


class TestCopilot(ProgramTranscriptsContract):
    """Copilot CLI."""

    program = "copilot"

    def writer(self, home: Path) -> PlainWriter:
        return copilot(home)


class TestCopilotChat(ProgramTranscriptsContract):
    """Copilot in VS Code."""

    program = "copilot-vscode"

    def writer(self, home: Path) -> PlainWriter:
        return copilot_chat(home)


class TestOpencode(ProgramTranscriptsContract):
    """opencode 1.x."""

    program = "opencode"

    def writer(self, home: Path) -> PlainWriter:
        return OpencodePlain(home, "opencode")


class TestOpencode2(ProgramTranscriptsContract):
    """opencode 2.x."""

    program = "opencode"

    def writer(self, home: Path) -> PlainWriter:
        return OpencodePlain(home, "opencode", V2_SESSION + V2_MESSAGE)


class TestKilo(ProgramTranscriptsContract):
    """Kilo."""

    program = "kilo"

    def writer(self, home: Path) -> PlainWriter:
        return OpencodePlain(home, "kilo")


class TestCursorEditor(ProgramTranscriptsContract):
    """Cursor's editor."""

    program = "cursor-editor"

    def writer(self, home: Path) -> PlainWriter:
        return CursorEditorPlain(home)


class TestCursor(ProgramTranscriptsContract):
    """Cursor's command line."""

    program = "cursor"
    has_times = has_cwd = False

    def writer(self, home: Path) -> PlainWriter:
        return CursorLines(home)
