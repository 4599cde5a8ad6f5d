"""How a figure grows with a size: a line and a power law fitted to measured points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

THOUSAND: Final = 1_000


class Growth(msgspec.Struct, frozen=True):
    """Fits by least squares."""

    start: float
    slope: float
    power: float | None

    def at(self, size: float) -> float:
        """Return the line's value at a size."""
        return self.start + self.slope * size

    def describe(self, unit: str, *, per: float = 1, of: str = "") -> str:
        """Return the fits as a legend has them: `0.9 ms + 0.011 ms/k, grows as n^0.62`."""
        slope = self.slope * per
        line = f"{_short(self.start)} {unit} {'+' if slope >= 0 else '-'} {_short(abs(slope))} {unit}/{of}"
        return line if self.power is None else f"{line}, grows as n^{self.power:.2f}"


def fit_growth(sizes: Sequence[float], values: Sequence[float]) -> Growth:
    """Return the fits of some points."""
    if len(sizes) != len(values) or len(set(sizes)) < 2 or min(sizes) <= 0:
        raise ValueError(f"{len(sizes)} sizes and {len(values)} values give no law")
    slope, start = _line(sizes, values)
    power = None
    if min(values) > 0:
        power, _ = _line([math.log(size) for size in sizes], [math.log(value) for value in values])
    return Growth(start, slope, power)


def share_of(values: Sequence[float], percent: float) -> float:
    """Return a percentile, interpolated."""
    return float(np.percentile(np.asarray(values, dtype=np.float64), percent))


def _short(value: float) -> str:
    """Return a number with three digits, or all of its integer digits."""
    return f"{value:.3g}" if abs(value) < THOUSAND else f"{value:,.0f}"


def _line(x: Sequence[float], y: Sequence[float]) -> tuple[float, float]:
    """Return (slope, start) of the least-squares line."""
    across, up = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    away = across - across.mean()
    slope = float(away @ (up - up.mean()) / (away @ away))
    return slope, float(up.mean() - slope * across.mean())
