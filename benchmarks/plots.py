"""Curves to pictures that say the same twice: a rerun with the same numbers gives the same bytes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import matplotlib
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from benchmarks.part import Plot

INCHES: Final = (7.2, 4.2)

MARKS: Final = "osD^vPX*"
"""Lines differ by their marks, too: not everybody sees colours, and not every print has them."""


def draw_plot(plot: Plot, folder: Path) -> Path:
    """Write `<folder>/<plot.name>.svg`: on white, so that it reads on a dark page as well.

    Returns:
        Where it is.
    """
    path = folder / f"{plot.name}.svg"
    # Ids after a fixed salt; text as text, so that a picture stays small and differs only where a word does.
    with matplotlib.rc_context({"svg.hashsalt": "memd", "svg.fonttype": "none"}):
        figure = Figure(figsize=INCHES, facecolor="white", layout="constrained")
        axes = figure.add_subplot()
        for number, curve in enumerate(plot.curves):
            label = f"{curve.label}: {curve.fit}" if curve.fit else curve.label
            axes.plot(curve.x, curve.y, marker=MARKS[number % len(MARKS)], label=label)
        axes.set(title=plot.title, xlabel=plot.x_label, ylabel=plot.y_label)
        if plot.log:
            axes.set(xscale="log", yscale="log")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
            axis.set_minor_formatter(NullFormatter())
        if not plot.log:
            axes.set_ylim(bottom=0)
        axes.grid(visible=True, which="major", color="0.85")
        if plot.curves:
            axes.legend(frameon=False)
        folder.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
    return path
