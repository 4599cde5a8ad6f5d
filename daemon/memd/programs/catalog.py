"""The programs that memd works with, one table of `catalog.toml` each: their files and the form of their settings."""

from __future__ import annotations

import os
import re
import shlex
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct, convert, field

SourceKind: TypeAlias = Literal["transcripts", "notes"]
Verification: TypeAlias = Literal["program", "source", "reader"]

OPENCLAW_SOURCE: Final = "sessions"
"""Name of the source that is an agent's own conversations with OpenClaw, and of its folder there."""

MCP_SERVER: Final = "memd"
"""Name of memd's entry in the settings of MCP clients."""

_EDITORS: Final = ("Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf")
_SERVERS: Final = (".vscode-server", ".vscode-server-insiders", ".cursor-server", ".windsurf-server")
EDITOR_FOLDERS: Final = (
    *(f"{{applications}}/{editor}/User" for editor in _EDITORS),
    *(f"~/{server}/data/User" for server in _SERVERS),
)
"""What `{editors}` at the beginning of a path stands for."""

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
        for pattern in patterns:
            before, is_in_editors, after = pattern.partition("{editors}")
            for path in map(
                self.path, [f"{each}{after}" for each in EDITOR_FOLDERS] if is_in_editors else [before]
            ):
                if path is not None:
                    found += _matches(path)
        return list(dict.fromkeys(found))


def _matches(path: Path) -> list[Path]:
    """Return the paths that match a pattern; a path without `*` may be missing (blocking)."""
    first = next((number for number, part in enumerate(path.parts) if "*" in part), None)
    if first is None:
        return [path]
    try:
        return sorted(Path(*path.parts[:first]).glob("/".join(path.parts[first:])))
    except OSError:
        return []


class Conversations(Struct, frozen=True, forbid_unknown_fields=True):
    """A program's conversations.

    Attributes:
        reader: The module of this package that reads them.
        places: Folders of transcripts, or databases.
        finds_places: Whether the reader's module has `find_places`, which returns further ones: for a program that
            keeps a database or a file in each project.
        opener: The command that opens a session, without its id: `claude --resume`; empty without one.
        not_opened: Matches the ids of sessions that can't be opened.
        starter: The command that starts a session with a prompt, without the prompt: `codex`; empty without one.
        title: The title of the source, if it isn't that of the program.
        export: How a user gets the archive that is read, if the program keeps no conversations on this machine.
    """

    reader: str
    places: tuple[str, ...] = ()
    finds_places: bool = False
    opener: str = ""
    not_opened: str = ""
    starter: str = ""
    title: str = ""
    export: str = ""


class ProgramNotes(Struct, frozen=True, forbid_unknown_fields=True):
    """A program's notes and instructions.

    Attributes:
        source: Name of the source.
        folder: The folder that the program keeps for all projects; empty if there is none.
        wanted: Matches the notes by their path below the folder.
        walked: Matches the folders below it that may have notes; None: all but hidden ones.
        listed_in: The file that lists projects, or vaults of notes.
        in_projects: The same as `wanted` and `walked`, for the folders of projects.
        by_agents: Found in the paths of notes that agents write, instead of the user.
    """

    source: str
    folder: str = ""
    wanted: str = ""
    walked: str | None = None
    listed_in: str = ""
    in_projects: tuple[str, str] = ("", "")
    by_agents: str = "(?!)"


class Hooks(Struct, frozen=True, forbid_unknown_fields=True):
    """The form of hooks in a program's settings.

    Attributes:
        file: The user's file with hooks.
        events: The program's name of each event.
        matchers: For events around calls of tools, by the program's names: a pattern of the tools' names.
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
    matchers: Mapping[str, str] = field(default_factory=dict)
    is_grouped: bool = True
    command_key: str = "command"
    top: Mapping[str, Any] = field(default_factory=dict)
    is_own_file: bool = False
    manifest: str = ""

    def hook(self, name: str, command: str) -> dict[str, Any]:
        """Return the hook that runs a command at an event of the program."""
        matcher = {} if self.is_grouped else self._matcher(name)
        return {**matcher, **self.handler, self.command_key: command}

    def item(self, name: str, hook: Mapping[str, Any]) -> dict[str, Any]:
        """Return a hook as an item of the list of its event."""
        return {**self._matcher(name), "hooks": [dict(hook)]} if self.is_grouped else dict(hook)

    def _matcher(self, name: str) -> dict[str, str]:
        return {"matcher": self.matchers[name]} if name in self.matchers else {}


class Mcp(Struct, frozen=True, forbid_unknown_fields=True):
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
    next_step: str
    project: str = ""
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


class Program(Struct, frozen=True, forbid_unknown_fields=True):
    """A program: its name on the command line and in settings, its title for users, and what memd does with it.

    Attributes:
        verified: How the format of its conversations was checked: its tests run the real program (`program`), its own
            source code or documentation describes it (`source`), or only other programs that read it do (`reader`).
        part_of: The program that users know it as, if this table is one of its parts, such as an editor's extension.
        shell: Variables that it sets for the commands of its agent.
        skill: The file that tells its agent when to search memory; empty if it reads no skills.
    """

    name: str
    title: str
    verified: Verification = "reader"
    part_of: str = ""
    shell: tuple[str, ...] = ()
    skill: str = ""
    conversations: Conversations | None = None
    notes: ProgramNotes | None = None
    hooks: Hooks | None = None
    mcp: Mcp | None = None


def _read_programs() -> dict[str, Program]:
    """Return the rows of `catalog.toml` in their order."""
    rows = tomllib.loads(Path(__file__).with_name("catalog.toml").read_text("utf-8"))
    return {name: convert({"name": name, **row}, Program) for name, row in rows.items()}


PROGRAMS: Final[Mapping[str, Program]] = _read_programs()
"""All programs by name."""


class KnownSource(NamedTuple):
    """A source that memd reads: its title for users, its kind, its program, and how a user gets its archive, if any."""

    title: str
    kind: SourceKind
    program: Program
    export: str = ""


KNOWN_SOURCES: Final[Mapping[str, KnownSource]] = {
    **{
        program.name: KnownSource(row.title or program.title, "transcripts", program, row.export)
        for program in PROGRAMS.values()
        if (row := program.conversations) is not None and program.name != "openclaw"
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
    return _in_folder(f"{found.opener} {shlex.quote(session_id)}", folder)


def how_to_start(program: str, prompt: str, folder: str) -> str:
    """Return the command that starts a program with the output of a command as its prompt; empty without one."""
    found = PROGRAMS[program].conversations if program in PROGRAMS else None
    return _in_folder(f'{found.starter} "$({prompt})"', folder) if found is not None and found.starter else ""


def _in_folder(command: str, folder: str) -> str:
    """Return a shell command with a change to a folder before it."""
    if not folder.startswith("/"):
        return command
    home, below, rest = folder.partition(os.path.expanduser("~/"))
    place = f"~/{shlex.quote(rest)}" if below and not home and rest else shlex.quote(folder)
    return f"cd {place} && {command}"
