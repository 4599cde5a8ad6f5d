"""What the parts of the suite hand over: figures, curves, and the words between them.

A part is a function that takes `Options` and returns a `Part`. It measures real daemons on real corpora, takes turns
between the sides it compares, and says with each figure over how many rounds it spread.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import msgspec


class Options(msgspec.Struct, frozen=True):
    """How the suite runs."""

    quick: bool
    work: Path
    cache: Path
    tell: Callable[[str], None]


class Figure(msgspec.Struct, frozen=True):
    """One measured number."""

    key: str
    what: str
    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    bar: str = ""
    holds: bool | None = None


class Curve(msgspec.Struct, frozen=True):
    """Points of one line of a plot; `fit` is a law put through them, as the legend shows it: `0.9 ms + 11 µs/k`."""

    label: str
    x: list[float]
    y: list[float]
    fit: str = ""


class Plot(msgspec.Struct, frozen=True):
    """One picture: `name` is its file's, without ending; `log` makes both axes logarithmic."""

    name: str
    title: str
    x_label: str
    y_label: str
    curves: list[Curve]
    log: bool = False


class Part(msgspec.Struct, frozen=True):
    """What one part of the suite found."""

    name: str
    title: str
    figures: list[Figure] = []
    plots: list[Plot] = []
    notes: list[str] = []
    skipped: str = ""


def at_most(key: str, what: str, rounds: Sequence[float], unit: str, most: float) -> Figure:
    """Return the figure of some rounds that must not exceed `most`, judged by their median."""
    value = median(rounds)
    return Figure(key, what, value, unit, min(rounds), max(rounds), f"at most {most:g} {unit}", value <= most)


def at_least(key: str, what: str, rounds: Sequence[float], unit: str, least: float) -> Figure:
    """Return the figure of some rounds that must reach `least`, judged by their median."""
    value = median(rounds)
    return Figure(
        key, what, value, unit, min(rounds), max(rounds), f"at least {least:g} {unit}", value >= least
    )


def measured(key: str, what: str, rounds: Sequence[float], unit: str) -> Figure:
    """Return the figure of some rounds that nothing is asked of."""
    return Figure(key, what, median(rounds), unit, min(rounds), max(rounds))
