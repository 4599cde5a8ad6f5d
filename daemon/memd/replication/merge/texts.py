"""Three-way merge of one note. Pure.

No line that a side wrote is lost. Additions of both sides are united. If both changed the same lines, daily notes keep
both versions; other notes keep ours, and their lines are returned for a file of conflicts. A change is never undone by
a deletion, and a line that one side deleted and the other left unchanged is deleted. Fenced code blocks count as one
line, unless both sides changed the same one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from msgspec import Struct, field

from memd.replication.merge.assembly import MergedPart, NoteVersions, assemble, drop_twins, keep_moved
from memd.replication.merge.blocks import is_later, unite
from memd.text.fences import join_fences, split_fences
from memd.text.three_way import MergeRegion, compare, join_lines, split_lines, with_line_ends

CONFLICTS_FOLDER = "memory/conflicts"
"""Folder of the lines that a merge could not place."""

_APPENDED = re.compile(
    r"memory/(?:.*/)?[0-9]{4}-[0-9]{2}-[0-9]{2}[^/]*\.md|memory/conflicts/[^/]*\.md", re.IGNORECASE
)


class ConflictLines(Struct, frozen=True):
    """Lines of the other side that are not in the merged text, and the line of the merged text they belong to."""

    line: int
    lines: tuple[str, ...]


class MergedText(Struct):
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
    versions = NoteVersions(*(join_fences(split_lines(text)) for text in (base, ours, theirs)))
    deleted = _deleted(versions.base, versions.theirs), _deleted(versions.base, versions.ours)
    parts: list[MergedPart] = []
    for region in compare(versions.base, versions.ours, versions.theirs):
        part = _merge_region(region, deleted, is_appended=is_appended, theirs_first=theirs_first)
        if is_appended and parts and _is_out_of_order(parts[-1], part):
            units = unite(split_fences(parts.pop().units), split_fences(part.units))
            part = MergedPart(units, is_changed=True)
        parts.append(part)
    keep_moved(parts, versions)
    drop_twins(parts, versions)
    merged = MergedText("")
    lines: list[str] = []
    for part, units in zip(parts, assemble(parts, versions), strict=True):
        if part.lost:
            merged.conflicts.append(ConflictLines(len(lines) + 1, tuple(split_fences(part.lost))))
        lines += split_fences(units)
    merged.text = with_line_ends(join_lines(lines), ours)
    return merged


def _merge_region(
    region: MergeRegion, deleted: tuple[set[str], set[str]], *, is_appended: bool, theirs_first: bool
) -> MergedPart:
    """Return a part of the merged text; `deleted` has what they deleted, and what we deleted."""
    if not region.is_overlap:
        is_theirs = region.ours == region.base
        return MergedPart(
            list(region.merged),
            is_changed=region.ours != region.theirs,
            is_theirs=is_theirs,
            is_inserted=not region.base,
        )
    inner = _merge_fence(region)
    if inner is not None:
        return MergedPart([inner], is_changed=True)
    base = set(region.base)
    ours = _without(region.ours, (base & deleted[0]) - set(region.theirs))
    theirs = _without(region.theirs, (base & deleted[1]) - set(region.ours))
    if not _has_added(theirs, base):
        return MergedPart(ours, is_changed=True)
    if not _has_added(ours, base):
        return MergedPart(theirs, is_changed=True, is_theirs=True)
    if is_appended or not region.base:
        united = unite(split_fences(ours), split_fences(theirs), theirs_first=theirs_first)
        return MergedPart(united, is_changed=True)
    known = {*ours, *base}
    lost = tuple(unit for unit in theirs if unit.strip() and unit not in known)
    return MergedPart(ours, is_changed=True, lost=lost)


def _merge_fence(region: MergeRegion) -> str | None:
    """Return a fenced code block with the changes of both sides; None if it is something else, or they overlap."""
    versions = region.base, region.ours, region.theirs
    if any(len(version) != 1 or "\n" not in version[0] for version in versions):
        return None
    regions = compare(*(version[0].split("\n") for version in versions))
    if any(each.is_overlap for each in regions):
        return None
    lines = [line for each in regions for line in each.merged]
    return "\n".join(lines) if len(join_fences(lines)) == 1 else None


def _is_out_of_order(before: MergedPart, after: MergedPart) -> bool:
    """Return whether one side added entries that are earlier than changed ones of the other side before them."""
    return (
        before.is_changed
        and after.is_changed
        and before.is_theirs != after.is_theirs
        and (before.is_inserted or after.is_inserted)
        and is_later(split_fences(before.units), split_fences(after.units))
    )


def _deleted(base: Sequence[str], side: Sequence[str]) -> set[str]:
    """Return the units that a side has less often than the base; blank lines are not among them."""
    counts = Counter(side)
    return {unit for unit, count in Counter(base).items() if unit.strip() and counts[unit] < count}


def _without(units: Sequence[str], gone: set[str]) -> list[str]:
    return [unit for unit in units if unit not in gone]


def _has_added(side: Sequence[str], base: set[str]) -> bool:
    """Return whether a side has units that the base lacks."""
    return any(unit.strip() and unit not in base for unit in side)
