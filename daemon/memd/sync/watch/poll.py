"""Changes found by looking: what an agent's files are now, to be compared with what they were."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from memd.sync.disk.discover import Found, check_descriptors, discover
from memd.sync.watch.queue import Hint, WatchPlan, is_transcript


class Snapshot(NamedTuple):
    """One agent's notes, what was left out of them, and its transcripts, at one moment."""

    notes: Mapping[str, Found]
    skipped: frozenset[tuple[str, str]]
    transcripts: Mapping[str, tuple[int, ...]]


def look(plan: WatchPlan, before: Snapshot | None) -> Snapshot:
    """Return what is there now (blocking).

    Raises:
        FileUnreadableError: The process has no descriptor left to look with.
    """
    disk = discover(plan.workspace, plan.extra_paths, sys.maxsize, None if before is None else before.notes)
    skipped = frozenset((each.path, each.reason) for each in disk.skipped)
    return Snapshot(disk.files, skipped, _find_transcripts(plan.session_folders))


def find_changes(plan: WatchPlan, before: Snapshot | None, after: Snapshot) -> frozenset[Hint]:
    """Return which of an agent's files changed between two looks; all of them if there was none before."""
    if before is None:
        return plan.hints
    changed = {
        "memory": (before.notes, before.skipped) != (after.notes, after.skipped),
        "sessions": before.transcripts != after.transcripts,
    }
    return frozenset(hint for hint in plan.hints if changed[hint[1]])


def _find_transcripts(folders: Iterable[Path]) -> dict[str, tuple[int, ...]]:
    """Return what a change moves of each file that may hold a session."""
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
    """Return what a change of a file moves; nothing if it is gone, no file, or an empty log of a database."""
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return ()
    if stat.S_ISDIR(facts.st_mode) or (facts.st_size == 0 and entry.name.endswith("-wal")):
        return ()
    return facts.st_ino, facts.st_mtime_ns, facts.st_size, facts.st_ctime_ns
