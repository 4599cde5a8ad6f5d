"""Dated notes fade, lasting knowledge doesn't."""

from __future__ import annotations

import datetime
import math

import pytest

from memd.search.rank.fusion import Ranked
from memd.search.rank.stages import DAY_MS, decay_candidates, decay_weight

NOW_MS = int(datetime.datetime(2026, 3, 31, tzinfo=datetime.UTC).timestamp() * 1000)


def ranked(path: str, score: float) -> Ranked:
    """Return a scored candidate of a file."""
    return Ranked(path, path, 1, 2, "text", None, None, score)


@pytest.mark.parametrize(
    ("age", "half_life", "weight"),
    [
        (0, 30, 1),
        (30, 30, 0.5),
        (60, 30, 0.25),
        (-5, 30, 1),
        (30, 0, 1),
        (30, -1, 1),
        (math.inf, 30, 1),
        (30, math.nan, 1),
    ],
)
def test_a_note_counts_half_after_each_half_life(age: float, half_life: float, weight: float) -> None:
    assert decay_weight(age, half_life) == pytest.approx(weight)


def test_dated_notes_fade_and_the_order_follows() -> None:
    items = [
        ranked("memory/2026-03-01.md", 0.8),
        ranked("MEMORY.md", 0.6),
        ranked("memory/2027-01-01.md", 0.5),
    ]

    faded = decay_candidates(items, NOW_MS, 30)

    assert [item.path for item in faded] == ["MEMORY.md", "memory/2027-01-01.md", "memory/2026-03-01.md"]
    assert [item.score for item in faded] == pytest.approx([0.6, 0.5, 0.4])


def test_age_counts_from_the_start_of_the_day() -> None:
    item = decay_candidates([ranked("memory/2026-03-31-call.md", 1.0)], NOW_MS + DAY_MS // 2, 1)[0]

    assert item.score == pytest.approx(math.sqrt(0.5))
