"""Three-way comparison of texts by lines. Pure.

Both sides' changes of a common base are grouped into regions: a region that one side alone changed is taken from that
side, and overlapping changes are left to the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True, slots=True)
class MergeRegion:
    """The same part of a text in its base and on both sides; `is_overlap` if both sides changed it differently."""

    base: tuple[str, ...]
    ours: tuple[str, ...]
    theirs: tuple[str, ...]

    @property
    def is_overlap(self) -> bool:
        """Whether both sides changed it, each in another way."""
        return self.ours != self.theirs and self.base not in (self.ours, self.theirs)

    @property
    def merged(self) -> tuple[str, ...]:
        """The lines of the side that changed them, if there is no overlap."""
        return self.theirs if self.ours == self.base else self.ours


@dataclass(frozen=True, slots=True)
class _Hunk:
    """Lines `start` to `end` of the base, and those that replace them."""

    start: int
    end: int
    lines: tuple[str, ...]


def split_lines(text: str) -> list[str]:
    """Return the lines of a text without line endings; a final line break starts no line."""
    lines = text.replace("\r\n", "\n").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def join_lines(lines: Sequence[str]) -> str:
    """Return lines as a text that ends with a line break; empty for no lines."""
    return "\n".join(lines) + "\n" if lines else ""


def compare(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> list[MergeRegion]:
    """Return the regions of a three-way comparison, in order; together they cover all three texts."""
    our_hunks, their_hunks = _hunks(base, ours), _hunks(base, theirs)
    regions: list[MergeRegion] = []
    at = 0
    for start, end, mine, others in _groups(our_hunks, their_hunks):
        if at < start:
            same = tuple(base[at:start])
            regions.append(MergeRegion(same, same, same))
        regions.append(
            MergeRegion(
                tuple(base[start:end]), _applied(base, start, end, mine), _applied(base, start, end, others)
            )
        )
        at = end
    if at < len(base):
        same = tuple(base[at:])
        regions.append(MergeRegion(same, same, same))
    return regions


def _hunks(base: Sequence[str], side: Sequence[str]) -> list[_Hunk]:
    """Return the changes of one side."""
    head = 0
    while head < min(len(base), len(side)) and base[head] == side[head]:
        head += 1
    tail = 0
    while tail < min(len(base), len(side)) - head and base[-1 - tail] == side[-1 - tail]:
        tail += 1
    inner_base, inner_side = base[head : len(base) - tail], side[head : len(side) - tail]
    matcher = SequenceMatcher(None, inner_base, inner_side)
    return [
        _Hunk(head + i1, head + i2, tuple(inner_side[j1:j2]))
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _groups(
    ours: Sequence[_Hunk], theirs: Sequence[_Hunk]
) -> Iterator[tuple[int, int, list[_Hunk], list[_Hunk]]]:
    """Yield (start, end, our hunks, their hunks) for each group of overlapping hunks, in order."""
    i = j = 0
    while i < len(ours) or j < len(theirs):
        mine: list[_Hunk] = []
        others: list[_Hunk] = []
        is_mine = j >= len(theirs) or (i < len(ours) and _key(ours[i]) <= _key(theirs[j]))
        first = ours[i] if is_mine else theirs[j]
        start, end = first.start, first.end
        grew = True
        while grew:
            grew = False
            while i < len(ours) and _touches(ours[i], start, end, first):
                end, grew = max(end, ours[i].end), True
                mine.append(ours[i])
                i += 1
            while j < len(theirs) and _touches(theirs[j], start, end, first):
                end, grew = max(end, theirs[j].end), True
                others.append(theirs[j])
                j += 1
        yield start, end, mine, others


def _key(hunk: _Hunk) -> tuple[int, int]:
    return hunk.start, hunk.end


def _touches(hunk: _Hunk, start: int, end: int, first: _Hunk) -> bool:
    """Return whether a hunk overlaps a range that begins with another hunk, or both insert at one place."""
    if hunk is first or hunk.start < end:
        return True
    return hunk.start == hunk.end == start == end


def _applied(base: Sequence[str], start: int, end: int, hunks: Sequence[_Hunk]) -> tuple[str, ...]:
    """Return a range of the base with one side's hunks applied."""
    lines: list[str] = []
    at = start
    for hunk in hunks:
        lines += [*base[at : hunk.start], *hunk.lines]
        at = hunk.end
    return (*lines, *base[at:end])
