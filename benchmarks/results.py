"""What the suite measured, kept between runs: `docs/performance/results.json`, an entry a part."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from benchmarks.machine import Machine
from benchmarks.part import Curve, Figure, Part, Plot

DIGITS = 4
"""Significant digits that are kept: the machine's noise is in the second."""


class Entry(msgspec.Struct, frozen=True):
    """One part's last run."""

    date: str
    quick: bool
    took_s: float
    others: float
    machine: Machine
    part: Part


class Results(msgspec.Struct, frozen=True):
    """Every part's last run, by the part's name."""

    parts: dict[str, Entry] = {}

    def merged(self, newer: dict[str, Entry]) -> Results:
        """Return these with newer entries in their parts' places; the other parts stay as they are."""
        return Results({**self.parts, **newer})


def load_results(path: Path) -> Results:
    """Return what a file holds; nothing where there is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Results)
    except FileNotFoundError:
        return Results()


def save_results(path: Path, results: Results) -> None:
    """Write results so that a run that changes one part changes only that part's lines. Replaces the file at once."""
    parts = {name: results.parts[name] for name in sorted(results.parts)}
    text = msgspec.json.format(msgspec.json.encode(Results(parts)), indent=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".part")
    scratch.write_bytes(text + b"\n")
    os.replace(scratch, path)


def rounded(part: Part) -> Part:
    """Return a part with its numbers cut to the digits that mean something."""
    return msgspec.structs.replace(
        part,
        figures=[_rounded_figure(figure) for figure in part.figures],
        plots=[_rounded_plot(plot) for plot in part.plots],
    )


def _rounded_figure(figure: Figure) -> Figure:
    low, high = (None if each is None else _cut(each) for each in (figure.low, figure.high))
    return msgspec.structs.replace(figure, value=_cut(figure.value), low=low, high=high)


def _rounded_plot(plot: Plot) -> Plot:
    curves = [
        Curve(curve.label, [_cut(x) for x in curve.x], [_cut(y) for y in curve.y], curve.fit)
        for curve in plot.curves
    ]
    return msgspec.structs.replace(plot, curves=curves)


def _cut(value: float) -> float:
    return float(f"{value:.{DIGITS}g}") if abs(value) < 10**DIGITS else float(round(value))
