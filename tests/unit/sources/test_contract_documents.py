"""Sources of programs with documents, and aider, keep the contract."""

from __future__ import annotations

from pathlib import Path

from memd.programs.program import name_of_session
from memd.sources.source import Source
from tests.contracts.program import ProgramContract, opened
from tests.support.transcript_programs.aider import AiderWriter
from tests.support.transcript_programs.documents import (
    AMP,
    CHAT,
    CLINE,
    CLINE_VSCODE,
    CONTINUE,
    KILO_VSCODE,
    KIRO,
    ROO_CODE,
    ChatLogWriter,
    DocumentsWriter,
)
from tests.support.transcript_programs.plain import (
    PlainWriter,
)


class TestCline(ProgramContract):
    """Cline's command line."""

    program = "cline"

    def writing(self, home: Path) -> PlainWriter:
        return DocumentsWriter(home, CLINE)


class TestClineInVsCode(ProgramContract):
    """Cline in VS Code."""

    program = "cline-vscode"

    def writing(self, home: Path) -> PlainWriter:
        return DocumentsWriter(home, CLINE_VSCODE)


class TestRooCode(ProgramContract):
    """Roo Code."""

    program = "roo-code"

    def writing(self, home: Path) -> PlainWriter:
        return DocumentsWriter(home, ROO_CODE)


class TestKiloInVsCode(ProgramContract):
    """Kilo Code's extension, which records no folder."""

    program = "kilo-vscode"
    has_cwd = False

    def writing(self, home: Path) -> PlainWriter:
        return DocumentsWriter(home, KILO_VSCODE)


class TestContinue(ProgramContract):
    """Continue."""

    program = "continue"
    has_times = False

    def writing(self, home: Path) -> PlainWriter:
        return DocumentsWriter(home, CONTINUE)


class TestKiroEditor(ProgramContract):
    """Kiro's editor."""

    program = "kiro-editor"
    has_times = False

    def writing(self, home: Path) -> PlainWriter:
        return DocumentsWriter(home, KIRO)


class TestAmp(ProgramContract):
    """Amp."""

    program = "amp"
    file_name = "T-{session}"

    def writing(self, home: Path) -> PlainWriter:
        return DocumentsWriter(home, AMP)


class TestChatInVsCode(ProgramContract):
    """VS Code's own documents of chats."""

    program = "copilot-vscode"

    def writing(self, home: Path) -> PlainWriter:
        return DocumentsWriter(home, CHAT)


class TestChatLogInVsCode(ProgramContract):
    """VS Code's own logs of chats."""

    program = "copilot-vscode"

    def writing(self, home: Path) -> PlainWriter:
        return ChatLogWriter(home)


class TestAider(ProgramContract):
    """aider, in a folder of projects. A session is a project's file, and its id is the project's folder."""

    program = "aider"
    counts_unknown = False
    lines_per_message = 2

    def writing(self, home: Path) -> PlainWriter:
        self.home = home
        return AiderWriter(home)

    def open(self, home: Path) -> Source:
        self.home = home
        return opened(home, "aider", "aider", home)

    def path(self, session: str) -> str:
        return f"aider/{name_of_session(self.id_of(session))}"

    def id_of(self, session: str) -> str:
        return str(self.home / session)

    def cwd_of(self, session: str) -> str:
        return self.id_of(session)
