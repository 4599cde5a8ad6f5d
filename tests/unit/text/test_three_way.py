"""Three-way comparison of lines: regions that cover all texts, and changes of one side that stay apart."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.three_way import MergeRegion, compare, join_lines, split_lines, with_line_ends

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "", "- e"]), max_size=12)
VERSIONS = st.tuples(LINES, LINES, LINES)


def merged(base: list[str], ours: list[str], theirs: list[str]) -> list[str] | None:
    """Return the merged lines; None if changes overlap."""
    regions = compare(base, ours, theirs)
    if any(region.is_overlap for region in regions):
        return None
    return [line for region in regions for line in region.merged]


@given(VERSIONS)
def test_regions_of_any_texts_cover_all_three(versions: tuple[list[str], list[str], list[str]]) -> None:
    regions = compare(*versions)
    assert [line for region in regions for line in region.base] == versions[0]
    assert [line for region in regions for line in region.ours] == versions[1]
    assert [line for region in regions for line in region.theirs] == versions[2]


@given(LINES, LINES)
def test_changes_of_one_side_never_overlap(base: list[str], side: list[str]) -> None:
    assert merged(base, side, base) == side
    assert merged(base, base, side) == side


def test_insertions_between_equal_lines_are_found_at_one_place() -> None:
    base = ["a", ""]
    ours, theirs = ["a", "", "ours", ""], ["", "a", "", "theirs", ""]
    assert [region for region in compare(base, ours, theirs) if region.is_overlap] == [
        MergeRegion((), ("ours", ""), ("theirs", ""))
    ]


@given(LINES, LINES)
def test_equal_changes_of_both_sides_are_merged(base: list[str], side: list[str]) -> None:
    assert merged(base, side, side) == side


@given(VERSIONS)
def test_regions_of_swapped_sides_are_the_same(versions: tuple[list[str], list[str], list[str]]) -> None:
    base, ours, theirs = versions
    swapped = [MergeRegion(each.base, each.theirs, each.ours) for each in compare(base, theirs, ours)]
    before = compare(base, ours, theirs)
    assert [region for region in before if region.is_overlap] == [
        region for region in swapped if region.is_overlap
    ]


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "result"),
    [
        ("abcde", "aBcde", "abcDe", "aBcDe"),
        ("abc", "abcX", "Yabc", "YabcX"),
        ("abc", "bc", "abC", "bC"),
        ("abc", "aXbc", "aBc", "aXBc"),
        ("abc", "aBc", "abXc", "aBXc"),
        ("abcd", "ad", "abcdX", "adX"),
        ("abc", "ac", "ac", "ac"),
        ("abc", "", "abc", ""),
        ("", "a", "", "a"),
    ],
)
def test_changes_at_different_places_are_both_applied(base: str, ours: str, theirs: str, result: str) -> None:
    assert merged(list(base), list(ours), list(theirs)) == list(result)


@pytest.mark.parametrize(
    ("base", "ours", "theirs"),
    [
        ("abc", "aXc", "aYc"),
        ("abc", "ac", "aYc"),
        ("ab", "aXb", "aYb"),
        ("abcd", "aXd", "abYd"),
        ("", "a", "b"),
    ],
)
def test_changes_of_the_same_lines_overlap(base: str, ours: str, theirs: str) -> None:
    assert merged(list(base), list(ours), list(theirs)) is None


def test_merge_of_a_long_text_with_equal_lines_applies_both_sides() -> None:
    base = ["- ok" if number % 3 else f"- {number % 300}" for number in range(20_000)]
    ours = [line if number % 1_000 else "ours" for number, line in enumerate(base)]
    theirs = [line if number % 1_000 != 500 else "theirs" for number, line in enumerate(base)]
    result = merged(base, ours, theirs)
    assert result is not None
    assert len(result) == len(base)
    assert (result.count("ours"), result.count("theirs")) == (20, 20)


@given(LINES)
def test_lines_of_a_text_are_split_and_joined_again(lines: list[str]) -> None:
    assert split_lines(join_lines(lines)) == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\rb\n", ["a\rb"]),
        ("a\n\n", ["a", ""]),
    ],
)
def test_text_is_split_at_line_breaks_alone(text: str, lines: list[str]) -> None:
    assert split_lines(text) == lines


@pytest.mark.parametrize(
    ("model", "result"), [("x\r\n", "a\r\nb\r\n"), ("x\n", "a\nb\n"), ("x\r\ny\n", "a\nb\n"), ("", "a\nb\n")]
)
def test_line_endings_follow_a_model_with_one_kind(model: str, result: str) -> None:
    assert with_line_ends("a\nb\n", model) == result
