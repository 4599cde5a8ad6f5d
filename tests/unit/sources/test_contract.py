"""The contract of sources, for each of them: notes, OpenClaw's stores, and the programs of the catalog."""

from __future__ import annotations

import sys
from pathlib import Path

from memd.programs.catalog import KNOWN_SOURCES
from memd.sources.notes import WorkspaceNotes
from memd.sources.openclaw import OpenClawConversations
from memd.sources.source import MEMORY, Source
from tests.contracts.program import MAX_NOTE_BYTES, DatabaseContract, ProgramContract, opened
from tests.contracts.source import (
    ONE,
    LimitedConversationContract,
    SourceContract,
)
from tests.support.transcript_programs.openclaw_plain import (
    OpenClawDatabasePlain,
    OpenClawFilesPlain,
    OpenClawPlain,
)
from tests.support.transcript_programs.opencode import V2_MESSAGE, V2_SESSION
from tests.support.transcript_programs.plain import (
    CursorEditorPlain,
    CursorLines,
    NotesWriter,
    OpencodePlain,
    PlainWriter,
    claude_code,
    codex,
    copilot,
    copilot_chat,
    gemini,
)
from tests.support.transcripts import (
    MAX_TRANSCRIPT_BYTES,
    TranscriptHome,
    conversation,
    database_of,
    files_of,
    header,
    message,
)
from tests.unit.sources import test_contract_documents, test_contract_lines, test_contract_tables

HEARTBEAT = "Read HEARTBEAT.md if it exists. If nothing needs attention, reply HEARTBEAT_OK."


class TestWorkspace(SourceContract):
    """Notes in a workspace."""

    name = MEMORY

    def writing(self, home: Path) -> PlainWriter:
        return NotesWriter(home, "workspace/memory/plans")

    def open(self, home: Path) -> Source:
        return WorkspaceNotes(home / "workspace", (), MAX_NOTE_BYTES)

    def path(self, session: str) -> str:
        return f"memory/plans/{session}.md"


class TestVault(SourceContract):
    """A folder of notes that the settings name."""

    name = "vault"

    def writing(self, home: Path) -> PlainWriter:
        return NotesWriter(home, "Vault/Projects")

    def open(self, home: Path) -> Source:
        return opened(home, "vault", path=home / "Vault")

    def path(self, session: str) -> str:
        return f"vault/Projects/{session}.md"


class TestNotesOfProgram(SourceContract):
    """Notes of a program, in its own folder."""

    name = "codex-notes"

    def writing(self, home: Path) -> PlainWriter:
        return NotesWriter(home, ".codex/memories")

    def open(self, home: Path) -> Source:
        return opened(home, "codex-notes", "codex-notes")

    def path(self, session: str) -> str:
        return f"codex-notes/memories/{session}.md"


class OpenClawContract(LimitedConversationContract):
    """What OpenClaw's conversations promise in addition, from each of its stores and from both."""

    name = "sessions"
    program = "openclaw"
    keeps_facts = has_times = has_cwd = False

    def path(self, session: str) -> str:
        return f"sessions/{session}.jsonl"

    def openclaw(self, home: Path) -> OpenClawPlain:
        """Return a writer of the store."""
        raise NotImplementedError

    def writing(self, home: Path) -> PlainWriter:
        return self.openclaw(home)

    def test_scaffolding_and_secrets_are_removed(self, writer: OpenClawPlain, source: Source) -> None:
        writer.add(
            ONE,
            message("user", "[Telegram Ann id:7 2026-01-05 10:00 UTC] my key is ghp_" + "a1B2" * 9),
            message("user", HEARTBEAT),
            message("assistant", "HEARTBEAT_OK"),
            message("assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "noted"}]),
            message("system", "be kind"),
        )
        text = self.load(source, ONE)
        assert text.text == "User: my key is [redacted:github-token]\nAssistant: noted"
        assert text.redactions == 1

    def test_each_line_has_the_number_of_its_record(self, writer: OpenClawPlain, source: Source) -> None:
        writer.add(ONE, header(ONE), message("user", "a"), "{", message("assistant", "b"))
        first = writer.first
        assert self.load(source, ONE).line_map == (first + 1, first + 3)

    def test_output_of_tools_is_no_message(self, writer: OpenClawPlain, source: Source) -> None:
        writer.add(ONE, *conversation(ONE, 4))
        text = self.load(source, ONE)
        assert len(text.line_map) == len(text.text.split("\n")) == 8
        assert text.text.startswith(f"User: Question 0 of {ONE}\nAssistant: Answer 0")
        assert "printed" not in text.text

    def test_kind_of_a_session_is_known_by_its_id(self, writer: OpenClawPlain, source: Source) -> None:
        writer.write_others()
        writer.add(ONE, *conversation(ONE, 1), key="agent:main:direct:ann")
        found = source.find()
        assert set(found.files) == {self.path(ONE)}
        assert found.kinds["h"] == "heartbeat"

    def test_path_of_a_session_is_known_by_its_key(self, writer: OpenClawPlain, source: Source) -> None:
        writer.write_others()
        writer.add(ONE, *conversation(ONE, 1), key="agent:main:direct:ann")
        assert source.find().by_key == {"agent:main:direct:ann": self.path(ONE)}


class TestOpenClawFiles(OpenClawContract):
    """Files of older releases."""

    def openclaw(self, home: Path) -> OpenClawPlain:
        return OpenClawFilesPlain(home)

    def open(self, home: Path) -> Source:
        return files_of(TranscriptHome(home))


class TestOpenClawDatabase(OpenClawContract):
    """The database."""

    counts_bytes = False

    def openclaw(self, home: Path) -> OpenClawPlain:
        return OpenClawDatabasePlain(home)

    def open(self, home: Path) -> Source:
        return database_of(TranscriptHome(home))


class BothStoresContract(OpenClawContract):
    """Both stores together."""

    store: str

    def open(self, home: Path) -> Source:
        return OpenClawConversations(home, "main", MAX_TRANSCRIPT_BYTES, with_work=True)

    def test_conversations_are_counted_by_store(self, writer: OpenClawPlain, source: Source) -> None:
        for number in range(3):
            writer.append(f"s{number}", "user", "hello")
        assert source.find().stores == {"jsonl": 0, "sqlite": 0, self.store: 3}


class TestBothStoresWithFiles(BothStoresContract, TestOpenClawFiles):
    """Both stores, with conversations in files."""

    store = "jsonl"


class TestBothStoresWithDatabase(BothStoresContract, TestOpenClawDatabase):
    """Both stores, with conversations in the database."""

    store = "sqlite"


class TestClaudeCode(ProgramContract):
    """Claude Code."""

    program = "claude-code"

    def writing(self, home: Path) -> PlainWriter:
        return claude_code(home)


class TestCodex(ProgramContract):
    """Codex."""

    program = "codex"

    def writing(self, home: Path) -> PlainWriter:
        return codex(home)


class TestGeminiSource(ProgramContract):
    """Gemini CLI."""

    program = "gemini"
    file_name = "session-2026-11-02T08-00-{session}"

    def writing(self, home: Path) -> PlainWriter:
        return gemini(home)


class TestCopilot(ProgramContract):
    """Copilot CLI."""

    program = "copilot"

    def writing(self, home: Path) -> PlainWriter:
        return copilot(home)


class TestCopilotInVsCode(ProgramContract):
    """Copilot in VS Code."""

    program = "copilot-vscode"

    def writing(self, home: Path) -> PlainWriter:
        return copilot_chat(home)


class TestCursor(ProgramContract):
    """Cursor's command line."""

    program = "cursor"
    has_times = has_cwd = False

    def writing(self, home: Path) -> PlainWriter:
        return CursorLines(home)


class TestCursorEditor(DatabaseContract):
    """Cursor's editor."""

    program = "cursor-editor"

    def writing(self, home: Path) -> PlainWriter:
        return CursorEditorPlain(home)


class TestOpencode(DatabaseContract):
    """opencode 1.x."""

    program = "opencode"

    def writing(self, home: Path) -> PlainWriter:
        return OpencodePlain(home, "opencode")


class TestOpencode2(DatabaseContract):
    """opencode 2.x."""

    program = "opencode"

    def writing(self, home: Path) -> PlainWriter:
        return OpencodePlain(home, "opencode", V2_SESSION + V2_MESSAGE)


class TestKilo(DatabaseContract):
    """Kilo."""

    program = "kilo"

    def writing(self, home: Path) -> PlainWriter:
        return OpencodePlain(home, "kilo")


def test_every_program_with_conversations_is_tested() -> None:
    modules = (sys.modules[__name__], test_contract_documents, test_contract_lines, test_contract_tables)
    classes = [value for module in modules for name, value in vars(module).items() if name.startswith("Test")]
    tested = {contract.program for contract in classes if hasattr(contract, "program")}
    known = {name for name, source in KNOWN_SOURCES.items() if source.kind == "transcripts"}
    # Activities of Takeout are pairs of a prompt and an answer, which can't be written in turns.
    assert tested - {"openclaw"} == known - {"gemini-takeout"}
