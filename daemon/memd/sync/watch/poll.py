"""Changes found by looking: what file events can't tell is read from names and stats.

A look opens one folder at a time. Where no descriptor is left for that, the folder counts as it was.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass

from memd.sync.disk.discover import NO_DESCRIPTOR
from memd.sync.watch.folders import Folder, Hint, Interest, Layout

Facts = tuple[int, ...]
"""What a change moves: of a file (inode, mtime, size, ctime), of a folder its inode alone."""


@dataclass(frozen=True, slots=True)
class Listing:
    """One folder at one moment: whom it concerns and the entries that can matter to them."""

    interests: frozenset[Interest]
    entries: Mapping[str, Facts]


Snapshot = dict[str, Listing]
"""Listings by the folder's path."""


def look(layout: Layout, before: Snapshot) -> Snapshot:
    """Return what the folders hold now (blocking)."""
    return {
        path: Listing(frozenset(folder.interests), _entries(folder, before.get(path)))
        for path, folder in layout.folders.items()
        if path == folder.path
    }


def find_changes(before: Snapshot, after: Snapshot) -> set[Hint]:
    """Return whom the differences between two looks concern."""
    found: set[Hint] = set()
    for path in before.keys() | after.keys():
        old, new = before.get(path), after.get(path)
        if old is None or new is None:
            found |= {
                (each.agent, each.kind) for side in (old, new) if side is not None for each in side.interests
            }
        elif old.entries != new.entries:
            names = {name for name, _ in old.entries.items() ^ new.entries.items()}
            found |= {
                interest.hint for interest in new.interests if any(interest.wants(name) for name in names)
            }
    return found


def _entries(folder: Folder, before: Listing | None) -> Mapping[str, Facts]:
    """Return the entries of a folder that can matter to anyone."""
    entries: dict[str, Facts] = {}
    try:
        with os.scandir(folder.path) as found:
            for entry in found:
                if any(interest.wants(entry.name) for interest in folder.interests):
                    facts = _facts(entry)
                    if facts is not None:
                        entries[entry.name] = facts
    except OSError as error:
        if error.errno in NO_DESCRIPTOR and before is not None:
            return before.entries
    return entries


def _facts(entry: os.DirEntry[str]) -> Facts | None:
    """Return what a change of an entry moves; None for one that is gone or holds nothing."""
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return None
    if stat.S_ISDIR(facts.st_mode):
        return (facts.st_ino,)
    if facts.st_size == 0 and entry.name.endswith("-wal"):
        return None
    return (facts.st_ino, facts.st_mtime_ns, facts.st_size, facts.st_ctime_ns)
