"""The catalog of programs: each row is consistent, and names the places that its program uses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from memd.programs.catalog import (
    KNOWN_SOURCES,
    OPENCLAW_SOURCE,
    PROGRAMS,
    Conversations,
    Places,
    ProgramNotes,
    how_to_open,
)
from memd.programs.program import ConversationDatabase, FileReader
from memd.programs.readers import reader_of
from memd.settings.sources import SourceConfig
from memd.sources.open import known_configs

HOME = Path("/home/ann")
CONVERSATIONS = {
    name: program.conversations for name, program in PROGRAMS.items() if program.conversations is not None
}
NOTES = {name: program.notes for name, program in PROGRAMS.items() if program.notes is not None}
EXPORTS = {"chatgpt", "claude-ai", "gemini-takeout"}
DATABASES = {
    *("opencode", "kilo", "mimo-code", "cursor-editor", "cursor-workspaces", "windsurf-workspaces"),
    *("goose", "zed", "crush", "hermes", "kiro-database", "amazon-q", "grok-dev", "devin"),
    *EXPORTS,
}
"""Programs whose conversations are in a database; those of the others are in files."""

Environ = Mapping[str, str]


def places(platform: str = "linux", **environ: str) -> Places:
    """Return the places of Ann."""
    return Places(HOME, environ, platform)


def paths_of(program: str, platform: str, environ: Environ) -> list[str]:
    """Return the folder of a program's conversations."""
    return [str(path) for path in Places(HOME, environ, platform).paths(CONVERSATIONS[program].places)]


# --- rows -------------------------------------------------------------------------------------------


def test_each_program_has_a_unique_name_and_something_that_memd_does_with_it() -> None:
    for name, program in PROGRAMS.items():
        assert program.name == name
        assert re.fullmatch(r"[a-z][a-z-]*", name)
        assert program.title
        assert any((program.conversations, program.notes, program.hooks, program.mcp)), name


def test_each_known_source_has_one_program_and_no_built_in_name() -> None:
    assert KNOWN_SOURCES.keys().isdisjoint({"memory", OPENCLAW_SOURCE})
    for name, known in KNOWN_SOURCES.items():
        part = known.program.conversations if known.kind == "transcripts" else known.program.notes
        assert part is not None
        assert known.title
        assert name == (part.source if isinstance(part, ProgramNotes) else known.program.name)
    notes = {row.source for row in NOTES.values()}
    conversations = {
        name for name, row in CONVERSATIONS.items() if row.places or row.finds_places or row.export
    }
    assert KNOWN_SOURCES.keys() == notes | conversations
    assert len(KNOWN_SOURCES) == len(NOTES) + len(conversations)


def test_each_known_source_can_be_added_under_its_name() -> None:
    assert known_configs() == [
        SourceConfig(name, name, known.kind, None)
        for name, known in KNOWN_SOURCES.items()
        if name not in EXPORTS
    ]


def test_exports_have_no_places_and_a_way_to_get_them() -> None:
    assert {name for name, row in CONVERSATIONS.items() if row.export} == EXPORTS
    assert all(not row.places for row in CONVERSATIONS.values() if row.export)
    assert {KNOWN_SOURCES[name].title for name in EXPORTS} == {"ChatGPT", "Claude", "Gemini"}


def test_openclaw_has_no_places_because_each_agent_has_its_own_folder() -> None:
    assert CONVERSATIONS["openclaw"].places == ()
    assert "openclaw" not in KNOWN_SOURCES


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_reader_of_each_program_can_be_imported_and_is_of_its_kind(name: str) -> None:
    reader = reader_of(CONVERSATIONS[name])
    if name in DATABASES:
        assert callable(reader)
        assert isinstance(reader(HOME / "storage"), ConversationDatabase)
    else:
        assert isinstance(reader, FileReader)
        assert reader.transcript_at("README.md") is None


@pytest.mark.parametrize("name", NOTES)
def test_patterns_of_notes_compile_and_match_no_hidden_settings(name: str) -> None:
    notes = NOTES[name]
    for pattern in (notes.wanted, notes.walked or "", *notes.in_projects):
        re.compile(pattern)
        assert re.fullmatch(pattern, "settings.json") is None
    assert notes.folder or notes.listed_in
    assert bool(notes.folder) == bool(notes.wanted)
    assert not any(notes.in_projects) or notes.listed_in


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("claude-code", "CLAUDE.md"),
        ("claude-code", "rules/python/style.md"),
        ("claude-code", "projects/-home-ann-shop/memory/MEMORY.md"),
        ("claude-code", "agent-memory/reviewer/a.md"),
        ("codex", "AGENTS.override.md"),
        ("codex", "memories/rollout_summaries/a.md"),
        ("gemini", "tmp/shop/memory/a.md"),
        ("hermes", "profiles/work/memories/MEMORY.md"),
        ("hermes", "memories/USER.md"),
        ("opencode", "AGENTS.md"),
        ("basic-memory", "projects/shop/ports.md"),
    ],
)
def test_folders_on_the_way_to_a_note_are_walked(name: str, note: str) -> None:
    notes = NOTES[name]
    assert re.fullmatch(notes.wanted, note)
    parts = note.split("/")[:-1]
    for count in range(1, len(parts) + 1):
        assert notes.walked is None or re.fullmatch(notes.walked, "/".join(parts[:count])), note


# --- places of conversations and notes --------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "platform", "environ", "expected"),
    [
        ("claude-code", "linux", {}, ["/home/ann/.claude/projects"]),
        ("claude-code", "darwin", {}, ["/home/ann/.claude/projects"]),
        ("claude-code", "darwin", {"CLAUDE_CONFIG_DIR": "/srv/claude"}, ["/srv/claude/projects"]),
        ("codex", "linux", {}, ["/home/ann/.codex"]),
        ("codex", "darwin", {"CODEX_HOME": "/data/codex"}, ["/data/codex"]),
        ("gemini", "linux", {}, ["/home/ann/.gemini/tmp"]),
        ("gemini", "darwin", {"GEMINI_CLI_HOME": "/data"}, ["/data/.gemini/tmp"]),
        ("cursor", "linux", {}, ["/home/ann/.cursor/projects"]),
        ("cursor", "darwin", {"XDG_CONFIG_HOME": "/x"}, ["/home/ann/.cursor/projects"]),
        ("copilot", "linux", {}, ["/home/ann/.copilot/session-state"]),
        ("copilot", "darwin", {"COPILOT_HOME": "/srv/copilot"}, ["/srv/copilot/session-state"]),
        (
            "cursor-editor",
            "linux",
            {},
            ["/home/ann/.config/Cursor/User/globalStorage/state.vscdb"],
        ),
        (
            "cursor-editor",
            "linux",
            {"XDG_CONFIG_HOME": "/config"},
            ["/config/Cursor/User/globalStorage/state.vscdb"],
        ),
        (
            "cursor-editor",
            "darwin",
            {"XDG_CONFIG_HOME": "/config"},
            ["/home/ann/Library/Application Support/Cursor/User/globalStorage/state.vscdb"],
        ),
        (
            "opencode",
            "linux",
            {},
            ["/home/ann/.local/share/opencode/opencode.db", "/home/ann/.local/share/opencode/storage"],
        ),
        (
            "opencode",
            "darwin",
            {},
            ["/home/ann/.local/share/opencode/opencode.db", "/home/ann/.local/share/opencode/storage"],
        ),
        (
            "opencode",
            "linux",
            {"XDG_DATA_HOME": "/data"},
            ["/data/opencode/opencode.db", "/data/opencode/storage"],
        ),
        (
            "opencode",
            "linux",
            {"OPENCODE_DB": "/a/b.db"},
            [
                "/a/b.db",
                "/home/ann/.local/share/opencode/opencode.db",
                "/home/ann/.local/share/opencode/storage",
            ],
        ),
        (
            "opencode",
            "linux",
            {"OPENCODE_DB": "b.db", "XDG_DATA_HOME": "/data"},
            ["/data/opencode/b.db", "/data/opencode/opencode.db", "/data/opencode/storage"],
        ),
        (
            "opencode",
            "linux",
            {"OPENCODE_DB": ":memory:"},
            ["/home/ann/.local/share/opencode/opencode.db", "/home/ann/.local/share/opencode/storage"],
        ),
        (
            "opencode",
            "linux",
            {"OPENCODE_DB": " "},
            ["/home/ann/.local/share/opencode/opencode.db", "/home/ann/.local/share/opencode/storage"],
        ),
        (
            "opencode",
            "linux",
            {"KILO_DB": "/a/k.db"},
            ["/home/ann/.local/share/opencode/opencode.db", "/home/ann/.local/share/opencode/storage"],
        ),
        (
            "kilo",
            "linux",
            {"KILO_DB": "/a/k.db", "OPENCODE_DB": "/a/o.db"},
            ["/a/k.db", "/home/ann/.local/share/kilo/kilo.db"],
        ),
        ("openclaw", "linux", {}, []),
        ("cline", "linux", {}, ["/home/ann/.cline/data/sessions"]),
        ("cline", "linux", {"CLINE_DIR": "/x"}, ["/x/data/sessions"]),
        ("cline", "darwin", {"CLINE_DIR": "/x", "CLINE_DATA_DIR": "/y"}, ["/y/sessions"]),
        ("cline", "linux", {"CLINE_DATA_DIR": "/y", "CLINE_SESSION_DATA_DIR": "/z"}, ["/z"]),
        ("continue", "linux", {}, ["/home/ann/.continue/sessions"]),
        ("continue", "darwin", {"CONTINUE_GLOBAL_DIR": "/x"}, ["/x/sessions"]),
        ("amp", "darwin", {}, ["/home/ann/.local/share/amp/threads"]),
        (
            "kiro-editor",
            "darwin",
            {},
            [
                "/home/ann/Library/Application Support/Kiro/User/globalStorage/kiro.kiroagent/workspace-sessions"
            ],
        ),
        ("aider", "linux", {}, ["/home/ann"]),
        ("goose", "darwin", {}, ["/home/ann/.local/share/goose/sessions/sessions.db"]),
        ("hermes", "linux", {"HERMES_HOME": "/h"}, ["/h/state.db"]),
        ("grok-dev", "linux", {}, ["/home/ann/.grok/grok.db"]),
        ("devin", "linux", {"XDG_DATA_HOME": "/data"}, ["/data/devin/cli/sessions.db"]),
        ("mimo-code", "linux", {}, ["/home/ann/.local/share/mimocode/storage"]),
        ("crush", "linux", {}, []),
    ],
)
def test_conversations_have_their_place(
    program: str, platform: str, environ: Environ, expected: list[str]
) -> None:
    assert paths_of(program, platform, environ) == expected


@pytest.mark.parametrize(
    ("platform", "environ", "applications"),
    [
        ("linux", {}, "/home/ann/.config"),
        ("linux", {"XDG_CONFIG_HOME": "/srv/config"}, "/srv/config"),
        ("darwin", {"XDG_CONFIG_HOME": "/srv/config"}, "/home/ann/Library/Application Support"),
    ],
)
def test_copilot_has_a_place_in_each_editor_and_on_remote_machines(
    platform: str, environ: Environ, applications: str
) -> None:
    users = [
        *(
            f"{applications}/{name}/User"
            for name in ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
        ),
        "/home/ann/.vscode-server/data/User",
        "/home/ann/.vscode-server-insiders/data/User",
        "/home/ann/.cursor-server/data/User",
        "/home/ann/.windsurf-server/data/User",
    ]
    stores = (
        "workspaceStorage",
        "globalStorage/emptyWindowChatSessions",
        "globalStorage/transferredChatSessions",
    )
    assert paths_of("copilot-vscode", platform, environ) == [
        f"{user}/{store}" for store in stores for user in users
    ]
    tasks = [f"{user}/globalStorage/saoudrizwan.claude-dev/tasks" for user in users]
    assert paths_of("cline-vscode", platform, environ) == tasks


def test_databases_of_all_channels_are_found(tmp_path: Path) -> None:
    folder = tmp_path / ".local/share/opencode"
    folder.mkdir(parents=True)
    for name in ("opencode.db", "opencode-dev.db", "opencode-dev.db-wal", "opencode-beta.db", "other.db"):
        (folder / name).touch()
    found = Places(tmp_path, {"OPENCODE_DB": "opencode-dev.db"}, "linux").paths(
        CONVERSATIONS["opencode"].places
    )
    names = ["opencode-dev.db", "opencode.db", "opencode-beta.db", "storage"]
    assert found == [folder / name for name in names]


@pytest.mark.parametrize(
    ("program", "platform", "environ", "folder", "listed_in"),
    [
        ("claude-code", "linux", {}, "/home/ann/.claude", "/home/ann/.claude.json"),
        ("claude-code", "linux", {"CLAUDE_CONFIG_DIR": "/x"}, "/x", "/x/.claude.json"),
        ("codex", "linux", {}, "/home/ann/.codex", "/home/ann/.codex/config.toml"),
        ("codex", "darwin", {"CODEX_HOME": "/x"}, "/x", "/x/config.toml"),
        ("gemini", "linux", {}, "/home/ann/.gemini", "/home/ann/.gemini/projects.json"),
        ("gemini", "darwin", {"GEMINI_CLI_HOME": "/x"}, "/x/.gemini", "/x/.gemini/projects.json"),
        ("opencode", "linux", {}, "/home/ann/.config/opencode", ""),
        ("hermes", "linux", {}, "/home/ann/.hermes", ""),
        ("basic-memory", "darwin", {}, "/home/ann/basic-memory", ""),
        ("obsidian", "linux", {}, "", "/home/ann/.config/obsidian/obsidian.json"),
        ("obsidian", "linux", {"XDG_CONFIG_HOME": "/x"}, "", "/x/obsidian/obsidian.json"),
        (
            "obsidian",
            "darwin",
            {"XDG_CONFIG_HOME": "/x"},
            "",
            "/home/ann/Library/Application Support/obsidian/obsidian.json",
        ),
    ],
)
def test_notes_have_their_place(
    program: str, platform: str, environ: Environ, folder: str, listed_in: str
) -> None:
    notes, where = NOTES[program], Places(HOME, environ, platform)
    assert [str(where.path(pattern)) if pattern else "" for pattern in (notes.folder, notes.listed_in)] == [
        folder,
        listed_in,
    ]


# --- patterns of places -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "environ", "expected"),
    [
        ("~/a/b", {}, "/home/ann/a/b"),
        ("/srv/a", {}, "/srv/a"),
        ("{X:~/.x}/a", {}, "/home/ann/.x/a"),
        ("{X:~/.x}/a", {"X": ""}, "/home/ann/.x/a"),
        ("{X:~/.x}/a", {"X": " /srv/x "}, "/srv/x/a"),
        ("~/a/{X}", {"X": "b.db"}, "/home/ann/a/b.db"),
        ("~/a/{X}", {"X": "/b.db"}, "/b.db"),
    ],
)
def test_pattern_means_a_path(pattern: str, environ: Environ, expected: str) -> None:
    assert str(Places(HOME, environ, "linux").path(pattern)) == expected


@pytest.mark.parametrize("environ", [{}, {"X": ""}, {"X": " "}, {"X": ":memory:"}])
def test_pattern_that_needs_a_variable_means_nothing_without_it(environ: Environ) -> None:
    where = Places(HOME, environ, "linux")
    assert where.path("~/a/{X}") is None
    assert where.paths(["~/a/{X}", "~/a/b"]) == [HOME / "a/b"]


def test_variable_may_begin_with_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(HOME))
    assert places(CODEX_HOME="~/codex").path("{CODEX_HOME:~/.codex}") == HOME / "codex"


def test_paths_are_named_once(tmp_path: Path) -> None:
    for name in ("a-2.db", "a-1.db", "a.db"):
        (tmp_path / name).touch()
    where = Places(tmp_path, {"X": str(tmp_path / "a-2.db")}, "linux")
    assert [path.name for path in where.paths(["~/{X}", "~/a.db", "~/a-*.db", "~/none/*.db"])] == [
        "a-2.db",
        "a.db",
        "a-1.db",
    ]


# --- commands that open a conversation --------------------------------------------------------------


@pytest.mark.parametrize(
    ("program", "session", "command"),
    [
        ("claude-code", "0199a213", "claude --resume 0199a213"),
        ("claude-code", "agent-a1", ""),
        ("codex", "0199a213", "codex resume 0199a213"),
        ("codex", "a b; c", "codex resume 'a b; c'"),
        ("gemini", "0199a213", "gemini --resume 0199a213"),
        ("cursor", "c1", "cursor-agent --resume c1"),
        ("copilot", "0199a213", "copilot --resume 0199a213"),
        ("opencode", "a b", "opencode --session 'a b'"),
        ("kilo", "ses_1", "kilo --session ses_1"),
        ("cline", "1795851742480_v4viw", "cline --id 1795851742480_v4viw"),
        ("continue", "0199a213", "cn --fork 0199a213"),
        ("roo-code", "0199a213", ""),
        ("aider", "/home/ann/shop", ""),
        ("copilot-vscode", "0199a213", ""),
        ("cursor-editor", "c1", ""),
        ("openclaw", "0199a213", ""),
        ("hermes", "0199a213", "hermes --resume 0199a213"),
        ("goose", "20261102_1", "goose session --resume --session-id 20261102_1"),
        ("crush", "0199a213", "crush --session 0199a213"),
        ("zed", "0199a213", ""),
        ("no-program", "0199a213", ""),
    ],
)
def test_command_opens_a_session_if_its_program_has_one(program: str, session: str, command: str) -> None:
    assert how_to_open(program, session) == command


def test_sessions_that_can_not_be_opened_have_a_pattern() -> None:
    for conversations in CONVERSATIONS.values():
        assert isinstance(conversations, Conversations)
        re.compile(conversations.not_opened)
        assert not conversations.not_opened or conversations.opener


# --- hooks and MCP servers --------------------------------------------------------------------------
