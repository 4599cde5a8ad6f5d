"""The folders in which programs keep notes and instructions."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from memd.programs.catalog import KNOWN_SOURCES, Places, ProgramNotes
from memd.sources.notes import NotesFolder

MAX_SETTINGS_BYTES: Final = 16 * 1_048_576

MAX_PROJECTS: Final = 64
"""Projects whose instructions are read, those that changed last: each search looks at them."""


def find_notes_folders(source: str, places: Places) -> list[NotesFolder]:
    """Return the folders in which a program keeps notes, its own first; they may be missing (blocking)."""
    notes = _notes_of(source)
    if notes is None:
        return []
    listed = _read_listed(places.path(notes.listed_in)) if notes.listed_in else {}
    if not notes.folder:
        return [NotesFolder(vault) for vault in _find_vaults(listed)]
    own = places.path(notes.folder)
    found = [_own_folder(notes, own)] if own is not None else []
    projects = listed.get("projects")
    roots = _newest_folders(projects if isinstance(projects, Mapping) else (), places.home)
    wanted, walked = map(re.compile, notes.in_projects)
    return found + [NotesFolder(root, wanted, walked) for root in roots]


def notes_at(path: Path, source: str) -> NotesFolder:
    """Return a folder of notes; of a program's folder in another place, only the program's notes."""
    notes = _notes_of(source)
    return NotesFolder(path) if notes is None or not notes.folder else _own_folder(notes, path)


def _notes_of(source: str) -> ProgramNotes | None:
    known = KNOWN_SOURCES.get(source)
    return known.program.notes if known is not None and known.kind == "notes" else None


def _own_folder(notes: ProgramNotes, root: Path) -> NotesFolder:
    walked = None if notes.walked is None else re.compile(notes.walked)
    return NotesFolder(root, re.compile(notes.wanted), walked)


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


def _find_vaults(listed: Mapping[str, Any]) -> list[Path]:
    """Return the vaults that Obsidian lists."""
    vaults = listed.get("vaults")
    rows = vaults.values() if isinstance(vaults, Mapping) else ()
    paths = [row.get("path") for row in rows if isinstance(row, Mapping)]
    return sorted({Path(path) for path in paths if isinstance(path, str) and os.path.isabs(path)})


def _read_listed(path: Path | None) -> Mapping[str, Any]:
    """Return a program's settings, in TOML or JSON; empty if they can't be read."""
    if path is None:
        return {}
    parse: Callable[[str], Any] = tomllib.loads if path.suffix == ".toml" else json.loads
    try:
        with open(path, "rb") as file:
            found = parse(file.read(MAX_SETTINGS_BYTES).decode())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}
