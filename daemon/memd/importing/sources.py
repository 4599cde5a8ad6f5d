"""Find and read the files of an origin, and name their copies.

The rules are those of memory files: no links, UTF-8, bounded size. Sources are opened for reading only.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from memd.importing.origins import Origin
from memd.settings.schema import ExtraPath
from memd.sync.disk.discover import LINK, SourceFile, discover
from memd.sync.disk.read import read_file
from memd.sync.disk.rules import FOLDERS_NOT_WALKED
from memd_client.errors import BadParamsError, MemdError

FOLDER = "memory/imported"
"""Folder of imported files in the workspace, with a folder per kind."""

NAME_BYTES = 255
"""Longest name in common file systems."""

PATH_BYTES = 1_024
"""Limit of a path below the workspace; longer paths are refused."""

HASH_DIGITS = 8
"""Digits of the hash in an alternative name."""

LIMIT_BYTES = 16 * 1024 * 1024
"""The daemon's default limit: larger files would not be searched."""

MAX_FILES = 20_000
"""The default limit of an agent's index; more files mean a wrong folder, such as a home directory."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file to import, with its state when it was read.

    Attributes:
        path: Absolute path.
        target: Path of its copy in the workspace.
        size: Bytes.
        sha256: Hash of its bytes.
        found: The file for `read_file`.
    """

    path: str
    target: str
    size: int
    sha256: str
    found: SourceFile


@dataclass(frozen=True, slots=True)
class ExcludedFile:
    """A file that is not imported, and why."""

    path: str
    reason: str
    size: int = 0


def collect(origin: Origin, workspace: Path) -> tuple[list[Source], list[ExcludedFile]]:
    """Return the files to import, sorted by path, and the excluded files."""
    sources: list[Source] = []
    left: list[ExcludedFile] = []
    looked = dict(sorted((found.location, (found, reason)) for found, reason in _list_files(origin)))
    if len(looked) > MAX_FILES:
        raise BadParamsError(
            f"{origin.root} has {len(looked):,} Markdown files; the limit of one import is {MAX_FILES:,}",
            hint="pass a folder below it",
            data={"path": str(origin.root)},
        )
    for found, reason in looked.values():
        reason = reason or _reason_against(found, origin, workspace)
        made = None if reason else _read(found, origin)
        if isinstance(made, Source):
            sources.append(made)
        else:
            left.append(ExcludedFile(_shown(found.location), made or reason, found.size))
    return sources, left


def text_of(source: Source) -> str | None:
    """Return a source's text; None if it has changed since `collect`."""
    read = read_file(source.found, LIMIT_BYTES)
    return read.text if read.hash == source.sha256 else None


def _list_files(origin: Origin) -> list[tuple[SourceFile, str]]:
    """Return the Markdown files of an origin, each with the reason why it is excluded or an empty string."""
    seen: list[tuple[SourceFile, str]] = []
    root = str(origin.root)
    for name in origin.files:
        location = f"{root.rstrip('/')}/{name}"
        if _has_link(root, name):
            seen.append((_unread_file(name, location, root), LINK))
            continue
        try:
            facts = os.lstat(location)
        except OSError:
            continue
        found = _unread_file(name, location, root)._replace(size=facts.st_size)
        seen.append((found, "" if stat.S_ISREG(facts.st_mode) else "not a regular file"))
    for folder in origin.folders:
        seen += _walk(root, folder)
    return seen


def _walk(root: str, folder: str) -> list[tuple[SourceFile, str]]:
    """Return the Markdown files below a folder of the root, as `_list_files` does."""
    start = f"{root.rstrip('/')}/{folder}".rstrip("/")
    if _has_link(root, folder):
        return [(_unread_file(folder, start, root), f"{LINK}; pass the real folder to import it")]
    if not os.path.isdir(start):
        return []
    looked = discover(Path(start), [ExtraPath(path=".")], LIMIT_BYTES)
    lead = f"{folder}/" if folder else ""
    # Paths start at the root, so that reading notices folders that have become links.
    rows = [(found._replace(path=lead + path, root=root), "") for path, found in looked.files.items()]
    skipped = [
        (_unread_file(lead + each.path, f"{start}/{each.path}", root), each.reason) for each in looked.skipped
    ]
    return rows + skipped


def _has_link(root: str, path: str) -> bool:
    """Return whether any component of a path below the root is a link."""
    parts = path.split("/") if path else []
    return any(os.path.islink(os.path.join(root, *parts[:count])) for count in range(1, len(parts) + 1))


def _unread_file(path: str, location: str, root: str) -> SourceFile:
    """Return a file of unknown size and time."""
    return SourceFile(path, location, 0, 0, 0, 0, "memory", root)


def _reason_against(found: SourceFile, origin: Origin, workspace: Path) -> str:
    """Return why a readable file is excluded; empty for none."""
    if _shown(found.location) != found.location:
        return "its name is not UTF-8; rename it"
    real = f"{os.path.realpath(origin.root)}/{found.path}"
    if real.startswith(f"{os.path.realpath(workspace)}/"):
        return "it is in the agent's own workspace"
    for path, reason in origin.left_out:
        if found.path == path or found.path.startswith(f"{path}/"):
            return reason
    return "" if target_of(origin.kind, origin.label, found.path) else f"its path is too long below {FOLDER}"


def _read(found: SourceFile, origin: Origin) -> Source | str:
    """Return a source, or why it is excluded."""
    try:
        read = read_file(found, LIMIT_BYTES)
    except MemdError as error:
        return error.message.removeprefix(found.path).lstrip(" :")
    if not read.text.strip("\ufeff \t\r\n"):
        return "it is empty"
    target = target_of(origin.kind, origin.label, found.path)
    assert target is not None
    return Source(found.location, target, read.size, read.hash, found)


def _shown(path: str) -> str:
    """Return a printable path, with question marks for bytes that are not UTF-8."""
    return path.encode("utf-8", "replace").decode("utf-8")


# --- names of copies ---------------------------------------------------------------------------------------


def target_of(kind: str, label: str, path: str) -> str | None:
    """Return the path of a source's copy: its own path below the kind's folder; None if it is too long.

    Names are kept, dates in particular, without leading dots (hidden folders are not indexed) and characters that are
    invalid in a path. A hidden folder with the name of the kind is dropped.
    """
    names = [_plain(name) for name in [label, *path.split("/")] if name not in ("", f".{kind}")]
    target = "/".join([FOLDER, kind, *names])
    too_long = len(target.encode()) > PATH_BYTES or any(len(name.encode()) > NAME_BYTES for name in names)
    return None if too_long else target


def other_target(target: str, source: str) -> str:
    """Return the alternative name of a copy, which is the same for the same source."""
    folder, _, name = target.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    mark = "-" + sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:HASH_DIGITS]
    while len(f"{stem}{mark}{dot}{ending}".encode()) > NAME_BYTES:
        stem = stem[:-1]
    return f"{folder}/{stem}{mark}{dot}{ending}"


def same_name(target: str) -> str:
    """Return a key that is equal for two paths that may be the same file on some file systems."""
    return unicodedata.normalize("NFC", target).casefold()


def _plain(name: str) -> str:
    """Return a valid name of a memory file or folder."""
    kept = "".join(char if char.isprintable() and char not in "\\/" else "-" for char in name)
    bare = kept.lstrip(". ").rstrip()
    if bare in FOLDERS_NOT_WALKED:
        return f"{bare}_"
    return bare if bare and bare.lower() != "md" else f"unnamed{'.md' if bare else ''}"
