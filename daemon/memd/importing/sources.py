"""The files of an origin, found and read by the rules of memory, and the names of their copies.

They are read through no link, whole, as UTF-8 and not too big.
They are opened for reading only, and nothing beside them is made.
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
from memd.sync.disk.discover import LINK, Found, discover
from memd.sync.disk.read import read_file
from memd.sync.disk.rules import FOLDERS_NOT_WALKED
from memd_client.errors import BadParamsError, MemdError

FOLDER = "memory/imported"
"""Below this in the workspace is everything that was imported, by kind."""

NAME_BYTES = 255
"""The longest name file systems take."""

PATH_BYTES = 1_024
"""A longer path below the workspace is refused rather than cut: it would name something else."""

MARK_DIGITS = 8
"""Digits of a hash that tell two sources of one name apart."""

LIMIT_BYTES = 16 * 1024 * 1024
"""The daemon's own limit where none is set: larger files would not be searched."""

MOST_FILES = 20_000
"""As many as an agent's index holds where nothing else is set: more is a wrong folder, as a home directory."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file to import, as it was when it was looked at.

    Attributes:
        path: Absolute.
        target: Where its copy goes by its own name.
        size: Bytes.
        sha256: Of its bytes.
        found: What it is read by.
    """

    path: str
    target: str
    size: int
    sha256: str
    found: Found


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that isn't imported, and why."""

    path: str
    reason: str
    size: int = 0


def collect(origin: Origin, workspace: Path) -> tuple[list[Source], list[LeftOut]]:
    """Return the files to import in the order of their paths, and what is left out."""
    sources: list[Source] = []
    left: list[LeftOut] = []
    looked = dict(sorted((found.location, (found, reason)) for found, reason in _look(origin)))
    if len(looked) > MOST_FILES:
        raise BadParamsError(
            f"there are {len(looked):,} Markdown files below {origin.root}; {MOST_FILES:,} may be imported at once",
            hint="Name a folder below it.",
            data={"path": str(origin.root)},
        )
    for found, reason in looked.values():
        reason = reason or _reason_against(found, origin, workspace)
        made = None if reason else _read(found, origin)
        if isinstance(made, Source):
            sources.append(made)
        else:
            left.append(LeftOut(_shown(found.location), made or reason, found.size))
    return sources, left


def text_of(source: Source) -> str | None:
    """Return a source's text; None where it isn't what it was when it was looked at."""
    read = read_file(source.found, LIMIT_BYTES)
    return read.text if read.hash == source.sha256 else None


def _look(origin: Origin) -> list[tuple[Found, str]]:
    """Return the Markdown files of an origin, each with why it can't be taken, empty where it can."""
    seen: list[tuple[Found, str]] = []
    root = str(origin.root)
    for name in origin.files:
        location = f"{root.rstrip('/')}/{name}"
        if _has_link(root, name):
            seen.append((_nothing(name, location, root), LINK))
            continue
        try:
            facts = os.lstat(location)
        except OSError:
            continue
        found = _nothing(name, location, root)._replace(size=facts.st_size)
        seen.append((found, "" if stat.S_ISREG(facts.st_mode) else "not a regular file"))
    for folder in origin.folders:
        seen += _walk(root, folder)
    return seen


def _walk(root: str, folder: str) -> list[tuple[Found, str]]:
    """Return the Markdown files below a folder of the root."""
    start = f"{root.rstrip('/')}/{folder}".rstrip("/")
    if _has_link(root, folder):
        return [(_nothing(folder, start, root), f"{LINK}; name the real folder to import it")]
    if not os.path.isdir(start):
        return []
    looked = discover(Path(start), [ExtraPath(path=".")], LIMIT_BYTES)
    lead = f"{folder}/" if folder else ""
    # Read from the root down, not from this folder: no name on the way may have become a link since.
    rows = [(found._replace(path=lead + path, root=root), "") for path, found in looked.files.items()]
    skipped = [
        (_nothing(lead + each.path, f"{start}/{each.path}", root), each.reason) for each in looked.skipped
    ]
    return rows + skipped


def _has_link(root: str, path: str) -> bool:
    """Return whether a name between the root and a path below it, the last included, is a link."""
    parts = path.split("/") if path else []
    return any(os.path.islink(os.path.join(root, *parts[:count])) for count in range(1, len(parts) + 1))


def _nothing(path: str, location: str, root: str) -> Found:
    """Return a file nothing is known of yet."""
    return Found(path, location, 0, 0, 0, 0, "memory", root)


def _reason_against(found: Found, origin: Origin, workspace: Path) -> str:
    """Return why a file that could be read is not taken; empty for none."""
    if _shown(found.location) != found.location:
        return "its name is not UTF-8; rename it"
    real = f"{os.path.realpath(origin.root)}/{found.path}"
    if real.startswith(f"{os.path.realpath(workspace)}/"):
        return "it lies in the agent's own workspace"
    for path, reason in origin.left_out:
        if found.path == path or found.path.startswith(f"{path}/"):
            return reason
    return "" if target_of(origin.kind, origin.label, found.path) else f"its path is too long below {FOLDER}"


def _read(found: Found, origin: Origin) -> Source | str:
    """Return a source, or why it can't be one."""
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
    """Return a path that can be printed: bytes that are not UTF-8 become question marks."""
    return path.encode("utf-8", "replace").decode("utf-8")


# --- names of copies ---------------------------------------------------------------------------------------


def target_of(kind: str, label: str, path: str) -> str | None:
    """Return where a source's copy goes: its own path below the kind's folder, as far as memory can have it.

    Names keep what they say, dates above all. A leading dot goes, since hidden folders are no memory; so does what
    can't be in a path, and a hidden folder that would only say the kind again.
    """
    names = [_plain(name) for name in [label, *path.split("/")] if name not in ("", f".{kind}")]
    target = "/".join([FOLDER, kind, *names])
    too_long = len(target.encode()) > PATH_BYTES or any(len(name.encode()) > NAME_BYTES for name in names)
    return None if too_long else target


def other_target(target: str, source: str) -> str:
    """Return the name a copy gets where its own is taken: always the same for the same source."""
    folder, _, name = target.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    mark = "-" + sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:MARK_DIGITS]
    while len(f"{stem}{mark}{dot}{ending}".encode()) > NAME_BYTES:
        stem = stem[:-1]
    return f"{folder}/{stem}{mark}{dot}{ending}"


def same_name(target: str) -> str:
    """Return what is equal for two paths that are one on some file system: case and accents don't count."""
    return unicodedata.normalize("NFC", target).casefold()


def _plain(name: str) -> str:
    """Return a name that memory may have."""
    kept = "".join(char if char.isprintable() and char not in "\\/" else "-" for char in name)
    bare = kept.lstrip(". ").rstrip()
    if bare in FOLDERS_NOT_WALKED:
        return f"{bare}_"
    return bare if bare and bare.lower() != "md" else f"unnamed{'.md' if bare else ''}"
