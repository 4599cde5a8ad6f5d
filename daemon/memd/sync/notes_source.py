"""Markdown of another program, or any folder of notes, read in place."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

from memd.sync.disk.discover import SourceFile
from memd.sync.disk.read import FileText, read_file
from memd.sync.disk.rules import is_markdown, is_walked
from memd.sync.transcripts.programs.program import Places
from memd.sync.transcripts.session_source import Transcripts
from memd.sync.watch.folder_tree import FolderTree
from memd.sync.watch.queue import WatchQueue

MAX_SETTINGS_BYTES: Final = 1_048_576


class NotesFolder(NamedTuple):
    """A folder with notes; `wanted` matches the notes in it by their path below it, None all Markdown."""

    root: Path
    wanted: re.Pattern[str] | None = None


_WANTED: Final[Mapping[str, tuple[str, str, str]]] = {
    "claude-code-notes": (
        "CLAUDE_CONFIG_DIR",
        ".claude",
        r"CLAUDE\.md|rules/.+\.md|projects/[^/]+/memory/.+\.md|agent-memory/.+\.md",
    ),
    "codex-notes": ("CODEX_HOME", ".codex", r"AGENTS(\.override)?\.md|memories/.+\.md"),
    "gemini-notes": ("", ".gemini", r"GEMINI\.md|tmp/[^/]+/memory/.+\.md"),
    "opencode-notes": ("", ".config/opencode", r"AGENTS\.md"),
    "hermes-notes": ("", ".hermes", r"(profiles/[^/]+/)?memories/.+\.md"),
    "basic-memory": ("", "basic-memory", r".+\.md"),
}
"""By source: the variable that names its folder, the usual folder below the home folder, and its notes."""


def find_notes_folders(program: str, places: Places) -> list[NotesFolder]:
    """Return the folders in which a program keeps notes; they may be missing."""
    if program == "obsidian":
        return [NotesFolder(vault) for vault in _find_vaults(places)]
    if program == "gemini-notes":
        home = places.folder("GEMINI_CLI_HOME", ".") / ".gemini"
        return [NotesFolder(Path(os.path.normpath(home)), re.compile(_WANTED[program][2]))]
    variable, usual, pattern = _WANTED[program]
    return [NotesFolder(places.folder(variable, usual), re.compile(pattern))]


def notes_at(path: Path, program: str) -> NotesFolder:
    """Return a folder of notes; of a program's folder in another place, only the program's notes."""
    return NotesFolder(path, re.compile(_WANTED[program][2]) if program in _WANTED else None)


def _find_vaults(places: Places) -> list[Path]:
    """Return the vaults that Obsidian knows."""
    config = places.folder("XDG_CONFIG_HOME", ".config") / "obsidian"
    if places.platform == "darwin":
        config = places.home / "Library/Application Support/obsidian"
    try:
        with open(config / "obsidian.json", "rb") as file:
            known = json.loads(file.read(MAX_SETTINGS_BYTES))
        vaults = [vault["path"] for vault in known["vaults"].values()]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []
    return sorted({Path(path) for path in vaults if isinstance(path, str) and os.path.isabs(path)})


class NotesSource:
    """The notes of one source (a `SessionSource`, though nothing in it is a transcript).

    Args:
        name: The source's name, with which its index paths begin.
        folders: Its folders. If there are several, their names follow in the paths.
        max_file_bytes: Limit of a file: larger ones are read up to it.
        queues: Reports changed folders, one queue per folder.
    """

    def __init__(
        self,
        name: str,
        folders: Sequence[NotesFolder],
        max_file_bytes: int,
        queues: Sequence[WatchQueue] = (),
    ) -> None:
        self._name = name
        self._max_bytes = max_file_bytes
        self._queues = queues
        self._lock = Lock()
        self._listed: list[object] = []
        self._found = Transcripts()
        roots = [os.path.realpath(folder.root) for folder in folders]
        self._trees = [
            (
                FolderTree(root, _walks(folder), _wants(folder), queues[at] if at < len(queues) else None),
                name if len(folders) == 1 else f"{name}/{os.path.basename(root)}",
            )
            for at, (root, folder) in enumerate(zip(roots, folders, strict=True))
        ]

    def __repr__(self) -> str:
        return f"<NotesSource {self._name}: {len(self._found.found)} files>"

    def find(self) -> Transcripts:
        """Return the current notes; see `SessionSource.find`."""
        with self._lock:
            listings = [tree.list() for tree, _ in self._trees]
            if len(self._listed) == len(listings) and all(
                one is other for one, other in zip(self._listed, listings, strict=True)
            ):
                return self._found
            self._listed, self._found = [*listings], Transcripts()
            for (tree, prefix), listing in zip(self._trees, listings, strict=True):
                for path, why in listing.skipped.items():
                    self._found.skip(f"{prefix}/{path}".rstrip("/"), why)
                for path, facts in listing.files.items():
                    shown = f"{prefix}/{path}"
                    if shown.encode("utf-8", "replace").decode() != shown:
                        self._found.skip(shown, "its name is not UTF-8; rename it")
                        continue
                    self._found.found[shown] = SourceFile(
                        shown,
                        facts.location,
                        facts.mtime_ns,
                        facts.size,
                        facts.inode,
                        facts.ctime_ns,
                        self._name,
                        tree.root,
                    )
            return self._found

    def load(self, found: SourceFile) -> FileText:
        """Return a note's text; see `SessionSource.load`."""
        return read_file(found, self._max_bytes, cut=True)

    def close(self) -> None:
        """Stop watching the folders."""
        for queue in self._queues:
            queue.close()


def _walks(folder: NotesFolder) -> Callable[[str], bool]:
    """Return whether a folder is walked: the program's own hidden folders are not, nor those without notes."""
    if folder.wanted is None:
        return lambda path: is_walked(path.rpartition("/")[2])
    heads = {"rules", "projects", "agent-memory", "memories", "tmp", "profiles"}

    def walks(path: str) -> bool:
        first, *others = path.split("/")
        if first not in heads:
            return folder.wanted is not None and folder.wanted.pattern == r".+\.md"
        if first in ("projects", "tmp"):
            return len(others) < 2 or others[1] == "memory"
        return first != "profiles" or len(others) < 2 or others[1] == "memories"

    return walks


def _wants(folder: NotesFolder) -> Callable[[str], bool]:
    """Return whether a file is a note of the folder."""
    if folder.wanted is None:
        return lambda path: is_markdown(path.rpartition("/")[2])
    pattern = folder.wanted
    return lambda path: pattern.fullmatch(path) is not None
