"""Plots are drawn reproducibly and readably."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.pages import RESULTS, picture_path, plots_of
from benchmarks.part import Curve, Plot
from benchmarks.plots import draw_plot
from benchmarks.results import load_results
from tests.support.tree import ROOT

SIZES = [1_000.0, 15_000.0, 100_000.0]


def plot(*, log: bool = False, last: float = 4.0) -> Plot:
    curves = [
        Curve("memd", SIZES, [0.5, 1.0, last], "0.4 ms + 36 µs/k"),
        Curve("scan", SIZES, [9.0, 30.0, 80.0]),
    ]
    return Plot("growth", "Warm search", "chunks", "p50, ms", curves, log)


@pytest.mark.parametrize("log", [False, True])
def test_the_same_numbers_give_the_same_bytes(tmp_path: Path, log: bool) -> None:
    first = draw_plot(plot(log=log), tmp_path / "first").read_bytes()
    second = draw_plot(plot(log=log), tmp_path / "second").read_bytes()

    assert first == second
    assert draw_plot(plot(log=log, last=9.0), tmp_path / "third").read_bytes() != first


def test_legend_has_labels_and_fits(tmp_path: Path) -> None:
    path = draw_plot(plot(log=True), tmp_path)

    words = [each.text for each in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
    assert path == tmp_path / "growth.svg"
    assert {"Warm search", "chunks", "p50, ms", "memd: 0.4 ms + 36 µs/k", "scan", "100,000"} <= set(words)


def test_background_is_white(tmp_path: Path) -> None:
    text = draw_plot(plot(), tmp_path).read_text()

    assert "fill: #ffffff" in text


def texts(path: Path) -> dict[str, float]:
    """Return the texts of a picture with their vertical positions."""
    found = {}
    for each in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text"):
        place = re.search(r"translate\(\S+ (\S+?)\)", each.get("transform", ""))
        found[each.text or ""] = float(place.group(1) if place else each.get("y", "nan"))
    return found


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("last", [4.0, 700.0])
def test_both_axes_have_numbers(tmp_path: Path, log: bool, last: float) -> None:
    values = [Curve("one decade", SIZES, [0.9, 1.4, last])]
    path = draw_plot(Plot("axes", "Searches", "chunks", "p50, ms", values, log), tmp_path)

    svg = ElementTree.parse(path).getroot()
    numbered = {
        axis: [
            each.text
            for group in svg.iter("{http://www.w3.org/2000/svg}g")
            if group.get("id") == f"matplotlib.axis_{axis}"
            for each in group.iter("{http://www.w3.org/2000/svg}text")
            if re.fullmatch(r"[\d,.]+", each.text or "")
        ]
        for axis in (1, 2)
    }
    assert all(len(numbers) >= 3 for numbers in numbered.values()), numbered


@pytest.mark.parametrize("log", [False, True])
def test_the_legend_is_below_the_axes(tmp_path: Path, log: bool) -> None:
    found = texts(draw_plot(plot(log=log), tmp_path))

    assert min(found["memd: 0.4 ms + 36 µs/k"], found["scan"]) > found["chunks"]


def test_kept_pictures_match_the_kept_results(tmp_path: Path) -> None:
    plots = list(plots_of(load_results(ROOT / RESULTS).parts.values()))

    assert plots
    for each in plots:
        drawn = draw_plot(each, tmp_path)
        assert drawn.read_bytes() == (ROOT / picture_path(each)).read_bytes(), drawn.name
