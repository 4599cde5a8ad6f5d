"""The earliest time of a search."""

from __future__ import annotations

from datetime import datetime

import pytest

from memd.text.query.since import parse_since

NOW = 1_793_606_400_000
HOUR = 3_600_000


@pytest.mark.parametrize(
    ("text", "hours"), [("12h", 12), ("7d", 168), ("4w", 672), (" 1M ", 720), ("2y", 17_520), ("0d", 0)]
)
def test_a_duration_is_before_now(text: str, hours: int) -> None:
    assert parse_since(text, NOW) == NOW - hours * HOUR


def test_a_day_begins_at_midnight_of_this_machine() -> None:
    assert parse_since("2026-11-02", NOW) == int(datetime(2026, 11, 2).timestamp() * 1000)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "7", "d", "2026-13-01", "2026-02-30", "-3d", "7 days ago", "1e3d"]
)
def test_other_words_are_no_time(text: str) -> None:
    assert parse_since(text, NOW) is None


def test_no_time_is_before_the_first_one() -> None:
    assert parse_since("99999y", NOW) == 0
    assert parse_since("0001-01-01", NOW) in (0, None)
