"""Occurrences of words in any form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.query.word_forms import find_starts, find_word, fold


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("deployed twice", "deploy"),
        ("we planned it", "plan"),
        ("the cities", "city"),
        ("adoption", "adopt"),
        ("部署deploy完成", "deploy"),
        ("重新部署了", "部署"),
        ("pol-358.", "pol-358"),
    ],
)
def test_a_word_is_found_in_other_forms(text: str, word: str) -> None:
    assert len(find_starts(text, word)) == 1


@pytest.mark.parametrize(
    ("text", "word"), [("redeploy", "deploy"), ("planet", "plan"), ("pol-3580", "pol-358"), ("anything", "")]
)
def test_other_words_are_not_found(text: str, word: str) -> None:
    assert find_starts(text, word) == []


@given(
    st.text("abdeployß部署한 -.\nİé", max_size=60).map(fold),
    st.sampled_from(["deploy", "ab", "a", "部署", "한", "é", "a.b", "", "ployed"]),
)
def test_both_ways_to_find_a_word_agree(text: str, word: str) -> None:
    assert find_starts(text, word) == [start for start, _ in find_word(text, word)]
