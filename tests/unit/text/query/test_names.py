"""Names in queries."""

from __future__ import annotations

import pytest

from memd.text.query.names import find_names, has_name


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("is Kevin a vegetarian", {"Kevin"}),
        ("Is Kevin at Oak Street", {"Kevin", "Oak", "Street"}),
        ("who is the CEO of Apple", {"CEO", "Apple"}),
        ("what happened last Friday in March", set()),
        ("time sheet of Mr Schulze", {"Schulze"}),
        ("wann ist der Termin beim Zahnarzt", set()),
        ("Kevin", set()),
        ("the 2023 plan", set()),
    ],
)
def test_capitalized_words_after_the_first_are_names(query: str, names: set[str]) -> None:
    assert find_names(query) == names


def test_a_name_has_to_have_the_same_spelling() -> None:
    assert has_name("I met Apple's lawyer", frozenset({"Apple"}))
    assert not has_name("the apple tree, and Applewood", frozenset({"Apple"}))
