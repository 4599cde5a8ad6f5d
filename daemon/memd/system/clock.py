"""Wall time as a parameter, so that tests own it."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Returns the wall time as milliseconds since the epoch."""


def wall_clock_ms() -> int:
    """Return the wall time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def has_passed(span_ms: int, since_ms: int, now_ms: int) -> bool:
    """Return whether a span of wall time is over.

    A beginning that lies ahead says that the clock was set back since, by nobody knows how much: the span counts
    as over, so that nothing waits for a year to come round again.
    """
    return not 0 <= now_ms - since_ms < span_ms
