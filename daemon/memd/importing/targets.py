"""Where in a workspace an imported file goes. Pure."""

from __future__ import annotations

import unicodedata
from hashlib import sha256

from memd.sync.disk.rules import FOLDERS_NOT_WALKED

FOLDER = "memory/imported"
"""Below this in the workspace is everything that was imported, by kind."""

NAME_BYTES = 255
"""The longest name file systems take."""

PATH_BYTES = 1_024
"""A longer path below the workspace is refused rather than cut: it would name something else."""

MARK_DIGITS = 8
"""Digits of a hash that tell two sources of one name apart."""


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
