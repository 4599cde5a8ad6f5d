"""Wall time as a parameter, so that tests can set it."""

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

    A start in the future means that the clock was set back meanwhile by an unknown amount: the span counts as over,
    because waiting for the clock to reach that time again could take years.
    """
    return not 0 <= now_ms - since_ms < span_ms
