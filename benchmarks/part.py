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
    """How the suite runs.

    Attributes:
        quick: Small corpora and few rounds: shows that all works, and roughly where figures lie.
        work: An empty directory for what a part writes; the suite removes it.
        cache: A directory that outlives runs: installed peers, built corpora.
        tell: Shows a line of progress.
    """

    quick: bool
    work: Path
    cache: Path
    tell: Callable[[str], None]


class Figure(msgspec.Struct, frozen=True):
    """One measured number.

    Attributes:
        key: Its name for machines, stable between runs: `search.warm.p50`.
        what: What was measured, for people.
        value: The median of the rounds.
        unit: `ms`, `MB`, `times`, `searches/s`...
        low: The least of the rounds.
        high: The greatest of the rounds.
        bar: What is to hold, for people: `at most 5 ms`; empty where nothing is.
        holds: Whether it does.
    """

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
    """What one part of the suite found.

    Attributes:
        name: As it is called on the command line.
        title: Its heading.
        figures: In the order of the table.
        plots: The pictures below it.
        notes: What a reader must know of how it was measured, a sentence each.
        skipped: Why nothing was measured; empty where it was.
    """

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
