"""What of a question is meant letter by letter."""

from __future__ import annotations

import pytest

from memd.text.query.literals import find_literals, is_whole


@pytest.mark.parametrize(
    ("question", "literal", "whole"),
    [
        ("what did we decide?", "what did we decide", True),
        ("  what   did we\ndecide ", "what did we decide", True),
        ("what about v2 api limits", "v2", False),  # a part of it
        ("run a_b now", "run a_b now", False),  # a sign in it
        ("caf\u00e9 au lait", "caf\u00e9 au lait", False),  # folded by the index
        ("|| true", "|| true", False),
    ],
)
def test_a_question_of_plain_words_is_known_as_such(question: str, literal: str, whole: bool) -> None:
    assert is_whole(literal, question) is whole


def test_a_short_question_is_meant_as_it_stands() -> None:
    assert find_literals("what did we decide?") == ("what did we decide",)
    assert find_literals("gateway") == ()
