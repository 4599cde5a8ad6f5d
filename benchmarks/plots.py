"""Curves to pictures that say the same twice: a rerun with the same numbers gives the same bytes."""

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
"""Inches: a picture's width, the height of its axes with their words, and of one line of the legend below them."""

MARKS: Final = "osD^vPX*"
"""Lines differ by their marks, too: not everybody sees colours, and not every print has them."""


def draw_plot(plot: Plot, folder: Path) -> Path:
    """Write `<folder>/<plot.name>.svg`: on white, so that it reads on a dark page as well."""
    path = folder / f"{plot.name}.svg"
    # Ids after a fixed salt; text as text, so that a picture stays small and differs only where a word does.
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
    """Return the numbered values within a power of ten: the fewer powers there are, the more of them."""
    low, high = axis.get_view_interval()
    if high / low < 20:
        return (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    return (1.0, 2.0, 5.0) if high / low < 1000 else (1.0,)
