"""The programs that memd works with, one row each: the places of their files, and the form of their settings.

A path may begin with `~`, and a part of it may be in braces: `{CODEX_HOME:~/.codex}` is the folder in that variable,
else the default; `{OPENCODE_DB}` without a default makes the path invalid if the variable is not set; `{applications}`
is the folder in which applications keep their settings. A last part with `*` stands for all files that match.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct, field

SourceKind: TypeAlias = Literal["transcripts", "notes"]

OPENCLAW_SOURCE: Final = "sessions"
"""Name of the source that is an agent's own conversations with OpenClaw, and of its folder there."""

MCP_SERVER: Final = "memd"
"""Name of memd's entry in the settings of MCP clients."""

HOOK_TIMEOUT_S: Final = 5
"""Limit in a program's settings; a hook takes at most two seconds, if its input is missing."""

CODEX_HOOK_TIMEOUT_S: Final = 3
"""Codex shortens a longer limit at the end of a session, and warns about it at every start."""

_PART = re.compile(r"/(?![^{]*\})")


class Places(NamedTuple):
    """What decides in which folders programs keep their files: the home folder, the environment, `sys.platform`."""

    home: Path
    environ: Mapping[str, str]
    platform: str = sys.platform

    def path(self, pattern: str) -> Path | None:
        """Return the path that a pattern of the catalog means; None if it needs a variable that is not set."""
        path = Path()
        for part in _PART.split(pattern):
            if part.startswith("{"):
                name, _, default = part[1:-1].partition(":")
                value = self.environ.get(name, "").strip()
                if name == "applications":
                    is_mac = self.platform == "darwin"
                    found = self.path(
                        "~/Library/Application Support" if is_mac else "{XDG_CONFIG_HOME:~/.config}"
                    )
                elif value:
                    found = None if value == ":memory:" else Path(value).expanduser()
                else:
                    found = self.path(default) if default else None
                if found is None:
                    return None
                path /= found
            else:
                path /= self.home if part == "~" else part or "/"
        return path

    def paths(self, patterns: Iterable[str]) -> list[Path]:
        """Return the paths that some patterns mean, each once; they may be missing (blocking)."""
        found: list[Path] = []
        for path in map(self.path, patterns):
            if path is not None and "*" in path.name:
                try:
                    found += sorted(path.parent.glob(path.name))
                except OSError:
                    continue
            elif path is not None:
                found.append(path)
        return list(dict.fromkeys(found))


class Conversations(NamedTuple):
    """A program's conversations.

    Attributes:
        reader: The module of this package that reads them.
        places: Folders of transcripts, or databases.
        opener: The command that opens a session, without its id: `claude --resume`; empty without one.
        not_opened: Matches the ids of sessions that can't be opened.
        title: The title of the source, if it isn't that of the program.
    """

    reader: str
    places: tuple[str, ...]
    opener: str = ""
    not_opened: str = ""
    title: str = ""


class ProgramNotes(NamedTuple):
    """A program's notes and instructions.

    Attributes:
        source: Name of the source.
        folder: The folder that the program keeps for all projects; empty if there is none.
        wanted: Matches the notes by their path below the folder.
        walked: Matches the folders below it that may have notes; None: all but hidden ones.
        listed_in: The file that lists projects, or vaults of notes.
        in_projects: The same as `wanted` and `walked`, for the folders of projects.
    """

    source: str
    folder: str = ""
    wanted: str = ""
    walked: str | None = None
    listed_in: str = ""
    in_projects: tuple[str, str] = ("", "")


class Hooks(Struct, frozen=True):
    """The form of hooks in a program's settings.

    Attributes:
        file: The user's file with hooks.
        events: The program's name of each event.
        handler: The keys of a hook besides its command.
        next_step: What to do after installing.
        is_grouped: Hooks are in groups, each with a list `hooks`; otherwise directly below their event.
        command_key: The key of the command.
        top: Further keys that a new file needs.
        is_own_file: The file holds memd's hooks alone, so it is deleted with them.
        manifest: The file that makes the folder an extension; empty if the program needs none.
    """

    file: str
    events: Mapping[str, str]
    handler: Mapping[str, Any]
    next_step: str
    is_grouped: bool = True
    command_key: str = "command"
    top: Mapping[str, Any] = field(default_factory=dict)
    is_own_file: bool = False
    manifest: str = ""

    def hook(self, command: str) -> dict[str, Any]:
        """Return the hook that runs a command."""
        return {**self.handler, self.command_key: command}

    def item(self, hook: Mapping[str, Any]) -> dict[str, Any]:
        """Return a hook as an item of its event's list."""
        return {"hooks": [dict(hook)]} if self.is_grouped else dict(hook)


class Mcp(Struct, frozen=True):
    """The form of an MCP server in a program's settings.

    Attributes:
        files: The user's settings; of several names the first that exists, else the first.
        section: The key of all servers.
        project: The file in a project's folder; empty if there is none.
        next_step: What to do after installing.
        fields: Further keys of an entry.
        is_joined: Whether an entry's `command` is the program with its arguments, and its variables are `environment`.
    """

    files: tuple[str, ...]
    section: str
    project: str
    next_step: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    is_joined: bool = False

    def file(self, places: Places) -> Path:
        """Return the user's settings."""
        paths = places.paths(self.files)
        return next((path for path in paths if path.exists()), paths[0])

    def entry(self, command: str, agent: str | None, environ: Mapping[str, str]) -> dict[str, Any]:
        """Return the entry for memd."""
        arguments = ["mcp", *(["--agent", agent] if agent else [])]
        if self.is_joined:
            entry: dict[str, Any] = {**self.fields, "command": [command, *arguments]}
        else:
            entry = {**self.fields, "command": command, "args": arguments}
        return entry | ({self.variables_key: dict(environ)} if environ else {})

    @property
    def variables_key(self) -> str:
        """The key of an entry's environment variables."""
        return "environment" if self.is_joined else "env"

    def command_of(self, entry: Mapping[str, Any]) -> list[str]:
        """Return the program of an entry and its arguments; may raise `LookupError` or `TypeError`."""
        return [*entry["command"]] if self.is_joined else [entry["command"], *entry["args"]]


class Program(NamedTuple):
    """A program: its name on the command line and in settings, its title for users, and what memd does with it."""

    name: str
    title: str
    conversations: Conversations | None = None
    notes: ProgramNotes | None = None
    hooks: Hooks | None = None
    mcp: Mcp | None = None


_CLAUDE_EVENTS: Final = {
    "session_start": "SessionStart",
    "prompt": "UserPromptSubmit",
    "compaction": "PreCompact",
    "session_end": "SessionEnd",
}
_NEW_SESSION: Final = "start a new session to use the hooks"
_LISTS_MEMD: Final = "start a new session; /mcp lists memd"
_EDITORS: Final = ("Code", "Code - Insiders", "VSCodium")
_SERVERS: Final = (".vscode-server", ".vscode-server-insiders")


def _opencode(name: str) -> Conversations:
    """Return the conversations of opencode, or of a program with the same database in a folder of another name."""
    folder = f"{{XDG_DATA_HOME:~/.local/share}}/{name}"
    places = f"{folder}/{{{name.upper()}_DB}}", f"{folder}/{name}.db", f"{folder}/{name}-*.db"
    return Conversations("opencode", places, f"{name} --session")


PROGRAMS: Final[Mapping[str, Program]] = {
    program.name: program
    for program in (
        Program("openclaw", "OpenClaw", Conversations("openclaw", ())),
        Program(
            "claude-code",
            "Claude Code",
            Conversations(
                "claude_code",
                ("{CLAUDE_CONFIG_DIR:~/.claude}/projects",),
                "claude --resume",
                r"agent-[A-Za-z0-9_-]{1,100}",
            ),
            ProgramNotes(
                "claude-code-notes",
                "{CLAUDE_CONFIG_DIR:~/.claude}",
                r"CLAUDE\.md|rules/.+\.md|projects/[^/]+/memory/.+\.md|agent-memory/.+\.md",
                r"rules(/.+)?|projects(/[^/]+(/memory(/.+)?)?)?|agent-memory(/.+)?",
                "{CLAUDE_CONFIG_DIR:~}/.claude.json",
                (
                    r"CLAUDE(\.local)?\.md|\.claude/CLAUDE\.md|\.claude/rules/.+\.md",
                    r"\.claude(/rules(/.+)?)?",
                ),
            ),
            Hooks(
                "{CLAUDE_CONFIG_DIR:~/.claude}/settings.json",
                _CLAUDE_EVENTS,
                {"type": "command", "timeout": HOOK_TIMEOUT_S},
                f"{_NEW_SESSION}; /hooks lists them",
            ),
            Mcp(
                ("{CLAUDE_CONFIG_DIR:~}/.claude.json",),
                "mcpServers",
                ".mcp.json",
                _LISTS_MEMD,
                {"type": "stdio"},
            ),
        ),
        Program(
            "codex",
            "Codex",
            Conversations("codex", ("{CODEX_HOME:~/.codex}",), "codex resume"),
            ProgramNotes(
                "codex-notes",
                "{CODEX_HOME:~/.codex}",
                r"AGENTS(\.override)?\.md|memories/.+\.md",
                r"memories(/.+)?",
                "{CODEX_HOME:~/.codex}/config.toml",
                (r"AGENTS(\.override)?\.md", ""),
            ),
            Hooks(
                "{CODEX_HOME:~/.codex}/hooks.json",
                _CLAUDE_EVENTS,
                {"type": "command", "timeout": CODEX_HOOK_TIMEOUT_S},
                "accept the hooks: start Codex, which lists them; until then it runs none of them",
            ),
            Mcp(("{CODEX_HOME:~/.codex}/config.toml",), "mcp_servers", ".codex/config.toml", _LISTS_MEMD),
        ),
        Program(
            "gemini",
            "Gemini CLI",
            Conversations("gemini", ("{GEMINI_CLI_HOME:~}/.gemini/tmp",), "gemini --resume"),
            ProgramNotes(
                "gemini-notes",
                "{GEMINI_CLI_HOME:~}/.gemini",
                r"GEMINI\.md|tmp/[^/]+/memory/.+\.md",
                r"tmp(/[^/]+(/memory(/.+)?)?)?",
                "{GEMINI_CLI_HOME:~}/.gemini/projects.json",
                (r"GEMINI\.md", ""),
            ),
            Hooks(
                "{GEMINI_CLI_HOME:~}/.gemini/extensions/memd/hooks/hooks.json",
                {
                    "session_start": "SessionStart",
                    "prompt": "BeforeAgent",  # PreCompress runs before every request to the model
                    "session_end": "SessionEnd",
                },
                {"type": "command", "name": "memd", "timeout": HOOK_TIMEOUT_S * 1000},
                f"{_NEW_SESSION}; /extensions list shows memd",
                is_own_file=True,
                manifest="{GEMINI_CLI_HOME:~}/.gemini/extensions/memd/gemini-extension.json",
            ),
            Mcp(
                ("{GEMINI_CLI_HOME:~}/.gemini/settings.json",),
                "mcpServers",
                ".gemini/settings.json",
                _LISTS_MEMD,
            ),
        ),
        Program(
            "opencode",
            "opencode",
            _opencode("opencode"),
            ProgramNotes("opencode-notes", "~/.config/opencode", r"AGENTS\.md", ""),
            mcp=Mcp(
                (
                    "{XDG_CONFIG_HOME:~/.config}/opencode/opencode.json",
                    "{XDG_CONFIG_HOME:~/.config}/opencode/opencode.jsonc",
                ),
                "mcp",
                "opencode.json",
                "start a new session; `opencode mcp list` lists memd",
                {"type": "local", "enabled": True},
                is_joined=True,
            ),
        ),
        Program("kilo", "Kilo Code", _opencode("kilo")),
        Program(
            "copilot",
            "Copilot CLI",
            Conversations("copilot", ("{COPILOT_HOME:~/.copilot}/session-state",), "copilot --resume"),
            hooks=Hooks(
                "{COPILOT_HOME:~/.copilot}/hooks/memd.json",
                {"compaction": "preCompact", "session_end": "sessionEnd"},
                {"type": "command", "timeoutSec": HOOK_TIMEOUT_S},
                f"{_NEW_SESSION}; they index sessions and add no text to prompts",
                is_grouped=False,
                command_key="bash",
                top={"version": 1},
                is_own_file=True,
            ),
            mcp=Mcp(
                ("{COPILOT_HOME:~/.copilot}/mcp-config.json",),
                "mcpServers",
                ".github/mcp.json",
                "start a new session; `/mcp show` lists memd",
                {"type": "local", "tools": ["*"]},
            ),
        ),
        Program(
            "copilot-vscode",
            "Copilot in VS Code",
            Conversations(
                "copilot_chat",
                (
                    *(f"{{applications}}/{editor}/User/workspaceStorage" for editor in _EDITORS),
                    *(f"~/{server}/data/User/workspaceStorage" for server in _SERVERS),
                ),
            ),
        ),
        Program(
            "cursor",
            "Cursor",
            Conversations("cursor", ("~/.cursor/projects",), "cursor-agent --resume", title="Cursor CLI"),
            hooks=Hooks(
                "~/.cursor/hooks.json",
                {
                    "session_start": "sessionStart",
                    "prompt": "beforeSubmitPrompt",
                    "compaction": "preCompact",
                    "session_end": "sessionEnd",
                },
                {"timeout": HOOK_TIMEOUT_S},
                "restart Cursor to use the hooks",
                is_grouped=False,
                top={"version": 1},
            ),
            mcp=Mcp(
                ("~/.cursor/mcp.json",), "mcpServers", ".cursor/mcp.json", "enable memd when Cursor asks"
            ),
        ),
        Program(
            "cursor-editor",
            "Cursor",
            Conversations("cursor_editor", ("{applications}/Cursor/User/globalStorage/state.vscdb",)),
        ),
        Program(
            "hermes",
            "Hermes",
            notes=ProgramNotes(
                "hermes-notes",
                "~/.hermes",
                r"(profiles/[^/]+/)?memories/.+\.md",
                r"memories(/.+)?|profiles(/[^/]+(/memories(/.+)?)?)?",
            ),
        ),
        Program(
            "basic-memory", "Basic Memory", notes=ProgramNotes("basic-memory", "~/basic-memory", r".+\.md")
        ),
        Program(
            "obsidian",
            "Obsidian",
            notes=ProgramNotes("obsidian", listed_in="{applications}/obsidian/obsidian.json"),
        ),
        Program(
            "vscode",
            "VS Code",
            mcp=Mcp(
                ("{applications}/Code/User/mcp.json",),
                "servers",
                ".vscode/mcp.json",
                "run `MCP: List Servers` to start memd",
                {"type": "stdio"},
            ),
        ),
        Program(
            "claude-desktop",
            "Claude Desktop",
            mcp=Mcp(
                ("{applications}/Claude/claude_desktop_config.json",),
                "mcpServers",
                "",
                "restart Claude Desktop",
            ),
        ),
    )
}
"""All programs by name."""


class KnownSource(NamedTuple):
    """A source that memd finds without settings: its title for users, its kind, and the program it belongs to."""

    title: str
    kind: SourceKind
    program: Program


KNOWN_SOURCES: Final[Mapping[str, KnownSource]] = {
    **{
        program.name: KnownSource(program.conversations.title or program.title, "transcripts", program)
        for program in PROGRAMS.values()
        if program.conversations is not None and program.conversations.places
    },
    **{
        program.notes.source: KnownSource(program.title, "notes", program)
        for program in PROGRAMS.values()
        if program.notes is not None
    },
}
"""Sources by name. A source of any other name is a folder of notes, or another folder of a known program."""

HOOKS: Final[Mapping[str, Hooks]] = {
    name: program.hooks for name, program in PROGRAMS.items() if program.hooks is not None
}
MCP_CLIENTS: Final[Mapping[str, Mcp]] = {
    name: program.mcp for name, program in PROGRAMS.items() if program.mcp is not None
}
"""Programs that run hooks, and that use MCP servers, by name."""


def how_to_open(program: str, session_id: str, folder: str = "") -> str:
    """Return the command that opens a session in its program, from any folder; empty without one."""
    found = PROGRAMS[program].conversations if program in PROGRAMS else None
    if found is None or not found.opener or re.fullmatch(found.not_opened or r"\Z.", session_id):
        return ""
    command = f"{found.opener} {shlex.quote(session_id)}"
    if not folder.startswith("/"):
        return command
    home, below, rest = folder.partition(os.path.expanduser("~/"))
    place = f"~/{shlex.quote(rest)}" if below and not home and rest else shlex.quote(folder)
    return f"cd {place} && {command}"
