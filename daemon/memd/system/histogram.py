"""Durations sorted into fixed buckets, and the quantiles that can be told from them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

DECADES = range(-5, 3)
STEPS = (1.0, 1.6, 2.5, 4.0, 6.3)

BOUNDS: tuple[float, ...] = tuple(float(f"{step}e{decade}") for decade in DECADES for step in STEPS)
"""Upper bounds in seconds, from 10 µs to 10 min: five a decade, so that a quantile is off by a few percent as a rule
and by 60 % at the very most. What is longer than the last is counted in one more bucket."""


def quantile(bounds: Sequence[float], counts: Sequence[int], share: float) -> float:
    """Return about which value a share of all observations doesn't exceed; 0 where there are none.

    Within a bucket values are taken to be spread evenly. Beyond the last bound that bound is all that is known.
    """
    wanted = share * sum(counts)
    if wanted <= 0:
        return 0.0
    below, lower = 0, 0.0
    for bound, count in zip(bounds, counts, strict=False):
        if count and below + count >= wanted:
            return lower + (bound - lower) * (wanted - below) / count
        below, lower = below + count, bound
    return lower
