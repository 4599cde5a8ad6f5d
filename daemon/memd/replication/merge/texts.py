"""Three-way merge of one note. Pure.

No line that a side wrote is lost. Additions of both sides are united. If both changed the same lines, daily notes keep
both versions; other notes keep ours, and their lines are returned for a file of conflicts. A change is never undone by
a deletion, and a line that one side deleted and the other left unchanged is deleted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from memd.replication.merge.blocks import unite
from memd.replication.merge.lines import MergeRegion, compare, join_lines, split_lines

CONFLICTS_FOLDER = "memory/conflicts"
"""Folder of the lines that a merge could not place."""

_APPENDED = re.compile(
    r"memory/(?:.*/)?[0-9]{4}-[0-9]{2}-[0-9]{2}[^/]*\.md|memory/conflicts/[^/]*\.md", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ConflictLines:
    """Lines of the other side that are not in the merged text, and the line of the merged text they belong to."""

    line: int
    lines: tuple[str, ...]


@dataclass(slots=True)
class MergedText:
    """The result of a merge."""

    text: str
    conflicts: list[ConflictLines] = field(default_factory=list)


def is_append_style(path: str) -> bool:
    """Return whether entries are only added to a note: daily notes, session notes, and files of conflicts."""
    return _APPENDED.fullmatch(path) is not None


def merge_texts(
    base: str, ours: str, theirs: str, *, is_appended: bool, theirs_first: bool = False
) -> MergedText:
    """Merge two versions of a note.

    Args:
        base: The version both come from; empty if there is none.
        ours: The local version.
        theirs: The other version.
        is_appended: Whether overlapping changes are united too, as in daily notes.
        theirs_first: Whether their entries come first if entries have no time.
    """
    if ours == theirs or theirs == base:
        return MergedText(ours)
    if ours == base:
        return MergedText(theirs)
    lines: list[str] = []
    conflicts: list[ConflictLines] = []
    for region in compare(split_lines(base), split_lines(ours), split_lines(theirs)):
        if not region.is_overlap:
            lines += region.merged
            continue
        kept, lost = _resolve(region, is_appended=is_appended, theirs_first=theirs_first)
        if lost:
            conflicts.append(ConflictLines(len(lines) + 1, lost))
        lines += kept
    return MergedText(_with_line_ends(join_lines(lines), ours), conflicts)


def _resolve(
    region: MergeRegion, *, is_appended: bool, theirs_first: bool
) -> tuple[Sequence[str], tuple[str, ...]]:
    """Return the merged lines of an overlap, and the other side's lines that are not among them."""
    base = Counter(region.base)
    ours = _without_deleted(region.ours, base, Counter(region.theirs))
    theirs = _without_deleted(region.theirs, base, Counter(region.ours))
    if not _added(theirs, base):
        return ours, ()
    if not _added(ours, base):
        return theirs, ()
    if is_appended or not region.base:
        return unite(ours, theirs, theirs_first=theirs_first), ()
    known = {*ours, *region.base}
    return ours, tuple(line for line in theirs if line.strip() and line not in known)


def _without_deleted(side: Sequence[str], base: Counter[str], other: Counter[str]) -> list[str]:
    """Return one side's lines without those of the base that the other side deleted; blank lines stay."""
    gone = {line for line in base if line.strip() and not other[line]}
    return [line for line in side if line not in gone]


def _added(side: Sequence[str], base: Counter[str]) -> bool:
    """Return whether a side has lines that the base lacks."""
    return any(line.strip() and not base[line] for line in side)


def _with_line_ends(text: str, model: str) -> str:
    """Return a text with the line endings of another."""
    count = model.count("\r\n")
    return text.replace("\n", "\r\n") if count and count == model.count("\n") else text
