"""The folders in which programs keep notes and instructions."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from memd.programs.catalog import KNOWN_SOURCES, Places, ProgramNotes
from memd.programs.listed_projects import newest_projects, projects_in, read_settings
from memd.sources.notes import NotesFolder


def find_notes_folders(source: str, places: Places) -> list[NotesFolder]:
    """Return the folders in which a program keeps notes, its own first; they may be missing (blocking)."""
    notes = _notes_of(source)
    if notes is None:
        return []
    listed = read_settings(places.path(notes.listed_in)) if notes.listed_in else {}
    if not notes.folder:
        return [NotesFolder(vault) for vault in _find_vaults(listed)]
    own = places.path(notes.folder)
    found = [_own_folder(notes, own)] if own is not None else []
    roots = newest_projects(projects_in(listed), places.home)
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


def _find_vaults(listed: Mapping[str, Any]) -> list[Path]:
    """Return the vaults that Obsidian lists."""
    vaults = listed.get("vaults")
    rows = vaults.values() if isinstance(vaults, Mapping) else ()
    paths = [row.get("path") for row in rows if isinstance(row, Mapping)]
    return sorted({Path(path) for path in paths if isinstance(path, str) and os.path.isabs(path)})
