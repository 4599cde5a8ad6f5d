"""Alignment of sequences: correct pairs, and a number of steps that grows with their length alone."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text import alignment
from memd.text.alignment import align, changes

SEQUENCES = st.lists(st.sampled_from("abcdef"), max_size=30)

LINES = 20_000

MAX_COMPARISONS = 4 * alignment.MAX_EDITS * LINES
"""For two texts of `LINES` lines; all pairs of lines are 25 times as many."""

MAX_HASHES = 100 * LINES
"""The same for lines that are counted, to find those that occur once."""


class CountedLine(str):
    """A line that counts how often it is compared, and how often it is looked up."""

    comparisons = 0
    hashes = 0

    def __eq__(self, other: object) -> bool:
        CountedLine.comparisons += 1
        return str.__eq__(self, str(other))

    def __hash__(self) -> int:
        CountedLine.hashes += 1
        return str.__hash__(self)


def check_alignment(one: list[str], other: list[str]) -> None:
    """Check that pairs are equal items in order, and that the changes turn one sequence into the other."""
    pairs = align(one, other)
    assert all(one[here] == other[there] for here, there in pairs)
    assert all(before[0] < after[0] and before[1] < after[1] for before, after in pairwise(pairs))
    result, at = list[str](), 0
    for start, end, first, last in changes(one, other):
        result += one[at:start] + other[first:last]
        at = end
    assert result + one[at:] == other


@given(SEQUENCES, SEQUENCES)
def test_pairs_of_two_sequences_are_equal_items_in_order(one: list[str], other: list[str]) -> None:
    check_alignment(one, other)


@given(SEQUENCES, SEQUENCES, st.integers(1, 3))
def test_pairs_of_a_continued_search_are_equal_items_in_order(
    one: list[str], other: list[str], edits: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alignment, "MAX_EDITS", edits)
        patch.setattr(alignment, "MAX_ROUNDS", 0)
        check_alignment(one, other)


@given(SEQUENCES)
def test_equal_sequences_have_a_pair_for_every_item(items: list[str]) -> None:
    assert align(items, list(items)) == [(at, at) for at in range(len(items))]
    assert list(changes(items, list(items))) == []


@given(st.lists(st.integers(), unique=True, max_size=30), st.data())
def test_sequence_with_removed_items_keeps_a_pair_for_each_other_item(
    items: list[int], data: st.DataObject
) -> None:
    kept = [item for item in items if data.draw(st.booleans())]
    assert [items[here] for here, _ in align(items, kept)] == kept


def test_blank_lines_between_moved_lines_are_no_anchor() -> None:
    base = ["## heading", "", "one", "two"]
    assert align(base, ["new", "", "## heading"]) == [(0, 2)]


def edited(lines: list[str], share: float) -> list[str]:
    """Return lines with a share of them replaced, equal ones for equal arguments."""
    chooser = random.Random(share)
    return [f"new {chooser.random()}" if chooser.random() < share else line for line in lines]


def drawn(values: int, seed: int) -> list[str]:
    """Return many lines with few different values."""
    chooser = random.Random(seed)
    return [f"- {chooser.randrange(values)}" for _ in range(LINES)]


UNIQUE = [f"- line {number}" for number in range(LINES)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (UNIQUE, [line + " edited" if number % 2 else line for number, line in enumerate(UNIQUE)]),
        (UNIQUE, UNIQUE[::-1]),
        (UNIQUE, random.Random(1).sample(UNIQUE, LINES)),
        (UNIQUE, drawn(2, 1)),
        (["- ok"] * LINES, ["x", *["- ok"] * (LINES // 2), "y", *["- ok"] * LINES, "z"]),
        (drawn(2, 1), edited(drawn(2, 1), 0.01)),
        (drawn(10, 2), edited(drawn(10, 2), 0.5)),
        (drawn(150, 3), edited(drawn(150, 3), 0.1)),
        (drawn(150, 4), drawn(150, 5)),
    ],
    ids=["every-second", "reversed", "shuffled", "different", "equal-lines", "two", "ten", "many", "random"],
)
def test_alignment_of_long_texts_needs_few_comparisons(one: list[str], other: list[str]) -> None:
    lines, others = [CountedLine(line) for line in one], [CountedLine(line) for line in other]
    CountedLine.comparisons = CountedLine.hashes = 0
    align(lines, others)
    assert CountedLine.comparisons < MAX_COMPARISONS
    assert CountedLine.hashes < MAX_HASHES


def test_alignment_of_long_texts_with_few_changes_finds_all_other_lines() -> None:
    lines = drawn(10, 6)
    changed = edited(lines, 0.01)
    assert len(align(lines, changed)) == sum(line in changed[at] for at, line in enumerate(lines))
