"""Subjects and bodies of commits, for people who read the history with git. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

MAX_SUBJECT_CHARS: Final = 72
MAX_LISTED: Final = 50

CONFIRMED: Final = "Deletion-Confirmed: yes"
"""Line of a message: the user confirmed the deletions, and other machines need not ask."""


def describe_changes(contents: Mapping[str, object | None], before: Mapping[str, object]) -> str:
    """Return the message of a commit of local changes.

    Args:
        contents: The changed files; None: removed.
        before: The files before.
    """
    added = sorted(path for path, data in contents.items() if data is not None and path not in before)
    changed = sorted(path for path, data in contents.items() if data is not None and path in before)
    removed = sorted(path for path, data in contents.items() if data is None)
    groups = [("Update", changed), ("Add", added), ("Remove", removed)]
    verb, paths = next((group for group in groups if group[1]), groups[0])
    others = len(contents) - 1
    subject = f"{verb} {paths[0] if paths else 'notes'}" + (f" and {others} more" if others > 0 else "")
    if len(subject) > MAX_SUBJECT_CHARS:
        subject = f"{verb} {len(contents)} {'note' if others < 1 else 'notes'}"
    listed = [f"{word.lower()} {path}" for word, group in groups for path in group]
    if len(listed) < 2:
        return subject + "\n"
    rest = [f"and {len(listed) - MAX_LISTED} more"] if len(listed) > MAX_LISTED else []
    return subject + "\n\n" + "\n".join([*listed[:MAX_LISTED], *rest]) + "\n"


def machine_of(author: str) -> str:
    """Return the machine that the author of a commit names, "" if it names none."""
    agent, _, machine = author.rpartition(" on ")
    return machine.strip() if agent else ""
