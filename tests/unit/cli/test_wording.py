"""Numbers, times and foreign text as people read them."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.cli.wording import (
    UNSAFE_FORMAT,
    about,
    ago,
    cells,
    count,
    percent,
    printable,
    rough,
    size,
    span,
    until,
)

REFERENCE = json.loads((Path(__file__).parents[2] / "support/units.json").read_text())
"""What the page's units are held against as well."""

NOW_MS = 10**12

SHOWN: dict[str, Callable[..., str]] = {
    "size": size,
    "count": "{:,}".format,
    "counted": count,
    "rough": rough,
    "duration_ms": span,
    "ago_ms": lambda age_ms: ago(None if age_ms is None else NOW_MS, NOW_MS + (age_ms or 0)),
    "percent": percent,
    "about_ms": about,
}


@pytest.mark.parametrize("unit", sorted(REFERENCE.keys() - {"about"}))
def test_values_are_shown_as_the_reference_table_says(unit: str) -> None:
    rows: list[list[Any]] = REFERENCE[unit]

    assert [[*row[:-1], SHOWN[unit](*row[:-1])] for row in rows] == rows


def test_a_moment_ahead_is_told_in_one_unit() -> None:
    assert [until(NOW_MS + ahead_ms, NOW_MS) for ahead_ms in (30_400, 120_000)] == ["in 30 s", "in 2 min"]


def test_what_is_over_is_now() -> None:
    assert until(0, 1) == "now"


@given(st.text(st.characters()))
def test_printable_text_has_nothing_a_terminal_acts_on(text: str) -> None:
    shown = printable(text, "")

    assert all(unicodedata.category(char) not in ("Cc", "Cs") for char in shown)
    assert not UNSAFE_FORMAT & set(shown)
    shown.encode()


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs", "M"])))
def test_ordinary_text_is_printed_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_wide_characters_take_two_columns_and_accents_none() -> None:
    assert [cells(text) for text in ("abc", "研究", "e\u0301", "")] == [3, 4, 1, 0]
