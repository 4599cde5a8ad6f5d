"""Sources of programs with transcripts of lines keep the contract."""

from __future__ import annotations

from pathlib import Path

from tests.contracts.program import ProgramContract
from tests.support.transcript_programs import lines_plain
from tests.support.transcript_programs.plain import (
    PlainWriter,
)


class TestQwen(ProgramContract):
    """Qwen Code."""

    program = "qwen"

    def writing(self, home: Path) -> PlainWriter:
        return lines_plain.qwen(home)


class TestKimiCode(ProgramContract):
    """Kimi Code."""

    program = "kimi-code"

    def writing(self, home: Path) -> PlainWriter:
        return lines_plain.kimi_code(home)


class TestKimiCli(ProgramContract):
    """Kimi CLI."""

    program = "kimi-cli"

    def writing(self, home: Path) -> PlainWriter:
        return lines_plain.kimi_cli(home)


class TestPi(ProgramContract):
    """pi."""

    program = "pi"

    def writing(self, home: Path) -> PlainWriter:
        return lines_plain.pi(home)


class TestOmp(ProgramContract):
    """omp."""

    program = "omp"

    def writing(self, home: Path) -> PlainWriter:
        return lines_plain.omp(home)


class TestDeepseek(ProgramContract):
    """DeepSeek Harness without compression."""

    program = "deepseek"

    def writing(self, home: Path) -> PlainWriter:
        return lines_plain.deepseek(home)


class TestGrok(ProgramContract):
    """Grok Build."""

    program = "grok"

    def writing(self, home: Path) -> PlainWriter:
        return lines_plain.grok(home)


class TestKiroCli(ProgramContract):
    """Kiro CLI."""

    program = "kiro-cli"
    has_times = False

    def writing(self, home: Path) -> PlainWriter:
        return lines_plain.kiro_cli(home)


class TestAntigravity(ProgramContract):
    """Antigravity."""

    program = "antigravity"
    has_cwd = False

    def writing(self, home: Path) -> PlainWriter:
        return lines_plain.antigravity(home)


class TestWindsurf(ProgramContract):
    """Windsurf."""

    program = "windsurf"
    has_times = has_cwd = False

    def writing(self, home: Path) -> PlainWriter:
        return lines_plain.windsurf(home)


class TestClaudeCowork(ProgramContract):
    """Claude Cowork."""

    program = "claude-cowork"

    def writing(self, home: Path) -> PlainWriter:
        return lines_plain.claude_cowork(home)


class TestOpenclaude(ProgramContract):
    """OpenClaude."""

    program = "openclaude"

    def writing(self, home: Path) -> PlainWriter:
        return lines_plain.openclaude(home)


class TestIflow(ProgramContract):
    """iFlow."""

    program = "iflow"

    def writing(self, home: Path) -> PlainWriter:
        return lines_plain.iflow(home)


class TestWorkBuddy(ProgramContract):
    """WorkBuddy."""

    program = "workbuddy"

    def writing(self, home: Path) -> PlainWriter:
        return lines_plain.workbuddy(home)


class TestTraex(ProgramContract):
    """TraeX."""

    program = "traex"

    def writing(self, home: Path) -> PlainWriter:
        return lines_plain.traex(home)
