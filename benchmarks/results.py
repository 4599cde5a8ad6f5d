"""The latest results of each part, kept in benchmarks/results.json."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from benchmarks.machine import BenchmarkMachine
from benchmarks.part import Curve, Figure, Part, Plot

DIGITS = 4
"""Significant digits that are kept; noise already shows in the second."""


class Entry(msgspec.Struct, frozen=True):
    """The last run of a part."""

    date: str
    quick: bool
    took_s: float
    others: float
    machine: BenchmarkMachine
    part: Part


class Results(msgspec.Struct, frozen=True):
    """The last run of every part, by its name."""

    parts: dict[str, Entry] = {}

    def merged(self, newer: dict[str, Entry]) -> Results:
        """Return these results with newer entries; the other parts keep theirs."""
        return Results({**self.parts, **newer})


def load_results(path: Path) -> Results:
    """Return the results in a file; none if it does not exist."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Results)
    except FileNotFoundError:
        return Results()


def save_results(path: Path, results: Results) -> None:
    """Replace a file of results atomically, sorted by part."""
    parts = {name: results.parts[name] for name in sorted(results.parts)}
    text = msgspec.json.format(msgspec.json.encode(Results(parts)), indent=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".part")
    scratch.write_bytes(text + b"\n")
    os.replace(scratch, path)


def rounded(part: Part) -> Part:
    """Return a part with its numbers rounded to `DIGITS`."""
    return msgspec.structs.replace(
        part,
        figures=[_rounded_figure(figure) for figure in part.figures],
        plots=[_rounded_plot(plot) for plot in part.plots],
    )


def _rounded_figure(figure: Figure) -> Figure:
    low, high = (None if each is None else _round(each) for each in (figure.low, figure.high))
    return msgspec.structs.replace(figure, value=_round(figure.value), low=low, high=high)


def _rounded_plot(plot: Plot) -> Plot:
    curves = [
        Curve(curve.label, [_round(x) for x in curve.x], [_round(y) for y in curve.y], curve.fit)
        for curve in plot.curves
    ]
    return msgspec.structs.replace(plot, curves=curves)


def _round(value: float) -> float:
    return float(f"{value:.{DIGITS}g}") if abs(value) < 10**DIGITS else float(round(value))
