"""Results that the suite keeps between runs."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from benchmarks.machine import BenchmarkMachine, this_machine
from benchmarks.part import Curve, Figure, Part, Plot, at_least, at_most, measured
from benchmarks.results import Entry, Results, load_results, rounded, save_results

MACHINE = BenchmarkMachine(2, 24.0, "a processor", "a system", "3.11.2", "3.50.0", {"memd": "0.1.0"})


def entry(name: str, value: float = 1.0, quick: bool = False) -> Entry:
    part = Part(name, name.title(), [Figure(f"{name}.x", "it", value, "ms", 0.5, 2.0, "at most 1 ms", True)])
    return Entry("2026-11-22", quick, 3.5, 0.02, MACHINE, part)


def test_saved_results_load_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "results.json"
    plot = Plot(
        "growth", "Growth", "chunks", "ms", [Curve("ours", [1.0, 2.0], [3.0, 4.0], "1 + 2n")], log=True
    )
    part = Part("scale", "Growth", [measured("a", "b", [1.0, 3.0], "ms")], [plot], ["a note"])
    kept = Results({"scale": Entry("2026-11-22", True, 1.0, 0.5, MACHINE, part)})

    save_results(path, kept)

    assert load_results(path) == kept


def test_missing_file_has_no_results(tmp_path: Path) -> None:
    assert load_results(tmp_path / "results.json") == Results()


def test_file_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text('{"parts": {"search": {"date": 5}}}')

    with pytest.raises(msgspec.ValidationError):
        load_results(path)


def test_merge_replaces_only_the_parts_that_ran() -> None:
    before = Results({"search": entry("search", 1.0), "sync": entry("sync", 2.0)})

    after = before.merged({"sync": entry("sync", 7.0, quick=True)})

    assert after.parts["search"] is before.parts["search"]
    assert after.parts["sync"] == entry("sync", 7.0, quick=True)


def test_file_does_not_depend_on_the_order_of_runs(tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"

    save_results(one, Results().merged({"b": entry("b")}).merged({"a": entry("a")}))
    save_results(other, Results().merged({"a": entry("a")}).merged({"b": entry("b")}))

    assert one.read_bytes() == other.read_bytes()


def test_numbers_are_rounded_to_significant_digits() -> None:
    plot = Plot("p", "", "", "", [Curve("c", [100_000.4], [0.000123456])])
    part = Part("x", "X", [Figure("k", "w", 3.14159265, "ms", 1_234_567.8, None)], [plot])

    found = rounded(part)

    assert (found.figures[0].value, found.figures[0].low, found.figures[0].high) == (3.142, 1_234_568.0, None)
    assert (found.plots[0].curves[0].x, found.plots[0].curves[0].y) == ([100_000.0], [0.0001235])


def test_bar_is_compared_with_the_median() -> None:
    assert at_most("k", "w", [1.0, 6.0, 7.0], "ms", 5.0).holds is False
    assert at_most("k", "w", [1.0, 5.0, 9.0], "ms", 5.0).holds is True
    assert at_least("k", "w", [19.0, 19.5, 40.0], "times", 20.0).holds is False


def test_machine_has_the_versions_that_figures_depend_on() -> None:
    machine = this_machine()

    assert machine.cores >= 1
    assert machine.memory_gib > 0
    assert machine.packages.keys() >= {"memd", "numpy", "sqlite-vec"}
    assert f"SQLite {machine.sqlite}" in machine.sentence()
