"""The files a session begins with, read from the workspace through no link. Blocks: for a thread."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from memd.lifecycle.notes.session_kinds import Kind
from memd.sync.disk.safe_open import open_file, open_listing
from memd.text.cut.annotations import hide_annotations

PRIVATE_FILES = ("MEMORY.md", "memory.md", "USER.md")
"""For the main session alone: what stands in them is the user's own."""

FOLDER = "memory"

WITH_NOTES: frozenset[Kind] = frozenset({"main", "direct", "group", "channel"})
"""Sessions that begin with the daily notes: those with a person."""

MOST_NOTES = 50
"""Notes of a day that are looked at: each session may leave one."""

MOST_BYTES = 16 * 1_048_576
"""A larger file is no memory, as for the index."""


@dataclass(frozen=True, slots=True)
class StartFile:
    """A file and all its text without comments for programs; lines end with a newline alone."""

    path: str
    text: str


def read_start_files(workspace: Path, kind: Kind, today: date) -> Iterator[StartFile]:
    """Yield the files a session of a kind begins with, those that matter most first."""
    root = str(workspace)
    seen: set[tuple[int, int]] = set()
    for path in _wanted(root, kind, today):
        try:
            text = _read(root, path, seen)
        except (OSError, UnicodeDecodeError):
            continue
        if text and text.strip():
            yield StartFile(path, hide_annotations(text.replace("\r\n", "\n")))


def _wanted(root: str, kind: Kind, today: date) -> Iterator[str]:
    """Yield paths below the workspace, which may be missing: what is private, then the later day first."""
    if kind == "main":
        yield from PRIVATE_FILES
    if kind not in WITH_NOTES:
        return
    try:
        with open_listing(root, f"{root.rstrip('/')}/{FOLDER}") as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith(".md"))
    except OSError:
        return
    for day in _last_days(today):
        of_day = [name for name in names if name.startswith(f"{day}-")][:MOST_NOTES]
        yield from (f"{FOLDER}/{name}" for name in (f"{day}.md", *of_day) if _is_plain(name))


def _last_days(today: date) -> Iterator[str]:
    """Yield today and yesterday as notes are named."""
    yield today.isoformat()
    if today > date.min:
        yield (today - timedelta(days=1)).isoformat()


def _is_plain(name: str) -> bool:
    """Return whether a file's name can be shown and sent: UTF-8, on one line."""
    return name.isprintable()


def _read(root: str, path: str, seen: set[tuple[int, int]]) -> str | None:
    """Return a file's text, None where it is no file or was read under another name."""
    handle = open_file(root, f"{root.rstrip('/')}/{path}")
    try:
        facts = os.fstat(handle)
        identity = (facts.st_dev, facts.st_ino)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > MOST_BYTES or identity in seen:
            return None
        with open(handle, "rb", closefd=False) as file:
            data = file.read(MOST_BYTES + 1)
    finally:
        os.close(handle)
    if len(data) > MOST_BYTES or b"\0" in data:
        return None
    seen.add(identity)
    return data.decode("utf-8-sig")
