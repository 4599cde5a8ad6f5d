"""Units: list items, sentences of wrapped paragraphs, and other lines."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.cut.units import unit_above, unit_at, unit_below, units_of

TEXTS = st.lists(
    st.one_of(
        st.text("ab cé.!? 部。", max_size=80),
        st.sampled_from(
            ["", "- item", "  more of it", "# Heading", "User: hello", "| a | b |", "word " * 14]
        ),
    ),
    max_size=12,
).map("\n".join)


def parts(text: str) -> list[str]:
    """Return the units of a text."""
    return [text[start:end] for start, end in units_of(text)]


@given(TEXTS)
def test_units_are_in_order_and_leave_out_only_space(text: str) -> None:
    units = list(units_of(text))

    places = [place for unit in units for place in unit]
    assert places == sorted(places)
    assert "".join("".join(parts(text)).split()) == "".join(text.split())


@given(TEXTS)
def test_a_unit_is_found_by_its_characters_and_by_its_neighbours(text: str) -> None:
    units = list(units_of(text))

    for unit in units:
        assert unit_at(text, unit[0]) == unit
        assert unit_at(text, unit[1] - 1) == unit
    for above, below in pairwise(units):
        assert unit_below(text, above[1]) == below
        assert unit_above(text, below[0]) == above


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("# Plan\nBuy the boat.", ["# Plan", "Buy the boat."]),
        ("Port: 4711\nHost: staging", ["Port: 4711", "Host: staging"]),
        ("User: hello there\nAssistant: hi", ["User: hello there", "Assistant: hi"]),
        ("- buy\n  a boat\n- sell", ["- buy\n  a boat", "- sell"]),
        ("| a | b |\n| c | d |", ["| a | b |", "| c | d |"]),
        (
            "The harbor office moved to the old customs house in May, and\nits number is 4711. Nobody calls.",
            [
                "The harbor office moved to the old customs house in May, and\nits number is 4711.",
                "Nobody calls.",
            ],
        ),
        (
            "We met Dr. Lang on 3. March at the office of the harbor, with\nA. Brown from the bank. It rained.",
            [
                "We met Dr. Lang on 3. March at the office of the harbor, with\nA. Brown from the bank.",
                "It rained.",
            ],
        ),
        (
            "def first():\n    return 1\n    # more\nx = 2",
            ["def first():", "    return 1", "    # more", "x = 2"],
        ),
    ],
)
def test_a_text_has_these_units(text: str, units: list[str]) -> None:
    assert parts(text) == units


def test_a_long_line_has_a_unit_for_each_sentence() -> None:
    text = "The ferry left. " * 40

    assert parts(text)[:2] == ["The ferry left.", "The ferry left."]
