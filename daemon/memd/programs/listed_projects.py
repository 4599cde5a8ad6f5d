"""The projects that programs list in their settings."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from memd.programs.catalog import PROGRAMS, Places

MAX_SETTINGS_BYTES: Final = 16 * 1_048_576

MAX_PROJECTS: Final = 64
"""Projects whose files are read, those that changed last: each search looks at them."""


def find_listed_projects(places: Places) -> list[Path]:
    """Return the existing projects that any program lists, those that changed last first (blocking)."""
    rows = [program.notes.listed_in for program in PROGRAMS.values() if program.notes is not None]
    settings = [read_settings(places.path(row)) for row in rows if row]
    return newest_projects((path for each in settings for path in projects_in(each)), places.home)


def projects_in(settings: Mapping[str, Any]) -> Iterable[object]:
    """Return the paths of the projects in a program's settings."""
    projects = settings.get("projects")
    return projects if isinstance(projects, Mapping) else ()


def newest_projects(listed: Iterable[object], home: Path) -> list[Path]:
    """Return the existing folders among some paths, those that changed last first, except the home folder."""
    times: dict[str, float] = {}
    for path in listed:
        if not isinstance(path, str) or not os.path.isabs(path) or "\0" in path:
            continue
        folder = os.path.normpath(path)
        if os.path.isdir(folder) and folder != os.path.normpath(home):
            times[folder] = os.stat(folder).st_mtime
    return [Path(path) for path in sorted(times, key=lambda path: (-times[path], path))[:MAX_PROJECTS]]


def read_settings(path: Path | None) -> Mapping[str, Any]:
    """Return a program's settings, in TOML or JSON; empty if they can't be read (blocking)."""
    if path is None:
        return {}
    parse: Callable[[str], Any] = tomllib.loads if path.suffix == ".toml" else json.loads
    try:
        with open(path, "rb") as file:
            found = parse(file.read(MAX_SETTINGS_BYTES).decode())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, Mapping) else {}
