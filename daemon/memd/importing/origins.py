"""Where other programs keep their memories: which files below a folder are meant, by kind.

What is said here of other programs is what their documentation says; docs/import.md names it for users.
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
"""Claude Code's settings are some kilobytes."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What one import reads.

    Attributes:
        kind: Such as `codex`.
        root: The folder everything lies below.
        label: Names the project or folder in the workspace; empty where there is only one.
        files: Single files below the root; those that aren't there are no loss.
        folders: Folders below the root whose Markdown is read whole, at any depth; `""` is the root itself.
        left_out: Below these paths nothing is taken, each with its reason.
    """

    kind: str
    root: Path
    label: str = ""
    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the places of other programs depend on."""

    environ: Mapping[str, str]
    home: Path
    cwd: Path

    def folder(self, variable: str, usual: str) -> Path:
        """Return a folder a variable names, or the usual one below the home directory."""
        named = self.environ.get(variable, "").strip()
        return self.absolute(named) if named else self.home / usual

    def absolute(self, path: str) -> Path:
        """Return a path as somebody wrote it, absolute and without `..`."""
        if path == "~" or path.startswith("~/"):
            return Path(os.path.normpath(self.home / path[2:]))
        return Path(os.path.normpath(self.cwd / path))


def find_origins(kind: str, source: str | None, around: Surroundings) -> list[Origin]:
    """Return what to read."""
    return KINDS[kind](None if source is None else around.absolute(source), around)


def _claude_code(source: Path | None, around: Surroundings) -> list[Origin]:
    """Return Claude Code's own folder, a project, or a folder of memories."""
    kind = "claude-code"
    own = around.folder("CLAUDE_CONFIG_DIR", ".claude")
    root = _there(source or own, "Claude Code's folder", kind)
    if root == own or (root.name == ".claude" and _memories_of_projects(root)):
        origins = [Origin(kind, root, "", ("CLAUDE.md",), ("rules", *_memories_of_projects(root)))]
        moved = _auto_memory_folder(root, around)
        return [*origins, Origin(kind, moved, "auto-memory", (), ("",))] if moved is not None else origins
    if (root / "MEMORY.md").is_file():
        return [Origin(kind, root, _label_of(root), (), ("",))]
    files = ("CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md")
    return [Origin(kind, root, root.name, files, (".claude/rules",))]


def _memories_of_projects(root: Path) -> list[str]:
    """Return the folders of auto memory below Claude Code's own, one a project."""
    try:
        with os.scandir(root / "projects") as entries:
            names = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return []
    return [
        f"projects/{name}/memory" for name in names if os.path.lexists(root / "projects" / name / "memory")
    ]


def _auto_memory_folder(root: Path, around: Surroundings) -> Path | None:
    """Return the folder the user's settings keep auto memory in; None where they name none that is there."""
    try:
        settings = json.loads(load_whole(root / "settings.json", MAX_SETTINGS_BYTES))
        named = settings["autoMemoryDirectory"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(named, str) or not named.startswith(("/", "~/")):
        return None
    folder = around.absolute(named)
    return folder if folder.is_dir() else None


def _codex(source: Path | None, around: Surroundings) -> list[Origin]:
    """Return Codex' own folder, its memories, or a project."""
    kind = "codex"
    own = around.folder("CODEX_HOME", ".codex")
    root = _there(source or own, "Codex' folder", kind)
    files = ("AGENTS.md", "AGENTS.override.md")
    raw, skill = "raw_memories.md", "skills"
    reasons = {raw: "raw notes that MEMORY.md was made from", skill: "skills are procedures, not memories"}
    if root == own or (root / "memories").is_dir():
        left_out = tuple((f"memories/{name}", reason) for name, reason in reasons.items())
        return [Origin(kind, root, "", files, ("memories",), left_out)]
    if root.name == "memories" or (root / "memory_summary.md").is_file():
        return [Origin(kind, root, "memories", (), ("",), tuple(reasons.items()))]
    return [Origin(kind, root, root.name, files)]


def _memsearch(source: Path | None, around: Surroundings) -> list[Origin]:
    """Return the daily files of a project that memsearch remembers."""
    what = "a project with a folder .memsearch/memory"
    root = _there(source or around.cwd, what, "memsearch")
    if root.name == "memory" and root.parent.name == ".memsearch":
        root = root.parent
    if root.name == ".memsearch":
        root = root.parent
    if (root / ".memsearch" / "memory").is_dir():
        return [Origin("memsearch", root, root.name, (), (".memsearch/memory",))]
    if source is None:
        raise _missing(root / ".memsearch/memory", what, "memsearch")
    return [Origin("memsearch", root, _label_of(root), (), ("",))]


def _basic_memory(source: Path | None, around: Surroundings) -> list[Origin]:
    """Return a project of basic-memory, all of it."""
    own = around.folder("BASIC_MEMORY_HOME", "basic-memory")
    root = _there(source or own, "basic-memory's folder", "basic-memory")
    return [Origin("basic-memory", root, "main" if root == own else root.name, (), ("",))]


KINDS: dict[str, Callable[[Path | None, Surroundings], list[Origin]]] = {
    "claude-code": _claude_code,
    "codex": _codex,
    "memsearch": _memsearch,
    "basic-memory": _basic_memory,
}
"""What can be copied into a workspace; an Obsidian vault is searched where it is (`vault`)."""


def _label_of(folder: Path) -> str:
    """Return what tells a folder of memories from others: its own name says little where it is `memory`."""
    return folder.parent.name if folder.name == "memory" else folder.name


def _there(root: Path, what: str, kind: str) -> Path:
    """Return a folder that is there and can be looked into."""
    try:
        os.listdir(root)
    except (FileNotFoundError, NotADirectoryError):
        raise _missing(root, what, kind) from None
    except OSError as error:
        raise FileUnreadableError(
            f"{root} can't be read: {error.strerror}", data={"path": str(root)}
        ) from None
    return root


def _missing(root: Path, what: str, kind: str) -> FileMissingError:
    """Return the error for a folder that isn't there."""
    return FileMissingError(
        f"{root} is no folder; {what} was expected there",
        hint=f"Name the folder: `memctl import {kind} PATH`.",
        data={"path": str(root)},
    )
