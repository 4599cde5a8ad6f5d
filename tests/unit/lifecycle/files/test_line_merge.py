"""Changes of lines carried from one version of a text to another."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.lifecycle.files.line_merge import carry_over, has_change

LINES = st.lists(st.sampled_from(["a", "b", "c", "d", "", "- e"]), max_size=8).map("\n".join)


@pytest.mark.parametrize(
    ("before", "after", "held", "result"),
    [
        ("a\nb\n", "a\nb\ntheirs\n", "a\n", "a\ntheirs\n"),
        ("a\nb\n", "a\nb edited\n", "b\n", "b edited\n"),
        ("a\nb\nc\n", "a\nc\n", "a\nb\nc\nours\n", "a\nc\nours\n"),
        ("a\nb\n", "a\ntheirs\n", "a\nours\n", "a\ntheirs\nours\n"),
        ("a", "a\ntheirs", "a\nours", "a\ntheirs\nours"),
        ("a\r\nb\r\n", "a\r\nb\r\nc\r\n", "b\r\n", "b\r\nc\r\n"),
        ("", "theirs\n", "ours\n", "theirs\nours\n"),
        ("a\n", "a\nboth\n", "a\nboth\n", "a\nboth\n"),
    ],
)
def test_a_change_is_carried_over(before: str, after: str, held: str, result: str) -> None:
    assert carry_over(before, after, held) == result


@given(LINES, LINES, LINES)
def test_no_line_that_is_new_on_either_side_is_lost(before: str, after: str, held: str) -> None:
    old, theirs, ours = (Counter(text.split("\n")) for text in (before, after, held))
    result = Counter(carry_over(before, after, held).split("\n"))
    assert {line for line in theirs if not old[line]} <= set(result)
    assert {line for line in ours if not old[line]} <= set(result)


@given(LINES, LINES)
def test_of_one_changed_version_the_result_is_that_version(before: str, after: str) -> None:
    assert carry_over(before, after, before) == after
    assert carry_over(before, before, after) == after
    assert has_change(before, after, after)


def test_a_change_is_there_until_it_is_undone() -> None:
    before, after = "a\nb\n", "a\nb edited\n"
    assert has_change(before, after, "a\nb edited\nc\n")
    assert not has_change(before, after, before)
    assert not has_change(before, after, "a\nc\n")
