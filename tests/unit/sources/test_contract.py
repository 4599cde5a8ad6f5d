"""The contract of sources, for each of them: notes, OpenClaw's stores, and the programs of the catalog."""

from __future__ import annotations

from pathlib import Path

from memd.programs.catalog import KNOWN_SOURCES, Places
from memd.programs.program import name_of_session
from memd.settings.sources import SourceConfig
from memd.sources.notes import WorkspaceNotes
from memd.sources.open import open_source
from memd.sources.openclaw import OpenClawConversations
from memd.sources.source import MEMORY, Source
from tests.contracts.source import (
    ONE,
    ConversationContract,
    LimitedConversationContract,
    SourceContract,
)
from tests.support.transcript_programs import lines_plain
from tests.support.transcript_programs.aider import AiderWriter
from tests.support.transcript_programs.document_stores import (
    AmazonQPlain,
    CursorWorkspacePlain,
    KiroDatabasePlain,
    OpencodeFilesPlain,
    WindsurfWorkspacePlain,
    ZedJsonPlain,
    ZedPlain,
)
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
from tests.support.transcript_programs.exports import ChatGptWriter, ClaudeWriter
from tests.support.transcript_programs.opencode import V2_MESSAGE, V2_SESSION
from tests.support.transcript_programs.plain import (
    CursorEditorPlain,
    CursorLines,
    NotesWriter,
    OpenClawDatabasePlain,
    OpenClawFilesPlain,
    OpenClawPlain,
    OpencodePlain,
    PlainWriter,
    claude_code,
    codex,
    copilot,
    copilot_chat,
    gemini,
)
from tests.support.transcript_programs.tables import (
    CrushPlain,
    DevinPlain,
    GoosePlain,
    GrokDevPlain,
    HermesPlain,
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

MAX_NOTE_BYTES = 1_000_000
HEARTBEAT = "Read HEARTBEAT.md if it exists. If nothing needs attention, reply HEARTBEAT_OK."


def opened(home: Path, name: str, program: str = "", path: Path | None = None) -> Source:
    """Return a source that the settings add."""
    kind = KNOWN_SOURCES[program].kind if program else "notes"
    return open_source(
        SourceConfig(name, program, kind, path), Places(home, {}, "linux"), MAX_NOTE_BYTES
    ).source


# --- notes ------------------------------------------------------------------------------------------


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


# --- OpenClaw ---------------------------------------------------------------------------------------


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
        return OpenClawConversations(home, "main", MAX_TRANSCRIPT_BYTES)

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


# --- programs of the catalog ------------------------------------------------------------------------


class ProgramContract(ConversationContract):
    """Conversations of a program, in its own folder or database below the home."""

    file_name = "{session}"

    @property
    def name(self) -> str:  # type: ignore[override]
        """The source has the name of its program."""
        return self.program

    def open(self, home: Path) -> Source:
        return opened(home, self.program, self.program)

    def path(self, session: str) -> str:
        return f"{self.program}/{self.file_name.format(session=session)}"


class DatabaseContract(ProgramContract):
    """Conversations of a program with a database."""

    counts_bytes = False


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


def test_every_program_with_conversations_is_tested() -> None:
    contracts = (ProgramContract, DatabaseContract, DocumentContract, ExportContract)
    subclasses = [program for contract in contracts for program in contract.__subclasses__()]
    tested = {program.program for program in subclasses if hasattr(program, "program")}
    known = {name for name, source in KNOWN_SOURCES.items() if source.kind == "transcripts"}
    # Activities of Takeout are pairs of a prompt and an answer, which can't be written in turns.
    assert tested == known - {"gemini-takeout"}
