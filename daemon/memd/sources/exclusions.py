"""Folders and projects that are never indexed: what of an agent's sources belongs to them."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from memd.index.transcripts import SessionFacts
from memd.sources.source import MEMORY, FileText, Listing, SourceFile
from memd.text.trust.origins import UNKNOWN

EXCLUDED: Final = "excluded"
"""Kind of a session in an excluded project."""


class Exclusions:
    """The setting `exclude`: each entry is a folder, or the name of a project's folder.

    A conversation belongs to the folder in which its program worked, and to that folder's project. Claude Code keeps
    notes about a project outside of it, in a folder whose name is the project's path with `-` for other characters.

    Args:
        entries: Folders (absolute, or beginning with `~`) and names; a name has no `/`.
        home: The user's home folder.
    """

    def __init__(self, entries: Sequence[str] = (), home: Path = Path("/")) -> None:
        self._home = f"{home}/"
        folders: set[str] = set()
        names: set[str] = set()
        for entry in entries:
            if "/" in entry or entry.startswith("~"):
                path = os.path.normpath(_expanded(entry, home))
                folders |= {path, os.path.realpath(path)}
            elif entry.strip():
                names.add(entry.strip().lower())
        self._folders = frozenset(folders)
        self._below = tuple(f"{folder.rstrip('/')}/" for folder in sorted(folders))
        self._names = frozenset(names)
        self._slugs = {slug: _slugs_of_siblings(folder) for folder in folders if (slug := _slug(folder))}
        self.fingerprint = hashlib.sha256(repr((sorted(folders), sorted(names))).encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"<Exclusions of {len(self._folders)} folders and {len(self._names)} names>"

    def __bool__(self) -> bool:
        return bool(self._folders or self._names)

    def excludes(self, cwd: str, project: str = "") -> bool:
        """Return whether a working directory, or its project, is excluded (blocking: follows links)."""
        if not self:
            return False
        paths = {
            os.path.normpath(path) for path in (cwd, project) if path.startswith("/") and "\0" not in path
        }
        paths |= {os.path.realpath(path) for path in paths}
        return any(self._has(path) for path in paths)

    def excludes_file(self, file: SourceFile) -> bool:
        """Return whether a file is in an excluded folder, or in a program's folder for an excluded project. Pure."""
        location = file.location
        if location.startswith(self._below) or location in self._folders:
            return True
        folders = self._below_home(location)[:-1] if file.source != MEMORY else []
        return any(folder.lower() in self._names or self._stands_for(folder) for folder in folders)

    def filtered(self, listing: Listing, also: Callable[[SourceFile], bool] = lambda _: False) -> Listing:
        """Return a listing without excluded files, and those that a function selects; the same object if possible."""
        excluded = [path for path, file in listing.files.items() if self.excludes_file(file) or also(file)]
        if not excluded:
            return listing
        files = listing.files.copy()
        for path in excluded:
            del files[path]
        by_key = {key: path for key, path in listing.by_key.items() if path in files}
        return replace(listing, files=files, by_key=by_key)

    def blanked(self, text: FileText) -> FileText:
        """Return a conversation without its text and facts if its project is excluded (blocking)."""
        facts = text.facts
        if not self.excludes(facts.cwd, facts.project):
            return text
        return replace(
            text,
            text="",
            hash=f"{text.hash}:{EXCLUDED}",
            line_map=(),
            redactions=0,
            resets=(),
            times=(),
            work=None if text.work is None else (),
            origins=UNKNOWN,
            fetches=None if text.fetches is None else (),
            facts=SessionFacts(facts.program, kind=EXCLUDED, is_deleted=facts.is_deleted),
        )

    def _has(self, path: str) -> bool:
        is_below = path in self._folders or path.startswith(self._below)
        return is_below or not self._names.isdisjoint(part.lower() for part in self._below_home(path))

    def _below_home(self, path: str) -> list[str]:
        """Return the names on a path, without those of the home folder."""
        return path.removeprefix(self._home).split("/")

    def _stands_for(self, folder: str) -> bool:
        """Return whether the name of a folder stands for the path of an excluded one, and for no sibling of it."""
        if not folder.startswith("-"):
            return False
        for slug, siblings in self._slugs.items():
            if folder == slug or (folder.startswith(f"{slug}-") and not folder.startswith(siblings)):
                return True
        return any(folder.lower().endswith(f"-{_slug(name)}") for name in self._names)


NOTHING_EXCLUDED: Final = Exclusions()


def _expanded(entry: str, home: Path) -> str:
    return str(home) + entry[1:] if entry == "~" or entry.startswith("~/") else entry


def _slug(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def _slugs_of_siblings(folder: str) -> tuple[str, ...]:
    """Return the names for folders next to a folder that begin like the name for it (blocking)."""
    parent, name = os.path.split(folder)
    try:
        names: Iterable[str] = os.listdir(parent)
    except OSError:
        names = ()
    return tuple(
        _slug(os.path.join(parent, other))
        for other in names
        if other != name and _slug(other).startswith(f"{_slug(name)}-")
    )
