"""Rules that decide which paths are memory, and the reasons for refusing others."""

from __future__ import annotations

import fnmatch
import os
import re
from pathlib import PurePosixPath

from memd.settings.schema import ExtraPath

ROOT_FILES = ("MEMORY.md", "memory.md", "USER.md")
"""Files in the workspace's root that are memory."""

MEMORY_FOLDER = "memory"
"""The workspace folder whose Markdown files are memory, at any depth."""

PRIVATE_FOLDER = f"{MEMORY_FOLDER}/sessions"
"""Folder of notes that keep a private conversation: their names are not suggested."""

FOLDERS_NOT_WALKED = frozenset({"node_modules", "__pycache__", "venv"})
"""Folders of third-party files; hidden folders (`.git`, `.venv`) are skipped because of their dot."""

_WRITTEN_BY_MEMD = re.compile(r"memory/(?:facts(?:-[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:-[^/]*)?)\.md")


def is_written_by_memd(path: str) -> bool:
    """Return whether memd itself writes files of that name: facts, daily notes, session notes."""
    return _WRITTEN_BY_MEMD.fullmatch(path) is not None


def is_markdown(name: str) -> bool:
    """Return whether a file name ends in .md."""
    return name[-3:].lower() == ".md"


def is_walked(folder: str) -> bool:
    """Return whether discovery descends into folders of that name."""
    return not folder.startswith(".") and folder not in FOLDERS_NOT_WALKED


def matches_pattern(relative: str, pattern: str | None) -> bool:
    """Return whether a file below an extra path matches the path's pattern."""
    if pattern is None:
        return True
    if "/" not in pattern:
        return fnmatch.fnmatchcase(relative.rpartition("/")[2], pattern)
    flat = pattern.replace("**/", "*")
    return fnmatch.fnmatchcase(relative, flat)


def is_memory_path(path: str) -> bool:
    """Return whether a workspace-relative path is memory, judged by the path alone."""
    if not path or path.startswith("/") or "\\" in path or "\0" in path or not is_markdown(path):
        return False
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return False
    if len(parts) == 1:
        return path in ROOT_FILES
    return parts[0] == MEMORY_FOLDER and all(is_walked(part) for part in parts[1:-1])


def name_in(workspace: str, path: str) -> str:
    """Return a path as notes are named: relative to the workspace and normal; unchanged if it leads outside."""
    relative = os.path.relpath(os.path.join(workspace, path), workspace)
    return path if relative.split("/")[0] == ".." else relative


def describe_refusal(path: str) -> str:
    """Return why a path is not memory, as part of a message."""
    if path.startswith("/"):
        return "it is absolute; use a path relative to the workspace, as in search results"
    if ".." in PurePosixPath(path).parts:
        return "it leaves the workspace"
    if not is_markdown(path):
        return "only Markdown files are memory"
    folders = path.split("/")[:-1]
    if folders[:1] == [MEMORY_FOLDER] and not all(map(is_walked, folders)):
        return f"hidden folders and {', '.join(sorted(FOLDERS_NOT_WALKED))} are not memory"
    return "it is outside the memory files of this agent"


def extra_key(extra: ExtraPath) -> str:
    """Return the extra path as the user wrote it."""
    return extra.path if extra.pattern is None else f"{extra.path} ({extra.pattern})"
