"""Assembly of a merged note from its parts: what both sides moved appears once, and paragraphs stay apart. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from memd.replication.merge.blocks import is_heading, is_indented, is_item


class NoteVersions(Struct, frozen=True):
    """The three versions of a note in units: lines, and whole fenced code blocks."""

    base: Sequence[str]
    ours: Sequence[str]
    theirs: Sequence[str]


class MergedPart(Struct):
    """A part of a merged note in units.

    Attributes:
        units: The lines and fenced code blocks.
        is_changed: Whether one side or both changed it.
        is_theirs: Whether the other side alone changed it.
        is_inserted: Whether the base has nothing there.
        lost: Units of the other side that conflict with it.
    """

    units: list[str]
    is_changed: bool = False
    is_theirs: bool = False
    is_inserted: bool = False
    lost: Sequence[str] = ()


def drop_twins(parts: Sequence[MergedPart], versions: NoteVersions) -> None:
    """Drop what each side has once and the parts have twice: lines that both sides moved, and blocks that both added.

    A block is a list item, a paragraph or a fenced code block. The place in our version is used. Headings stay, because
    each may have other text below it.
    """
    counts = Counter(unit for part in parts for unit in part.units)
    twice = {unit for unit, count in counts.items() if count > 1 and unit.strip()}
    if not twice:
        return
    shared = set(_blocks(versions.ours, twice)) & set(_blocks(versions.theirs, twice))
    sides = [Counter(side) for side in (versions.base, versions.ours, versions.theirs)]
    moved = {unit for unit in twice if not is_heading(unit) and all(side[unit] == 1 for side in sides)}
    twins = moved.union(*shared)
    for part in sorted(parts, key=lambda each: not each.is_theirs):
        if not part.is_changed:
            continue
        kept: list[str] = []
        for unit, following in zip(part.units, [*part.units[1:], ""], strict=False):
            if unit in twins and counts[unit] > 1:
                counts[unit] -= 1
                if kept and not kept[-1].strip() and not following.strip():
                    kept.pop()
            else:
                kept.append(unit)
        part.units = kept


def keep_moved(parts: Sequence[MergedPart], versions: NoteVersions) -> None:
    """Add the units of conflicts that all versions have and no part: the other side moved them there."""
    units = {unit for part in parts for unit in part.units}
    shared = set(versions.base) & set(versions.ours) & set(versions.theirs)
    for part in parts:
        for unit in part.lost:
            if unit in shared and unit not in units:
                part.units += [unit] if is_item(unit) else ["", unit]
        part.lost = [unit for unit in part.lost if unit not in shared]


def assemble(parts: Sequence[MergedPart], versions: NoteVersions) -> Iterator[list[str]]:
    """Yield the units of each part, with a blank line between parts if their versions have one there."""
    spacing = _Spacing(versions)
    last: str | None = None
    for part in parts:
        units = part.units
        if units and last is not None:
            if spacing.is_missing(last, units[0]):
                units = ["", *units]
            elif spacing.is_doubled(last, units[0]):
                units = units[1:]
        last = units[-1] if units else last
        yield units


class _Spacing:
    """Which units have a blank line next to them in one of the versions."""

    def __init__(self, versions: NoteVersions) -> None:
        self._pairs: set[tuple[str, str]] = set()
        for side in (versions.base, versions.ours, versions.theirs):
            self._pairs |= set(pairwise(["", *side]))
        self._spaced_after = {one for one, other in self._pairs if not other.strip()}
        self._spaced_before = {other for one, other in self._pairs if not one.strip()}

    def is_missing(self, one: str, other: str) -> bool:
        """Return whether two units that follow each other in no version would become one block."""
        if not one.strip() or not other.strip() or (one, other) in self._pairs:
            return False
        if is_item(one) or is_indented(one):
            return not (is_item(other) or is_indented(other))
        return one in self._spaced_after or other in self._spaced_before

    def is_doubled(self, one: str, other: str) -> bool:
        """Return whether two blank lines would follow each other although they do so in no version."""
        return not one.strip() and not other.strip() and (one, other) not in self._pairs


def _blocks(units: Sequence[str], wanted: set[str]) -> list[tuple[str, ...]]:
    """Return the blocks that have only wanted units that occur once."""
    counts = Counter(units)
    blocks: list[list[str]] = []
    here: list[str] = []
    for unit in [*units, ""]:
        if here and (not unit.strip() or is_item(unit) or is_heading(unit)):
            blocks.append(here)
            here = []
        if not here and is_indented(unit) and blocks:
            here = blocks.pop()  # a paragraph of the list item before it
        if unit.strip() and not is_heading(unit):
            here.append(unit)
    return [tuple(block) for block in blocks if all(each in wanted and counts[each] == 1 for each in block)]
