"""Locations of other programs' notes: the files to import below a folder, by kind.

The locations follow those programs' documentation; docs/import.md lists them for users.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from memd.system.state_file import load_whole
from memd_client.errors import FileMissingError, FileUnreadableError

MAX_SETTINGS_BYTES = 1_048_576
"""Limit of Claude Code's settings file."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The files that one import reads.

    Attributes:
        kind: Such as `codex`.
        root: The folder that contains all files.
        label: Name of the project or folder in the workspace; empty if there is only one.
        files: Single files below the root; missing ones are ignored.
        folders: Folders below the root whose Markdown files are read at any depth; `""` is the root.
        left_out: Excluded paths, each with the reason.
    """

    kind: str
    root: Path
    label: str = ""
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ImportEnvironment:
    """Environment variables, home and current directory."""

    environ: Mapping[str, str]
    home: Path
    cwd: Path

    def folder(self, variable: str, default: str) -> Path:
        """Return the folder in a variable, else the default below the home directory."""
        named = self.environ.get(variable, "").strip()
        return self.absolute(named) if named else self.home / default

    def absolute(self, path: str) -> Path:
        """Return a user's path, absolute and without `..`."""
        if path == "~" or path.startswith("~/"):
            return Path(os.path.normpath(self.home / path[2:]))
        return Path(os.path.normpath(self.cwd / path))


def find_origins(kind: str, source: str | None, environment: ImportEnvironment) -> list[Origin]:
    """Return the origins of a kind, in a source or in the default location."""
    return KINDS[kind](None if source is None else environment.absolute(source), environment)


def _claude_code(source: Path | None, environment: ImportEnvironment) -> list[Origin]:
    """Return the origins in Claude Code's own folder, a project, or a folder of memories."""
    kind = "claude-code"
    own = environment.folder("CLAUDE_CONFIG_DIR", ".claude")
    root = _existing_folder(source or own, "Claude Code's folder", kind)
    if root == own or (root.name == ".claude" and _memories_of_projects(root)):
        origins = [Origin(kind, root, "", ("CLAUDE.md",), ("rules", *_memories_of_projects(root)))]
        moved = _auto_memory_folder(root, environment)
        return [*origins, Origin(kind, moved, "auto-memory", (), ("",))] if moved is not None else origins
    if (root / "MEMORY.md").is_file():
        return [Origin(kind, root, _label_of(root), (), ("",))]
    files = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md")
    return [Origin(kind, root, root.name, files, (".claude/rules",))]


def _memories_of_projects(root: Path) -> list[str]:
    """Return the folders of auto memory in Claude Code's own folder, one per project."""
    try:
        with os.scandir(root / "projects") as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    return [
        f"projects/{name}/memory" for name in names if os.path.lexists(root / "projects" / name / "memory")
    ]


def _auto_memory_folder(root: Path, environment: ImportEnvironment) -> Path | None:
    """Return the folder of auto memory named in the user's settings; None if there is none."""
    try:
        settings = json.loads(load_whole(root / "settings.json", MAX_SETTINGS_BYTES))
        named = settings["autoMemoryDirectory"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(named, str) or not named.startswith(("/", "~/")):
        return None
    folder = environment.absolute(named)
    return folder if folder.is_dir() else None


def _codex(source: Path | None, environment: ImportEnvironment) -> list[Origin]:
    """Return the origins in Codex' own folder, its memories, or a project."""
    kind = "codex"
    own = environment.folder("CODEX_HOME", ".codex")
    root = _existing_folder(source or own, "Codex' folder", kind)
    files = ("AGENTS.md", "AGENTS.override.md")
    raw, skill = "raw_memories.md", "skills"
    reasons = {raw: "raw notes, summarized in MEMORY.md", skill: "skills are procedures, not memories"}
    if root == own or (root / "memories").is_dir():
        left_out = tuple((f"memories/{name}", reason) for name, reason in reasons.items())
        return [Origin(kind, root, "", files, ("memories",), left_out)]
    if root.name == "memories" or (root / "memory_summary.md").is_file():
        return [Origin(kind, root, "memories", (), ("",), tuple(reasons.items()))]
    return [Origin(kind, root, root.name, files)]


def _memsearch(source: Path | None, environment: ImportEnvironment) -> list[Origin]:
    """Return the origin of a memsearch project: its daily files."""
    what = "a project with a folder .memsearch/memory"
    root = _existing_folder(source or environment.cwd, what, "memsearch")
    if root.name == "memory" and root.parent.name == ".memsearch":
        root = root.parent
    if root.name == ".memsearch":
        root = root.parent
    if (root / ".memsearch" / "memory").is_dir():
        return [Origin("memsearch", root, root.name, (), (".memsearch/memory",))]
    if source is None:
        raise _missing(root / ".memsearch/memory", what, "memsearch")
    return [Origin("memsearch", root, _label_of(root), (), ("",))]


def _basic_memory(source: Path | None, environment: ImportEnvironment) -> list[Origin]:
    """Return the origin of a basic-memory project."""
    own = environment.folder("BASIC_MEMORY_HOME", "basic-memory")
    root = _existing_folder(source or own, "basic-memory's folder", "basic-memory")
    return [Origin("basic-memory", root, "main" if root == own else root.name, (), ("",))]


KINDS: dict[str, Callable[[Path | None, ImportEnvironment], list[Origin]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "memsearch": _memsearch,
    "basic-memory": _basic_memory,
}
"""Kinds that are copied into a workspace; an Obsidian vault is searched in place (`vault`)."""


def _label_of(folder: Path) -> str:
    """Return a distinctive name of a folder: its parent's name if it is called `memory`."""
    return folder.parent.name if folder.name == "memory" else folder.name


def _existing_folder(root: Path, what: str, kind: str) -> Path:
    """Return a folder after checking that it exists and is readable."""
    try:
        os.listdir(root)
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(root, what, kind) from None
    except OSError as error:
        raise FileUnreadableError(f"cannot read {root}: {error.strerror}", data={"path": str(root)}) from None
    return root


def _missing(root: Path, what: str, kind: str) -> FileMissingError:
    """Return the error for a missing folder."""
    return FileMissingError(
        f"{root} is not a folder; expected {what}",
        hint=f"pass the folder: `memctl import {kind} PATH`",
        data={"path": str(root)},
    )
