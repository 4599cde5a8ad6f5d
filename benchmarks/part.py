"""What a part of the suite returns: figures and notes.

A part is a function from `Options` to `Part`. It measures real daemons; the systems it compares take turns, and each
figure has the spread of its rounds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import msgspec


class Options(msgspec.Struct, frozen=True):
    """How the suite runs; `show_progress` prints a line of progress."""

    quick: bool
    work: Path
    cache: Path
    show_progress: Callable[[str], None]


class Figure(msgspec.Struct, frozen=True):
    """One measured number.

    `low` and `high` are the extremes of its rounds, `bar` is what it has to reach, `holds` whether it does.
    """

    key: str
    what: str
    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    bar: str = ""
    holds: bool | None = None


class Part(msgspec.Struct, frozen=True):
    """The results of one part; `skipped` is why it was not measured."""

    title: str
    figures: list[Figure] = []
    notes: list[str] = []
    skipped: str = ""


def at_most(key: str, what: str, rounds: Sequence[float], unit: str, most: float) -> Figure:
    """Return a figure whose median must not exceed `most`."""
    value = median(rounds)
    return Figure(key, what, value, unit, min(rounds), max(rounds), f"at most {most:g} {unit}", value <= most)


def at_least(key: str, what: str, rounds: Sequence[float], unit: str, least: float) -> Figure:
    """Return a figure whose median must reach `least`."""
    value = median(rounds)
    return Figure(
        key, what, value, unit, min(rounds), max(rounds), f"at least {least:g} {unit}", value >= least
    )


def measured(key: str, what: str, rounds: Sequence[float], unit: str) -> Figure:
    """Return a figure without a bar."""
    return Figure(key, what, median(rounds), unit, min(rounds), max(rounds))


def milliseconds(run: Callable[[], object]) -> float:
    """Return the milliseconds of a call."""
    began = time.perf_counter()
    run()
    return (time.perf_counter() - began) * 1000
