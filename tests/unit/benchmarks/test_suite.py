"""The command line of the suite, its tables and its results."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner, Result

from benchmarks import __main__ as suite
from benchmarks.part import Figure, Options, Part, at_least, at_most, measured


def good(options: Options) -> Part:
    options.show_progress("halfway")
    (options.work / "scratch").write_text("x")
    return Part("A good part", [measured("good.x", "what", [1.0 if options.quick else 2.0], "ms")])


def bad(options: Options) -> Part:
    raise ValueError("it broke")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run the suite with a part that works, one that raises and one whose module is missing."""
    modules = {"good": SimpleNamespace(measure=good), "bad": SimpleNamespace(measure=bad)}

    def load(name: str) -> Any:
        if name not in modules:
            raise ModuleNotFoundError(f"No module named {name!r}")
        return modules[name]

    monkeypatch.setattr(suite, "PARTS", {name: name for name in ("good", "bad", "missing")})
    monkeypatch.setattr(suite.main.params[0], "type", click.Choice(["good", "bad", "missing"]))
    monkeypatch.setattr(suite, "import_module", load)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(suite.main, [*arguments, "--cache", str(tmp_path / "cache")])

    return invoke


def test_run_prints_the_table_and_the_date(run: Any) -> None:
    found = run("good", "--quick")

    assert found.exit_code == 0
    assert "| what | 1.00 ms |" in found.output
    assert "Measured on 20" in found.output


def test_failing_part_is_reported_and_others_run(run: Any, tmp_path: Path) -> None:
    found = run("bad", "missing", "good", "--json", str(tmp_path / "run.json"))

    assert found.exit_code == 1
    entries = msgspec.json.decode((tmp_path / "run.json").read_bytes(), type=dict[str, suite.Entry])
    assert {name: entry.part.title for name, entry in entries.items()} == {"good": "A good part"}


def test_unknown_part_is_refused_with_the_list_of_parts(run: Any) -> None:
    found = run("nonsense")

    assert found.exit_code == 2
    assert "good" in found.output


@pytest.mark.parametrize("module", suite.PARTS.values(), ids=suite.PARTS)
def test_each_part_has_a_measure_function(module: str) -> None:
    assert callable(import_module(module).measure)


def test_figure_is_the_median_and_holds_its_bar() -> None:
    figure = at_most("k", "what", [3.0, 1.0, 2.0], "ms", 2.0)

    assert (figure.value, figure.low, figure.high, figure.bar, figure.holds) == (
        2.0,
        1.0,
        3.0,
        "at most 2 ms",
        True,
    )
    assert at_least("k", "what", [1.0], "ms", 2.0).holds is False


def test_missed_bar_is_marked() -> None:
    assert suite.verdict(at_most("k", "what", [3.0], "", 2.0)) == "at most 2; **missed**"


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (0.03211, "0.0321"), (1.5, "1.50"), (14.44, "14.4"), (12_345.6, "12,346")]
)
def test_amount_has_three_significant_digits(value: float, text: str) -> None:
    assert suite.amount(Figure("k", "what", value, "ms")) == f"{text} ms"
