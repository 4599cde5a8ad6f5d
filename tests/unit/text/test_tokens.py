"""Estimated token counts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.tokens import (
    count_units,
    encoded_words,
    estimate_tokens,
    folded_words,
    has_wide,
    is_cjk,
    is_wide,
)


@pytest.mark.parametrize(
    ("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("部署", 2), ("ab部", 2), ("🙂", 1)]
)
def test_four_ordinary_characters_or_one_wide_one_are_a_token(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@pytest.mark.parametrize("character", list("部かカ한ก々ーｶ\U00020000"))
def test_letters_of_scripts_without_spaces_are_cjk_and_wide(character: str) -> None:
    assert is_cjk(character)
    assert is_wide(character)


@pytest.mark.parametrize("character", list("aéЖअ1_ \n"))
def test_letters_of_scripts_with_spaces_are_neither(character: str) -> None:
    assert not is_cjk(character)
    assert not is_wide(character)


@pytest.mark.parametrize("character", list("。　Ａ🙂"))
def test_forms_and_emoji_are_wide_without_being_letters(character: str) -> None:
    assert is_wide(character)
    assert not is_cjk(character)


@given(st.text(st.characters(codec="utf-8")))
def test_the_units_of_a_text_are_the_sum_of_its_characters(text: str) -> None:
    assert count_units(text) == sum(4 if is_wide(character) else 1 for character in text)
    assert has_wide(text) == any(map(is_wide, text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The Backup_2 ran; twice--really.", ["the", "backup_2", "ran", "twice", "really"]),
        ("Größe: 部署\x1cÉté", ["größe", "部", "署", "été"]),
        ("", []),
    ],
)
def test_words_are_in_lower_case_and_each_cjk_letter_is_one(text: str, words: list[str]) -> None:
    assert folded_words(text) == words


@given(st.one_of(st.text(max_size=60), st.text(st.characters(max_codepoint=127), max_size=60)))
def test_encoded_words_are_the_words_in_utf_8(text: str) -> None:
    assert encoded_words(text) == [word.encode("utf-8", "replace") for word in folded_words(text)]


@given(st.text(st.characters(max_codepoint=127), max_size=60))
def test_ascii_words_are_the_same_within_non_ascii_text(text: str) -> None:
    assert folded_words(f"{text} é") == [*folded_words(text), "é"]
