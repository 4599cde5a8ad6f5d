"""Sources of programs with databases, and chat exports, keep the contract."""

from __future__ import annotations

from pathlib import Path

from memd.sources.source import Source
from tests.contracts.program import DatabaseContract, ProgramContract, opened
from tests.support.transcript_programs.document_stores import (
    AmazonQPlain,
    CursorWorkspacePlain,
    KiroDatabasePlain,
    OpencodeFilesPlain,
    WindsurfWorkspacePlain,
    ZedJsonPlain,
    ZedPlain,
)
from tests.support.transcript_programs.exports import ChatGptWriter, ClaudeWriter
from tests.support.transcript_programs.plain import (
    PlainWriter,
)
from tests.support.transcript_programs.tables import (
    CrushPlain,
    DevinPlain,
    GoosePlain,
    GrokDevPlain,
    HermesPlain,
)


class ExportContract(DatabaseContract):
    """An export of a web chat, in an archive that the settings name."""

    has_cwd = False

    def open(self, home: Path) -> Source:
        return opened(home, self.program, self.program, home / "export.zip")


class TestChatGpt(ExportContract):
    """ChatGPT."""

    program = "chatgpt"

    def writing(self, home: Path) -> PlainWriter:
        return ChatGptWriter(home)


class TestClaudeAi(ExportContract):
    """Claude."""

    program = "claude-ai"

    def writing(self, home: Path) -> PlainWriter:
        return ClaudeWriter(home)


class TestOpencodeFiles(DatabaseContract):
    """opencode before its database."""

    program = "opencode"

    def writing(self, home: Path) -> PlainWriter:
        return OpencodeFilesPlain(home)


class TestMimoCode(DatabaseContract):
    """MiMo Code."""

    program = "mimo-code"

    def writing(self, home: Path) -> PlainWriter:
        return OpencodeFilesPlain(home, "mimocode")


class TestGoose(DatabaseContract):
    """Goose."""

    program = "goose"

    def writing(self, home: Path) -> PlainWriter:
        return GoosePlain(home)


class TestCrush(DatabaseContract):
    """Crush, which doesn't store the project in its database."""

    program = "crush"
    has_cwd = False

    def writing(self, home: Path) -> PlainWriter:
        return CrushPlain(home)


class TestHermes(DatabaseContract):
    """Hermes."""

    program = "hermes"

    def writing(self, home: Path) -> PlainWriter:
        return HermesPlain(home)


class TestGrokDev(DatabaseContract):
    """grok-dev."""

    program = "grok-dev"

    def writing(self, home: Path) -> PlainWriter:
        return GrokDevPlain(home)


class TestDevin(DatabaseContract):
    """Devin's command line."""

    program = "devin"

    def writing(self, home: Path) -> PlainWriter:
        return DevinPlain(home)


class DocumentContract(ProgramContract):
    """Conversations of a program with one document for each, whose messages only its content shows."""

    counts_messages = False


class TestZed(DocumentContract):
    """Zed."""

    program = "zed"
    has_times = False

    def writing(self, home: Path) -> PlainWriter:
        return ZedPlain(home)


class TestZedJson(DocumentContract):
    """Zed in early 2025."""

    program = "zed"
    has_times = False

    def writing(self, home: Path) -> PlainWriter:
        return ZedJsonPlain(home)


class TestKiroDatabase(DocumentContract):
    """Kiro's command line before its files."""

    program = "kiro-database"

    def writing(self, home: Path) -> PlainWriter:
        return KiroDatabasePlain(home)


class TestAmazonQ(DocumentContract):
    """Amazon Q, whose conversations have the id of their folder."""

    program = "amazon-q"
    has_cwd = False

    def writing(self, home: Path) -> PlainWriter:
        return AmazonQPlain(home)


class TestCursorWorkspace(DatabaseContract):
    """Early chats of Cursor."""

    program = "cursor-workspaces"
    has_times = False

    def writing(self, home: Path) -> PlainWriter:
        return CursorWorkspacePlain(home)


class TestWindsurfWorkspace(DatabaseContract):
    """Early chats of Windsurf."""

    program = "windsurf-workspaces"
    has_times = False

    def writing(self, home: Path) -> PlainWriter:
        return WindsurfWorkspacePlain(home)
