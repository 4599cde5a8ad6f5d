"""Wall time as a parameter, so that tests own it."""

from __future__ import annotations

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Returns the wall time as milliseconds since the epoch."""


def wall_clock_ms() -> int:
    """Return the wall time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
