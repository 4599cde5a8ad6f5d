"""Alignment of two sequences in a number of steps that does not grow with the square of their length. Pure.

Items that occur once on both sides are anchors, as in a patience diff. Between anchors, the shortest edit is searched
in steps of at most `MAX_EDITS` insertions and deletions.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

MAX_EDITS = 200
"""Insertions and deletions after which a search is continued from the furthest pair of positions."""

MAX_STEPS = 4_000_000
"""Most steps of all searches together, about: searches in long sequences are shorter, and in the longest left out."""

MAX_ROUNDS = 32
"""How often the anchors of a range are searched for again between its anchors."""

SEARCH_ROUNDS = 8
"""As many rounds a search counts as: it continues in a range that is hardly shorter."""


class _Range(NamedTuple):
    """A range of both sequences; `rounds` counts the anchors that it is between."""

    start: int
    end: int
    other_start: int
    other_end: int
    rounds: int


def align(one: Sequence[Hashable], other: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return pairs of positions of equal items, increasing on both sides."""
    pairs: list[tuple[int, int]] = []
    most_edits = min(MAX_EDITS, MAX_STEPS // (len(one) + len(other) + 1))
    ranges = [_Range(0, len(one), 0, len(other), 0)]
    while ranges:
        inner = _trim(one, other, ranges.pop(), pairs)
        if inner.start == inner.end or inner.other_start == inner.other_end:
            continue
        anchors = _anchors(one, other, inner) if inner.rounds < MAX_ROUNDS else []
        if not anchors:
            if most_edits:
                at, there = _add_shortest(one, other, inner, pairs, most_edits)
                ranges.append(_Range(at, inner.end, there, inner.other_end, inner.rounds + SEARCH_ROUNDS))
            continue
        pairs += anchors
        start, other_start = inner.start, inner.other_start
        for here, there in [*anchors, (inner.end, inner.other_end)]:
            ranges.append(_Range(start, here, other_start, there, inner.rounds + 1))
            start, other_start = here + 1, there + 1
    return sorted(pairs)


def changes(one: Sequence[Hashable], other: Sequence[Hashable]) -> Iterator[tuple[int, int, int, int]]:
    """Yield (start, end, start in the other, end in the other) of each range that differs, in order."""
    at = there = 0
    for here, position in [*align(one, other), (len(one), len(other))]:
        if at < here or there < position:
            yield at, here, there, position
        at, there = here + 1, position + 1


def _trim(
    one: Sequence[Hashable], other: Sequence[Hashable], found: _Range, pairs: list[tuple[int, int]]
) -> _Range:
    """Add the pairs at both ends of a range, and return the range between."""
    start, end, other_start, other_end, rounds = found
    while start < end and other_start < other_end and one[start] == other[other_start]:
        pairs.append((start, other_start))
        start, other_start = start + 1, other_start + 1
    while start < end and other_start < other_end and one[end - 1] == other[other_end - 1]:
        end, other_end = end - 1, other_end - 1
        pairs.append((end, other_end))
    return _Range(start, end, other_start, other_end, rounds)


def _anchors(one: Sequence[Hashable], other: Sequence[Hashable], found: _Range) -> list[tuple[int, int]]:
    """Return the longest increasing series of items that occur once on both sides of a range."""
    counts = Counter(one[found.start : found.end])
    other_counts = Counter(other[found.other_start : found.other_end])
    places = {
        item: at
        for at, item in enumerate(other[found.other_start : found.other_end], found.other_start)
        if other_counts[item] == 1 and item != ""  # a blank line says nothing about its place
    }
    ends: list[int] = []  # the smallest last position of a series of each length
    chains: list[tuple[int, int, int]] = []  # here, there, and the chain before
    last: list[int] = []  # the chain that ends there
    for here in range(found.start, found.end):
        item = one[here]
        there = places.get(item)
        if there is None or counts[item] != 1:
            continue
        length = bisect_left(ends, there)
        ends[length : length + 1] = [there]
        last[length : length + 1] = [len(chains)]
        chains.append((here, there, last[length - 1] if length else -1))
    anchors: list[tuple[int, int]] = []
    chain = last[-1] if last else -1
    while chain >= 0:
        here, there, chain = chains[chain]
        anchors.append((here, there))
    return anchors[::-1]


def _add_shortest(
    one: Sequence[Hashable],
    other: Sequence[Hashable],
    found: _Range,
    pairs: list[tuple[int, int]],
    most_edits: int,
) -> tuple[int, int]:
    """Add the pairs of the shortest edit of a range (Myers 1986); return the positions that it reaches."""
    start, end, other_start, other_end, _ = found
    length, other_length = end - start, other_end - other_start
    reached = {1: 0}  # by diagonal, how far `one` is read
    traces: list[dict[int, int]] = []
    best = 0, 0, 0
    for edits in range(most_edits + 1):
        traces.append(dict(reached))
        for diagonal in range(-edits, edits + 1, 2):
            at = _step(reached, diagonal, edits)
            there = at - diagonal
            while at < length and there < other_length and one[start + at] == other[other_start + there]:
                at, there = at + 1, there + 1
            reached[diagonal] = at
            if at <= length and there <= other_length and at + there > best[0] + best[1]:
                best = at, there, edits
        if best[:2] == (length, other_length):
            break
    at, there, edits = best
    pairs += _backtrack(traces[: edits + 1], found, at, there)
    return start + at, other_start + there


def _step(reached: dict[int, int], diagonal: int, edits: int) -> int:
    """Return how far `one` is read at the start of a diagonal."""
    if _is_insertion(reached, diagonal, edits):
        return reached[diagonal + 1]
    return reached[diagonal - 1] + 1


def _is_insertion(reached: dict[int, int], diagonal: int, edits: int) -> bool:
    """Return whether the last edit before a diagonal is an insertion; if not, it is a deletion."""
    return diagonal == -edits or (diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1])


def _backtrack(traces: Sequence[dict[int, int]], found: _Range, at: int, there: int) -> list[tuple[int, int]]:
    """Return the pairs on the way to a position of a range."""
    pairs: list[tuple[int, int]] = []
    for edits in range(len(traces) - 1, -1, -1):
        reached, diagonal = traces[edits], at - there
        begin = _step(reached, diagonal, edits) if edits else 0
        while at > begin:
            at, there = at - 1, there - 1
            pairs.append((found.start + at, found.other_start + there))
        if edits:
            is_inserted = _is_insertion(reached, diagonal, edits)
            at, there = (at, there - 1) if is_inserted else (at - 1, there)
    return pairs
