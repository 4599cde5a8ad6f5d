"""Numbers, times and foreign text as people read them."""

from __future__ import annotations

import unicodedata

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


@pytest.mark.parametrize(
    ("duration_ms", "said"),
    [
        (0, "0.0 ms"),
        (4.24, "4.2 ms"),
        (9.96, "10 ms"),
        (999.4, "999 ms"),
        (999.6, "1.0 s"),
        (59_940, "59.9 s"),
        (59_960, "1 min"),
        (185_000, "3 min 5 s"),
        (3_599_600, "1 h"),
        (11_520_000, "3 h 12 min"),
        (86_399_700, "1 d"),
        (187_200_000, "2 d 4 h"),
    ],
)
def test_a_duration_has_two_units_at_most(duration_ms: float, said: str) -> None:
    assert span(duration_ms) == said


@pytest.mark.parametrize(
    ("age_ms", "said"),
    [
        (-5, "just now"),
        (1_999, "just now"),
        (2_000, "2 s ago"),
        (59_999, "59 s ago"),
        (60_000, "1 min ago"),
        (3_600_000, "1 h ago"),
        (86_400_000 * 40, "40 d ago"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(age_ms: int, said: str) -> None:
    assert ago(10**12, 10**12 + age_ms) == said


def test_what_never_happened_was_never() -> None:
    assert ago(None, 0) == "never"


@pytest.mark.parametrize(
    ("size_bytes", "said"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (99_940, "99.9 kB"),
        (99_960, "100 kB"),
        (999_600, "1.0 MB"),
        (5_300_000_000, "5.3 GB"),
        (2 * 10**15, "2,000.0 TB"),
    ],
)
def test_a_size_is_decimal(size_bytes: int, said: str) -> None:
    assert size(size_bytes) == said


@pytest.mark.parametrize(
    ("duration_ms", "said"),
    [
        (0, "1 s"),
        (30_400, "30 s"),
        (119_000, "119 s"),
        (120_000, "2 min"),
        (6_000_000, "100 min"),
        (10_800_000, "3 h"),
        (86_400_000 * 3, "3 d"),
    ],
)
def test_an_estimate_is_told_in_one_unit(duration_ms: float, said: str) -> None:
    assert about(duration_ms) == said
    assert until(10**12 + int(duration_ms), 10**12) == (f"in {said}" if duration_ms else "now")


def test_what_is_over_is_now() -> None:
    assert until(0, 1) == "now"


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "0"),
        (99_949, "99,949"),
        (99_950, "100 k"),
        (999_499, "999 k"),
        (999_500, "1.0 M"),
        (1_243_000, "1.2 M"),
        (99_960_000, "100 M"),
        (2_500_000_000, "2,500 M"),
    ],
)
def test_a_large_number_is_rounded(number: int, said: str) -> None:
    assert rough(number) == said


def test_a_share_is_whole_only_where_nothing_is_missing() -> None:
    assert [percent(*pair) for pair in ((0, 3), (1, 3), (9999, 10_000), (3, 3), (0, 0), (4, 3))] == [
        *("0 %", "33 %", "99 %", "100 %", "100 %", "100 %")
    ]


def test_a_noun_follows_its_number() -> None:
    assert [count(number, "file") for number in (0, 1, 1300)] == ["0 files", "1 file", "1,300 files"]


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
