"""The lines of a text are those of the split text, whatever the size of a block."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text import lines as text_lines
from memd.text.lines import lines_of, start_of_line


@given(
    lines=st.lists(st.sampled_from(["", "a", "bcd"]), max_size=12),
    number=st.integers(1, 15),
    block=st.integers(1, 5),
)
def test_start_of_a_line_is_that_of_the_split_text(lines: list[str], number: int, block: int) -> None:
    text = "\n".join(lines)
    expected = min(len(text), sum(len(line) + 1 for line in text.split("\n")[: number - 1]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_lines, "BLOCK_CHARACTERS", block)
        assert start_of_line(text, number) == expected


@given(
    st.lists(st.text(alphabet=st.characters(blacklist_characters="\n", codec="utf-8"), max_size=5)),
    st.integers(-3, 12),
    st.none() | st.integers(0, 12) | st.just(2**64),
)
def test_lines_of_a_text_are_returned_unchanged(lines: list[str], start: int, count: int | None) -> None:
    text = "\n".join(lines)
    cut, returned, total, truncated = lines_of(text, start, count, 10_000)
    every = text.split("\n")
    expected = every[max(1, start) - 1 :]
    if count is not None:
        expected = expected[:count]
    assert cut == "\n".join(expected)
    assert not truncated
    assert 0 <= returned <= total


def test_truncated_lines_are_reported() -> None:
    assert lines_of("abc\ndef\n", 1, None, 5) == ("abc\nd", 2, 2, True)
