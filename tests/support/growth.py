"""Whether work grows with its input or with the square of it: how much longer four times as much takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

TIMES: Final = 4
"""How much larger the larger input is: linear work takes 4 times as long for it, quadratic work 16 times."""

MOST: Final = 8.0
"""Growth from here on is not linear."""

ATTEMPTS: Final = 5
"""Measurements, of which the best counts: other programs make one larger, none makes quadratic work linear."""

REPEATS: Final = 3

Input = TypeVar("Input")


def check_linear(make: Callable[[int], Input], run: Callable[[Input], object], size: int) -> None:
    """Fail if the processor time of some work grows faster than its input."""
    found: list[float] = []
    small, large = make(size), make(TIMES * size)
    for _ in range(ATTEMPTS):
        found.append(_least_s(run, large) / max(_least_s(run, small), 1e-6))
        if found[-1] < MOST:
            return
    raise AssertionError(f"{TIMES} times as much took {min(found):.1f} times as long")


def _least_s(run: Callable[[Input], object], made: Input) -> float:
    """Return the least processor time of this thread that one of several runs takes, in seconds."""
    least_s = float("inf")
    for _ in range(REPEATS):
        began_s = time.thread_time()
        run(made)
        least_s = min(least_s, time.thread_time() - began_s)
    return least_s
