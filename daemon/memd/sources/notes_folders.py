"""The folders in which programs keep notes and instructions, and which files in them are notes."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from memd.programs.program import Places
from memd.sources.rules import is_markdown, is_walked

MAX_SETTINGS_BYTES: Final = 16 * 1_048_576

MAX_PROJECTS: Final = 64
"""Projects whose instructions are read, those that changed last: each search looks at them."""


class NotesFolder(NamedTuple):
    """A folder with notes.

    Attributes:
        root: The folder.
        wanted: Matches its notes by their path below it; None: all Markdown.
        walked: Matches the folders below it that may have notes; None: all but hidden ones.
    """

    root: Path
    wanted: re.Pattern[str] | None = None
    walked: re.Pattern[str] | None = None

    def is_wanted(self, path: str) -> bool:
        """Return whether a file is a note."""
        if self.wanted is None:
            return is_markdown(path.rpartition("/")[2])
        return self.wanted.fullmatch(path) is not None

    def is_walked(self, path: str) -> bool:
        """Return whether a folder may have notes."""
        if self.walked is None:
            return is_walked(path.rpartition("/")[2])
        return self.walked.fullmatch(path) is not None


class _OwnNotes(NamedTuple):
    """Notes in a program's own folder: the variable that names it, the usual one below the home folder, patterns."""

    variable: str
    usual: str
    wanted: str
    walked: str | None

    def at(self, root: Path) -> NotesFolder:
        """Return the notes in a folder."""
        return NotesFolder(
            root, re.compile(self.wanted), None if self.walked is None else re.compile(self.walked)
        )


_OWN: Final[Mapping[str, _OwnNotes]] = {
    "claude-code-notes": _OwnNotes(
        "CLAUDE_CONFIG_DIR",
        ".claude",
        r"CLAUDE\.md|rules/.+\.md|projects/[^/]+/memory/.+\.md|agent-memory/.+\.md",
        r"rules(/.+)?|projects(/[^/]+(/memory(/.+)?)?)?|agent-memory(/.+)?",
    ),
    "codex-notes": _OwnNotes(
        "CODEX_HOME", ".codex", r"AGENTS(\.override)?\.md|memories/.+\.md", r"memories(/.+)?"
    ),
    "gemini-notes": _OwnNotes(
        "GEMINI_CLI_HOME",
        ".gemini",
        r"GEMINI\.md|tmp/[^/]+/memory/.+\.md",
        r"tmp(/[^/]+(/memory(/.+)?)?)?",
    ),
    "opencode-notes": _OwnNotes("", ".config/opencode", r"AGENTS\.md", ""),
    "hermes-notes": _OwnNotes(
        "",
        ".hermes",
        r"(profiles/[^/]+/)?memories/.+\.md",
        r"memories(/.+)?|profiles(/[^/]+(/memories(/.+)?)?)?",
    ),
    "basic-memory": _OwnNotes("", "basic-memory", r".+\.md", None),
}

_IN_PROJECTS: Final[Mapping[str, tuple[str, str]]] = {
    "claude-code-notes": (
        r"CLAUDE(\.local)?\.md|\.claude/CLAUDE\.md|\.claude/rules/.+\.md",
        r"\.claude(/rules(/.+)?)?",
    ),
    "codex-notes": (r"AGENTS(\.override)?\.md", ""),
    "gemini-notes": (r"GEMINI\.md", ""),
}
"""By source: the instructions in a project's folder, and the folders below it that have some."""


def find_notes_folders(program: str, places: Places) -> list[NotesFolder]:
    """Return the folders in which a program keeps notes, its own first; they may be missing (blocking)."""
    if program == "obsidian":
        return [NotesFolder(vault) for vault in _find_vaults(places)]
    own = _own_folder(program, places)
    found = [_OWN[program].at(own)]
    if program in _IN_PROJECTS:
        wanted, walked = (re.compile(pattern) for pattern in _IN_PROJECTS[program])
        found += [NotesFolder(root, wanted, walked) for root in _find_projects(program, own, places)]
    return found


def notes_at(path: Path, program: str) -> NotesFolder:
    """Return a folder of notes; of a program's folder in another place, only the program's notes."""
    return _OWN[program].at(path) if program in _OWN else NotesFolder(path)


def _own_folder(program: str, places: Places) -> Path:
    """Return the folder that a program keeps for all projects."""
    own = _OWN[program]
    if program == "gemini-notes":  # the variable names the folder above
        named = places.environ.get(own.variable, "").strip()
        return (Path(named).expanduser() if named else places.home) / own.usual
    return places.folder(own.variable, own.usual)


def _find_projects(program: str, own: Path, places: Places) -> list[Path]:
    """Return the folders of projects in which a program was used, as its settings list them."""
    if program == "codex-notes":
        listed = _read(own / "config.toml", tomllib.loads)
    elif program == "gemini-notes":
        listed = _read(own / "projects.json", json.loads)
    else:
        is_moved = bool(places.environ.get("CLAUDE_CONFIG_DIR", "").strip())
        listed = _read((own if is_moved else places.home) / ".claude.json", json.loads)
    projects = listed.get("projects")
    return _newest_folders(projects if isinstance(projects, Mapping) else (), places.home)


def _newest_folders(listed: Iterable[object], home: Path) -> list[Path]:
    """Return the existing folders among some paths, those that changed last first, except the home folder."""
    times: dict[str, float] = {}
    for path in listed:
        if not isinstance(path, str) or not os.path.isabs(path) or "\0" in path:
            continue
        folder = os.path.normpath(path)
        if os.path.isdir(folder) and folder != os.path.normpath(home):
            times[folder] = os.stat(folder).st_mtime
    return [Path(path) for path in sorted(times, key=lambda path: (-times[path], path))[:MAX_PROJECTS]]


def _find_vaults(places: Places) -> list[Path]:
    """Return the vaults that Obsidian knows."""
    config = places.folder("XDG_CONFIG_HOME", ".config") / "obsidian"
    if places.platform == "darwin":
        config = places.home / "Library/Application Support/obsidian"
    vaults = _read(config / "obsidian.json", json.loads).get("vaults")
    rows = vaults.values() if isinstance(vaults, Mapping) else ()
    paths = [row.get("path") for row in rows if isinstance(row, Mapping)]
    return sorted({Path(path) for path in paths if isinstance(path, str) and os.path.isabs(path)})


def _read(path: Path, parse: Callable[[str], Any]) -> Mapping[str, Any]:
    """Return a program's settings; empty if there are none, or they can't be read."""
    try:
        with open(path, "rb") as file:
            found = parse(file.read(MAX_SETTINGS_BYTES).decode())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}
