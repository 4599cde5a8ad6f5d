"""Pictures that differ only where the numbers do."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.part import Curve, Plot
from benchmarks.plots import draw_plot

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


def test_a_picture_says_what_its_lines_are_and_after_which_law_they_go(tmp_path: Path) -> None:
    path = draw_plot(plot(log=True), tmp_path)

    words = [each.text for each in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
    assert path == tmp_path / "growth.svg"
    assert {"Warm search", "chunks", "p50, ms", "memd: 0.4 ms + 36 µs/k", "scan", "100,000"} <= set(words)


def test_a_picture_is_on_white_for_pages_that_are_dark(tmp_path: Path) -> None:
    text = draw_plot(plot(), tmp_path).read_text()

    assert "fill: #ffffff" in text
