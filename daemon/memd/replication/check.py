"""Rules for what comes from a remote: nothing outside them is ever written to a workspace. Pure.

Files that are no memory, such as a README in the repository, are carried along and never written. Anything that could
lead out of the workspace refuses the whole commit.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import Final

from memd.replication.git.repository import PLAIN_FILES, TreeEntry
from memd.sources.rules import is_memory_path
from memd.system import units
from memd_client.errors import RemoteRefusedError

LEDGER: Final = ".memd/facts"
"""File of the repository with the times of changed facts; it is not in the workspace."""

MAX_LEDGER_BYTES: Final = 4 * 1024 * 1024
"""Several times the size of a ledger that memd writes."""

MAX_NAME_BYTES: Final = 255
MAX_PATH_BYTES: Final = 1_024
MAX_DEPTH: Final = 32
MAX_OTHER_FILES: Final = 1_000
"""Files that are no memory, carried along."""

REMOVE_HINT: Final = "remove it from the remote's history tip with git; memd then continues"

_KINDS: Final = {"120000": "a symbolic link", "160000": "a submodule"}

_CONTROLS: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS: Final = "\u200c\u200d"
"""Invisible characters that names in Persian and names with emoji need."""


def check_files(files: Mapping[str, TreeEntry], max_file_bytes: int, max_files: int, max_bytes: int) -> None:
    """Raise `RemoteRefusedError` unless all files of an incoming commit may be used.

    Args:
        files: The files by path.
        max_file_bytes: Largest memory file.
        max_files: Most memory files.
        max_bytes: Most bytes of all files.
    """
    memory = 0
    total_bytes = 0
    for path, entry in files.items():
        if entry.mode not in PLAIN_FILES:
            raise refused(path, f"is {_KINDS.get(entry.mode, f'of the unknown mode {entry.mode}')}")
        if (problem := path_problem(path)) is not None:
            raise refused(path, problem)
        total_bytes += max(0, entry.size)
        if path.startswith(f"{LEDGER}/"):
            raise refused(LEDGER, "is a folder")
        if path == LEDGER and entry.size > MAX_LEDGER_BYTES:
            raise refused(path, f"has {units.size(entry.size)}; the limit is {units.size(MAX_LEDGER_BYTES)}")
        if is_tracked(path):
            memory += 1
            if entry.size > max_file_bytes:
                raise refused(
                    path, f"has {units.size(entry.size)}; the limit is {units.size(max_file_bytes)}"
                )
    if memory > max_files:
        raise refused("", f"has {memory:,} memory files; the limit is {max_files:,}")
    if len(files) - memory > MAX_OTHER_FILES:
        raise refused("", f"has {len(files) - memory:,} files that are no memory; is it another project's?")
    if total_bytes > max_bytes:
        raise refused("", f"has {units.size(total_bytes)} of files; the limit is {units.size(max_bytes)}")
    _check_folders(files)


def is_tracked(path: str) -> bool:
    """Return whether a path is memory that is replicated."""
    return is_memory_path(path) and path_problem(path) is None


def path_problem(path: str) -> str | None:
    """Return why a path can't be used, as part of a message; None if it can."""
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "has a name that is not UTF-8"
    names = path.split("/")
    if size > MAX_PATH_BYTES or len(names) > MAX_DEPTH:
        return "has too long a path"
    if "\\" in path or any(unicodedata.category(char) in _CONTROLS and char not in _JOINERS for char in path):
        return "has control characters or backslashes in its path"
    for name in names:
        if name in ("", ".", "..") or len(name.encode()) > MAX_NAME_BYTES:
            return "leaves its folder, or has an invalid name"
        if _as_seen(name) in (".git", "git~1"):
            return "is inside a folder named .git"
    return None


def check_text(path: str, data: bytes) -> str:
    """Return the text of an incoming file, or raise `RemoteRefusedError` if it is none."""
    text = text_of(data)
    if text is None:
        raise refused(path, "is not text in UTF-8")
    return text


def text_of(data: bytes) -> str | None:
    """Return the text of a file; None if it is not text."""
    try:
        return data.decode("utf-8") if b"\0" not in data else None
    except UnicodeDecodeError:
        return None


def _as_seen(name: str) -> str:
    """Return a name as the least exact file systems see it; after a colon is the name of a stream of NTFS."""
    visible = "".join(char for char in name if char not in _JOINERS)
    return unicodedata.normalize("NFKC", visible).casefold().partition(":")[0].rstrip(". ")


def _check_folders(files: Mapping[str, TreeEntry]) -> None:
    """Raise if a path is both a file and a folder."""
    for path in files:
        folder = path.rpartition("/")[0]
        while folder:
            if folder in files:
                raise refused(folder, "is both a file and a folder")
            folder = folder.rpartition("/")[0]


def refused(path: str, problem: str, hint: str = REMOVE_HINT) -> RemoteRefusedError:
    """Return the error for a commit that is not used; the path is "" if that is not because of one file."""
    shown = path.encode("utf-8", "replace").decode()[:200]
    what = f"{shown!r} on the remote {problem}" if path else f"the remote {problem}"
    return RemoteRefusedError(
        f"{what}; nothing was changed here",
        hint=hint,
        data={"path": shown},
    )
