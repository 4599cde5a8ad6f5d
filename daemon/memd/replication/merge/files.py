"""Merge of the files of two machines, from their contents: notes, facts, and files of conflicts. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from memd.replication.merge.facts import is_facts_path, merge_facts, note_changes
from memd.replication.merge.texts import (
    CONFLICTS_FOLDER,
    ConflictLines,
    MergedText,
    is_append_style,
    merge_texts,
)

MAX_NAME_BYTES: Final = 80
"""Longest part of a file name that names a note: with the day and the machine it fits into 255 bytes."""


class Sides(Struct, frozen=True):
    """The names of the machines that a merge is between, the day it happens on, and whose entries are earlier."""

    ours: str
    theirs: str
    day: str
    theirs_first: bool = False


def merge_note(path: str, base: str, ours: str, theirs: str, sides: Sides) -> MergedText:
    """Merge a note from the text of the base, ours and theirs."""
    return merge_texts(base, ours, theirs, is_appended=is_append_style(path), theirs_first=sides.theirs_first)


def merge_one(path: str, base: str, ours: str, theirs: str, sides: Sides, now_ms: int) -> MergedText:
    """Merge a file of the workspace that was changed while another version was on its way."""
    if is_facts_path(path):
        mine = note_changes({}, {path: base}, {path: ours}, now_ms)
        others = note_changes({}, {path: base}, {path: theirs}, now_ms - 1)
        return MergedText(merge_facts({path: base}, {path: ours}, {path: theirs}, mine, others)[path])
    return merge_note(path, base, ours, theirs, sides)


def conflict_folder_prefix(sides: Sides) -> str:
    """Return how the paths of files of conflicts with a machine begin on this day."""
    return f"{CONFLICTS_FOLDER}/{sides.day}-{sides.theirs}-"


def conflict_entry(path: str, conflicts: list[ConflictLines], sides: Sides, text: str) -> tuple[str, str]:
    """Return the path of the file of conflicts for a note, and its text with more conflicts.

    Args:
        path: The note.
        conflicts: The other machine's lines.
        sides: The machines.
        text: The present text of the file of conflicts, empty if there is none.
    """
    blocks = [f"## {path} line {each.line}\n\n" + "\n".join(each.lines) + "\n" for each in conflicts]
    title = f"# Lines of {sides.theirs} that conflict with {path} of {sides.ours}\n"
    before = text.rstrip("\n") + "\n" if text.strip() else title
    return conflict_folder_prefix(sides) + _name_of(path), "\n".join([before, *blocks])


def original_of(conflict_path: str, known: Mapping[str, object]) -> str:
    """Return the note that a file of conflicts belongs to, as far as its name says it."""
    name = _original_name(conflict_path)
    return {_name_of(path): path for path in known}.get(name, name)


def is_conflict_with(conflict_path: str, path: str) -> bool:
    """Return whether a path is a file of conflicts with a note."""
    is_conflict = conflict_path.startswith(f"{CONFLICTS_FOLDER}/")
    return is_conflict and _original_name(conflict_path) == _name_of(path)


def _original_name(conflict_path: str) -> str:
    """Return the part of a conflict file's name that names the note, behind the day and the machine."""
    return conflict_path.rpartition("/")[2].split("-", 4)[-1]


def _name_of(path: str) -> str:
    """Return a note's path as part of a file name, with a mark instead of its start if it is too long."""
    flat = path.removeprefix("memory/").replace("/", "-")
    if len(flat.encode()) <= MAX_NAME_BYTES:
        return flat
    mark = hashlib.sha256(flat.encode()).hexdigest()[:8]
    end = flat.encode()[len(mark) + 1 - MAX_NAME_BYTES :].decode(errors="ignore")
    return f"{mark}_{end.lstrip('-')}"
