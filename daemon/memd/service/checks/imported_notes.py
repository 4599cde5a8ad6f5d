"""The check of notes that an earlier release copied from other programs, which sources replace."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from memd.programs.catalog import Places
from memd.service.checks.finding import OK, WARNING, Finding, first_paths
from memd.settings.agents import AgentConfig
from memd.settings.sources import SourceConfig
from memd.sources.imported import ImportedFolder
from memd.sources.notes_folders import find_notes_folders
from memd.system.units import count

SOURCES_OF_PROGRAMS: Final[Mapping[str, str]] = {
    "claude-code": "claude-code-notes",
    "codex": "codex-notes",
    "basic-memory": "basic-memory",
}
"""By the program of an import: the source that reads the notes in the program's own folder."""

MAX_NAME_CHARS: Final = 40


def check_imported(folder: ImportedFolder, agent: AgentConfig, places: Places) -> Finding:
    """Return the finding on notes that were copied from a folder of another program."""
    area, only_here = f"agent {agent.id}", folder.only_here
    text = f"{count(folder.files, 'note')} in {folder.copies}, imported from {folder.folder}"
    if not folder.exists:
        return Finding(area, "imported", OK, f"{text}, which no longer exists")
    text += ": copies go stale"
    fix = "delete the copies"
    if only_here:
        text += f"; edited, or without their source: {first_paths(only_here)}"
        fix = "move those that are only here out of memory/imported, and delete the other copies"
    notes = [each for each in agent.sources if each.kind == "notes"]
    if not any(os.path.realpath(folder.folder) in _folders_of(each, places) for each in notes):
        source, path = source_of(folder, places)
        option = f" --path {shlex.quote(path)}" if path else ""
        fix = f"run `memctl sources add {source}{option} --agent {agent.id}`, then {fix}"
    return Finding(area, "imported", WARNING, text, fix)


def _folders_of(source: SourceConfig, places: Places) -> set[str]:
    """Return the folders that a source of notes reads, without links."""
    if source.path is not None:
        return {os.path.realpath(source.path)}
    return _usual_folders(source.program, places)


def _usual_folders(program: str, places: Places) -> set[str]:
    """Return the folders in which a program keeps its notes, without links."""
    return {os.path.realpath(folder.root) for folder in find_notes_folders(program, places)}


def source_of(imported: ImportedFolder, places: Places) -> tuple[str, str]:
    """Return the name and path of the source that reads a folder; no path for the program's own folder."""
    usual = SOURCES_OF_PROGRAMS.get(imported.program, "")
    if usual and os.path.realpath(imported.folder) in _usual_folders(usual, places):
        return usual, ""
    if usual and not imported.label:
        return usual, imported.folder
    parts = dict.fromkeys((imported.program, imported.label, Path(imported.folder).name))
    name = re.sub(r"[^a-z0-9]+", "-", "-".join(parts).lower())
    return name[:MAX_NAME_CHARS].strip("-"), imported.folder
