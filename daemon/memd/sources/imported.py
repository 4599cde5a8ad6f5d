"""Notes that earlier releases copied from other programs into `memory/imported/`.

Each copy is its source's text, plus one comment at its start (or in its frontmatter) with the source's path and hash.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Final, NamedTuple

from msgspec import Struct, field

from memd.sources.read import read_file
from memd.sources.source import SourceFile
from memd_client.errors import MemdError

IMPORTED_FOLDER: Final = "memory/imported/"
"""The folder of copies, with a folder per program. Elsewhere a copy is a note of the user."""

_OWN_FOLDER: Final[Mapping[str, frozenset[str]]] = {
    "claude-code": frozenset({"CLAUDE.md", "rules", "projects"}),
    "codex": frozenset({"AGENTS.md", "AGENTS.override.md", "memories"}),
    "memsearch": frozenset(),
    "basic-memory": frozenset(),
}
"""By program: what was copied from its own folder. Copies from any other folder are in one more folder, its label."""

_COMMENT: Final = re.compile(
    r"(?P<bom>\ufeff?)(?:"
    r"<!-- memd-import (?P<comment>\{[^\r\n]*\}) -->(?:\r\n|\n)"
    r"|(?P<fence>---[ \t]*(?:\r\n|\n))# memd-import (?P<key>\{[^\r\n]*\})(?:\r\n|\n))"
)


class ImportedFolder(Struct, frozen=True):
    """The copies from one folder of a program.

    Attributes:
        program: The program, such as `codex`.
        folder: The folder that the comments name.
        copies: The folder of all the copies, in the workspace.
        label: The name of the folder among the copies; empty for the program's own folder.
        exists: Whether the folder still exists.
        files: Number of copies.
        only_here: Paths of copies whose text the folder does not have: they were edited, or their source is gone.
    """

    program: str
    folder: str
    copies: str
    label: str
    exists: bool
    files: int
    only_here: list[str] = field(default_factory=list)


class _Copy(NamedTuple):
    """One copy: its path, what its comment says, and whether it was edited."""

    path: str
    program: str
    source: str
    is_edited: bool


def find_imported(files: Mapping[str, SourceFile], max_bytes: int) -> list[ImportedFolder]:
    """Return the folders that notes were copied from, by program and path; reads the copies (blocking)."""
    folders: dict[tuple[str, str, str], list[_Copy]] = {}
    for copy in _read_copies(files, max_bytes):
        folders.setdefault((copy.program, *_origin(copy)), []).append(copy)
    return [
        ImportedFolder(
            program,
            folder,
            os.path.commonpath([os.path.dirname(each.path) for each in copies]),
            label,
            os.path.isdir(folder),
            len(copies),
            [each.path for each in copies if each.is_edited or not os.path.lexists(each.source)],
        )
        for (program, folder, label), copies in sorted(folders.items())
    ]


def _read_copies(files: Mapping[str, SourceFile], max_bytes: int) -> Iterable[_Copy]:
    """Yield the readable copies in the order of their paths."""
    for path in sorted(path for path in files if path.startswith(IMPORTED_FOLDER)):
        try:
            text = read_file(files[path], max_bytes).text
        except MemdError:
            continue
        if (copy := _read_copy(path, text)) is not None:
            yield copy


def _read_copy(path: str, text: str) -> _Copy | None:
    """Return a copy; None if the note is not one."""
    found = _COMMENT.match(text)
    if found is None:
        return None
    try:
        said = json.loads(found["comment"] or found["key"])
        program, source, digest = (str(said[name]) for name in ("kind", "source", "sha256"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if program not in _OWN_FOLDER or not os.path.isabs(source) or not source.isprintable():
        return None
    body = found["bom"] + (found["fence"] or "") + text[found.end() :]
    return _Copy(path, program, source, sha256(body.encode()).hexdigest() != digest)


def _origin(copy: _Copy) -> tuple[str, str]:
    """Return the folder that a copy is from, and its label; the path below both is the same."""
    _, *below = copy.path.removeprefix(IMPORTED_FOLDER).split("/")
    label = below.pop(0) if len(below) > 1 and below[0] not in _OWN_FOLDER[copy.program] else ""
    folder = os.path.dirname(copy.source)
    for name in reversed(below[:-1]):
        above, own = os.path.split(folder)
        if (
            own != name
        ):  # such as `.claude`, whose copies are in `claude`: no source would look into a hidden folder
            break
        folder = above
    return folder, label
