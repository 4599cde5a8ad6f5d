"""Working directories of Gemini CLI's projects, from the files next to their transcripts."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any, Final

import msgspec

from memd.programs.records import decode_record
from memd.programs.small_files import read_small_file

MAX_PATH_CHARS: Final = 4_096


class _Projects(msgspec.Struct):
    projects: Any = None


_projects = msgspec.json.Decoder(_Projects)


def find_project_folder(folder: Path, session_id: str, *, has_parent: bool) -> str:
    """Return the working directory of the project that has a session, "" if unknown (blocking).

    Args:
        folder: The folder of projects.
        session_id: The name of the transcript without its ending.
        has_parent: Whether the transcript is in a folder of the session that started it.
    """
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return ""
    for name in names:
        if _has_session(folder / name / "chats", session_id, has_parent):
            cwd = _folder_of(folder, name)
            if cwd:
                return cwd
    return ""


def _has_session(chats: Path, session_id: str, has_parent: bool) -> bool:
    """Return whether a folder has the transcript of a session."""
    try:
        folders = (
            [entry.path for entry in os.scandir(chats) if entry.is_dir()] if has_parent else [str(chats)]
        )
        return any(
            os.path.isfile(os.path.join(each, session_id + ending))
            for each in folders
            for ending in (".jsonl", ".json")
        )
    except (OSError, ValueError):
        return False


def _folder_of(folder: Path, name: str) -> str:
    """Return the working directory of a project by the name of its folder: a slug, or the hash of the directory."""
    root = (read_small_file(str(folder / name / ".project_root")) or b"").decode("utf-8", "replace").strip()
    if _is_path(root):
        return root
    found = decode_record(read_small_file(str(folder.parent / "projects.json")), _projects)
    if found is None or not isinstance(found.projects, dict):
        return ""
    for path, slug in found.projects.items():
        if _is_path(path) and (
            slug == name or hashlib.sha256(path.encode("utf-8", "replace")).hexdigest() == name
        ):
            return str(path)
    return ""


def _is_path(text: object) -> bool:
    """Return whether a text may be an absolute path."""
    if not isinstance(text, str) or not 0 < len(text) <= MAX_PATH_CHARS:
        return False
    return os.path.isabs(text) and text.isprintable()
