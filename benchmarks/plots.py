"""Plots to SVG; the same numbers give the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import matplotlib
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from benchmarks.part import Plot

WIDTH_IN: Final = 7.2
PLOT_IN: Final = 4.2
LEGEND_LINE_IN: Final = 0.22
"""Width of a picture, height of its axes with labels, and of one line of the legend below them."""

MARKS: Final = "osD^vPX*"
"""Curves differ by their markers as well, for readers and printers without colour."""


def draw_plot(plot: Plot, folder: Path) -> Path:
    """Write `<folder>/<plot.name>.svg`, on white so that it is readable on a dark page."""
    path = folder / f"{plot.name}.svg"
    # A fixed salt for ids and text as text keep the file small and its diffs readable.
    with matplotlib.rc_context({"svg.hashsalt": "memd", "svg.fonttype": "none"}):
        height = PLOT_IN + LEGEND_LINE_IN * len(plot.curves)
        figure = Figure(figsize=(WIDTH_IN, height), facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        for number, curve in enumerate(plot.curves):
            label = f"{curve.label}: {curve.fit}" if curve.fit else curve.label
            axes.plot(curve.x, curve.y, marker=MARKS[number % len(MARKS)], label=label)
        axes.set(title=plot.title, xlabel=plot.x_label, ylabel=plot.y_label)
        if plot.log:
            axes.set(xscale="log", yscale="log")
        for axis in (axes.xaxis, axes.yaxis):
            if plot.log:
                axis.set_major_locator(LogLocator(subs=_log_steps(axis)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            axis.set_minor_formatter(NullFormatter())
        if not plot.log:
            axes.set_ylim(bottom=0)
        axes.grid(visible=True, which="major", color="0.85")
        if plot.curves:
            figure.legend(loc="outside lower left", frameon=False)  # below the axes: it hides no line
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    return path


def _log_steps(axis: Axis) -> tuple[float, ...]:
    """Return the labelled values within a power of ten."""
    low, high = axis.get_view_interval()
    if high / low < 20:
        return (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    return (1.0, 2.0, 5.0) if high / low < 1000 else (1.0,)
