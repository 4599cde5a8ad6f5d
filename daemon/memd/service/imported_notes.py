"""The sources that replace copies of other programs' notes, for `memctl doctor`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from memd.programs.catalog import Places
from memd.settings.sources import SourceConfig
from memd.sources.imported import ImportedFolder
from memd.sources.notes_folders import find_notes_folders

SOURCES_OF_PROGRAMS: Final[Mapping[str, str]] = {
    "claude-code": "claude-code-notes",
    "codex": "codex-notes",
    "basic-memory": "basic-memory",
}
"""By the program of an import: the source that reads the notes in the program's own folder."""

MAX_NAME_CHARS: Final = 40


def describe_imported(
    found: Iterable[ImportedFolder], sources: Iterable[SourceConfig], places: Places
) -> list[dict[str, Any]]:
    """Return a row for each folder that notes were copied from.

    `source` and `path` are what `memctl sources add` needs; `path` is empty for the folder in which the program keeps
    its notes. `is_source` says whether one of the agent's sources reads the folder already.
    """
    added = {folder for each in sources if each.kind == "notes" for folder in _folders_of(each, places)}
    rows = []
    for each in found:
        source, path = _source_of(each, places)
        is_source = os.path.realpath(each.folder) in added
        rows.append({**asdict(each), "source": source, "path": path, "is_source": is_source})
    return rows


def _folders_of(source: SourceConfig, places: Places) -> set[str]:
    """Return the folders that a source of notes reads, without links."""
    if source.path is not None:
        return {os.path.realpath(source.path)}
    return _usual_folders(source.program, places)


def _usual_folders(program: str, places: Places) -> set[str]:
    """Return the folders in which a program keeps its notes, without links."""
    return {os.path.realpath(folder.root) for folder in find_notes_folders(program, places)}


def _source_of(imported: ImportedFolder, places: Places) -> tuple[str, str]:
    """Return the name and path of the source that reads a folder."""
    usual = SOURCES_OF_PROGRAMS.get(imported.program, "")
    if usual and os.path.realpath(imported.folder) in _usual_folders(usual, places):
        return usual, ""
    if usual and not imported.label:
        return usual, imported.folder
    parts = dict.fromkeys((imported.program, imported.label, Path(imported.folder).name))
    name = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower())
    return name[:MAX_NAME_CHARS].strip("-"), imported.folder
