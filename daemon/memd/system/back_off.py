"""The wait before another attempt after failures."""

from __future__ import annotations

MAX_DOUBLINGS = 30
"""More would not fit into a float sooner or later, and no wait is that long."""


def back_off_s(failures: int, first_s: float, longest_s: float) -> float:
    """Return the wait in seconds: the first one after the first failure, doubled with each further failure.

    Args:
        failures: Consecutive failures, from 1.
        first_s: The first wait.
        longest_s: The longest wait.
    """
    return min(longest_s, first_s * 2.0 ** min(max(failures - 1, 0), MAX_DOUBLINGS))
