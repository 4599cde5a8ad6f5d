"""The earliest and latest time of a search: a day, or a duration before now."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, datetime, timedelta

_DURATION = re.compile(r"(\d{1,5})\s*([hdwmy])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24, "m": 30 * 24, "y": 365 * 24}


def parse_since(text: str, now_ms: int) -> int | None:
    """Return the time in milliseconds that a day (`2026-11-02`, local) or a duration (`7d`) means; None if neither."""
    wanted = text.strip().lower()
    duration = _DURATION.fullmatch(wanted)
    if duration is not None:
        return max(0, now_ms - int(duration[1]) * _HOURS[duration[2]] * 3_600_000)
    try:
        day = date.fromisoformat(wanted)
        return max(0, int(datetime(day.year, day.month, day.day).timestamp() * 1000))
    except (ValueError, OverflowError, OSError):
        return None


def parse_until(text: str, now_ms: int) -> int | None:
    """Return the time in milliseconds at which a day ends, or that a duration before now means; None if neither."""
    with suppress(ValueError, OverflowError):
        text = (date.fromisoformat(text.strip()) + timedelta(days=1)).isoformat()
    return parse_since(text, now_ms)
