"""Three-way comparison of texts by lines. Pure.

Both sides' changes of a common base are grouped into regions: a region that one side alone changed is taken from that
side, and overlapping changes are left to the caller.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from msgspec import Struct

from memd.text.alignment import changes


class MergeRegion(Struct, frozen=True):
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


class _Hunk(Struct, frozen=True):
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


def with_line_ends(text: str, model: str) -> str:
    """Return a text with the line endings of another."""
    count = model.count("\r\n")
    return text.replace("\n", "\r\n") if count and count == model.count("\n") else text


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
    """Return the changes of one side.

    Equal lines around an insertion or a deletion leave its place open: the last one is used, on both sides.
    """
    hunks: list[_Hunk] = []
    limit = len(base) + 1
    for start, end, first, last in reversed([*changes(base, side)]):
        hunk = _slide(base, _Hunk(start, end, tuple(side[first:last])), limit)
        hunks.append(hunk)
        limit = hunk.start
    return hunks[::-1]


def _slide(base: Sequence[str], hunk: _Hunk, limit: int) -> _Hunk:
    """Return an insertion or a deletion as far down as it can be, before a limit."""
    start, end, lines = hunk.start, hunk.end, deque(hunk.lines)
    if lines and start < end:
        return hunk
    while end + 1 < limit and base[end] == (lines[0] if lines else base[start]):
        lines.rotate(-1)
        start, end = start + 1, end + 1
    return _Hunk(start, end, tuple(lines))


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
