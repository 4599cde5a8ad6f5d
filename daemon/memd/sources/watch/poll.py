"""Finds changes by polling: lists an agent's files and compares two listings."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from memd.sources.discover import SourceFile, check_descriptors, discover
from memd.sources.watch.queue import Hint, WatchPlan, is_transcript


class FolderListing(NamedTuple):
    """One agent's notes, skipped files and transcripts at one time."""

    notes: Mapping[str, SourceFile]
    skipped: frozenset[tuple[str, str]]
    transcripts: Mapping[str, tuple[int, ...]]


def list_folders(plan: WatchPlan, before: FolderListing | None) -> FolderListing:
    """Return the current listing (blocking).

    Raises:
        FileUnreadableError: The process has no file descriptors left.
    """
    disk = discover(plan.workspace, plan.extra_paths, sys.maxsize, None if before is None else before.notes)
    skipped = frozenset((each.path, each.reason) for each in disk.skipped)
    return FolderListing(disk.files, skipped, _find_transcripts(plan.session_folders))


def find_changes(plan: WatchPlan, before: FolderListing | None, after: FolderListing) -> frozenset[Hint]:
    """Return hints for the kinds of files that changed between two listings; all hints if `before` is None."""
    if before is None:
        return plan.hints
    changed = {
        "memory": (before.notes, before.skipped) != (after.notes, after.skipped),
        "sessions": before.transcripts != after.transcripts,
        "sources": False,  # a search looks at them, and the regular syncs
    }
    return frozenset(hint for hint in plan.hints if changed[hint[1]])


def _find_transcripts(folders: Iterable[Path]) -> dict[str, tuple[int, ...]]:
    """Return the state of each file that may contain a session."""
    found = {}
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if is_transcript(entry.name) and (facts := _facts_of(entry)):
                        found[os.path.join(folder, entry.name)] = facts
        except OSError as error:
            check_descriptors(error)
    return found


def _facts_of(entry: os.DirEntry[str]) -> tuple[int, ...]:
    """Return a file's state; empty if it is missing, a folder, or an empty log of a database."""
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return ()
    if stat.S_ISDIR(facts.st_mode) or (facts.st_size == 0 and entry.name.endswith("-wal")):
        return ()
    return facts.st_ino, facts.st_mtime_ns, facts.st_size, facts.st_ctime_ns
