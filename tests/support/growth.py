"""Check that work is linear in its input, by the time of two input sizes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TypeVar

SIZE_FACTOR: Final = 4
"""Ratio of the input sizes: linear work takes 4 times as long for the larger one, quadratic work 16 times."""

MAX_LINEAR_RATIO: Final = 8.0
"""Growth above this is not linear."""

ATTEMPTS: Final = 5
"""Most measurements; the smallest counts, since other programs only slow them down."""

REPEATS: Final = 3

Input = TypeVar("Input")


def check_linear(make: Callable[[int], Input], run: Callable[[Input], object], size: int) -> None:
    """Fail if the processor time of some work grows faster than its input."""
    found: list[float] = []
    small, large = make(size), make(SIZE_FACTOR * size)
    for _ in range(ATTEMPTS):
        found.append(_least_s(run, large) / max(_least_s(run, small), 1e-6))
        if found[-1] < MAX_LINEAR_RATIO:
            return
    raise AssertionError(f"{SIZE_FACTOR} times as much took {min(found):.1f} times as long")


def _least_s(run: Callable[[Input], object], made: Input) -> float:
    """Return the shortest processor time of several runs, in seconds."""
    least_s = float("inf")
    for _ in range(REPEATS):
        began_s = time.thread_time()
        run(made)
        least_s = min(least_s, time.thread_time() - began_s)
    return least_s
