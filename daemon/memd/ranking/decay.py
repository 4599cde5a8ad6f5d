"""Age -> weight."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import replace

from memd.ranking.fusion import Ranked
from memd.text.dates import date_in_path

DAY_MS = 86_400_000


def decay_weight(age_days: float, half_life_days: float) -> float:
    """Return the weight of something of an age: 1 today, one half after a half-life (exponential decay).

    Args:
        age_days: The future counts as today.
        half_life_days: Not positive: nothing ages.
    """
    if half_life_days <= 0 or not math.isfinite(half_life_days):
        return 1.0
    return math.exp(-math.log(2) / half_life_days * max(0.0, age_days))


def decay_candidates(ranked: Sequence[Ranked], now_ms: int, half_life_days: float) -> list[Ranked]:
    """Return candidates by their scores times their weights; equal scores keep their order.

    Args:
        ranked: Candidates with scores.
        now_ms: Wall time in milliseconds.
        half_life_days: Age at which a dated note counts half; others keep their score.
    """
    aged = []
    for item in ranked:
        day = date_in_path(item.path)
        weight = 1.0 if day is None else decay_weight(_age_days(day, now_ms), half_life_days)
        aged.append(replace(item, score=item.score * weight))
    return sorted(aged, key=lambda item: -item.score)


def _age_days(day: datetime.date, now_ms: int) -> float:
    """Return how long ago a day began (UTC), in days."""
    began = datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC)
    return (now_ms - began.timestamp() * 1000) / DAY_MS
