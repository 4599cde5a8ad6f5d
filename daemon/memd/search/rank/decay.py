"""Age to weight: a dated note counts half as much after each half-life."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable

from memd.search.rank.fusion import Ranked, best_first, with_score
from memd.text.query.dates import date_in_path

DAY_MS = 86_400_000
"""Milliseconds in a day."""

_EPOCH = datetime.date(1970, 1, 1)


def decay_weight(age_days: float, half_life_days: float) -> float:
    """Return what a note of some age still counts."""
    if not (math.isfinite(half_life_days) and half_life_days > 0 and math.isfinite(age_days)):
        return 1.0
    return math.exp(-(math.log(2) / half_life_days) * max(0.0, age_days))


def decay_candidates(items: Iterable[Ranked], now_ms: int, half_life_days: float) -> list[Ranked]:
    """Weigh scores by the age of the notes they belong to, and order them anew."""
    weighed = []
    for item in items:
        day = date_in_path(item.path)
        if day is not None:
            age_days = max(0, now_ms - (day - _EPOCH).days * DAY_MS) / DAY_MS
            item = with_score(item, item.score * decay_weight(age_days, half_life_days))
        weighed.append(item)
    return best_first(weighed)
