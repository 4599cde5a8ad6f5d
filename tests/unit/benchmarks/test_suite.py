"""The suite's command line: what runs, what is kept, and what a failure does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from benchmarks import __main__ as suite
from benchmarks import registry
from benchmarks.page import marked_parts
from benchmarks.part import Curve, Options, Part, Plot, measured
from benchmarks.results import load_results

PAGE = "<!-- part: good -->\n<!-- end -->\n<!-- part: bad -->\n<!-- end -->\n"


def good(options: Options) -> Part:
    options.tell("halfway")
    (options.work / "scratch").write_text("x")
    value = 1.0 if options.quick else 2.0
    plot = Plot("picture", "Picture", "x", "y", [Curve("line", [1.0, 2.0], [value, value])])
    return Part("good", "A good part", [measured("good.x", "what", [value], "ms")], [plot])


def bad(options: Options) -> Part:
    raise ValueError("it broke")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run the suite with two parts, its page and results in a folder of the test's own."""
    parts = {"good": f"{__name__}:good", "bad": f"{__name__}:bad", "missing": "benchmarks.not_there:measure"}
    (tmp_path / "performance.md").write_text(PAGE)
    monkeypatch.setattr(registry, "PARTS", parts)
    monkeypatch.setattr(suite, "PARTS", parts)
    monkeypatch.setattr(suite.main.params[0], "type", click.Choice(list(parts)))
    monkeypatch.setattr(registry, "import_module", lambda name: _module(name))
    monkeypatch.setattr(suite, "PAGE", tmp_path / "performance.md")
    monkeypatch.setattr(suite, "FOLDER", tmp_path / "performance")

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(suite.main, [*arguments, "--cache", str(tmp_path / "cache")])

    return invoke


def _module(name: str) -> Any:
    if name != __name__:
        raise ModuleNotFoundError(f"No module named {name!r}")
    return type("Module", (), {"good": staticmethod(good), "bad": staticmethod(bad)})


def test_a_run_without_write_keeps_nothing(run: Any, tmp_path: Path) -> None:
    assert run("good").exit_code == 0

    assert not (tmp_path / "performance").exists()
    assert (tmp_path / "performance.md").read_text() == PAGE


def test_with_write_results_picture_and_page_follow(run: Any, tmp_path: Path) -> None:
    assert run("good", "--quick", "--write").exit_code == 0

    kept = load_results(tmp_path / "performance" / "results.json").parts["good"]
    assert kept.quick
    assert kept.part.figures[0].value == 1.0
    assert (tmp_path / "performance" / "picture.svg").is_file()
    assert "| what | 1.00 ms |" in (tmp_path / "performance.md").read_text()


def test_a_part_that_raises_is_reported_and_the_others_go_on(run: Any, tmp_path: Path) -> None:
    found = run("bad", "missing", "good", "--write")

    assert found.exit_code == 1
    assert load_results(tmp_path / "performance" / "results.json").parts.keys() == {"good"}


def test_a_failure_leaves_what_an_earlier_run_found(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("good", "--write")
    before = (tmp_path / "performance" / "results.json").read_bytes()

    assert run("bad", "--write").exit_code == 1

    assert (tmp_path / "performance" / "results.json").read_bytes() == before


def test_a_runs_results_go_to_a_file_on_demand(run: Any, tmp_path: Path) -> None:
    run("good", "--json", str(tmp_path / "run.json"))

    assert load_results(tmp_path / "run.json").parts["good"].part.title == "A good part"


def test_an_unknown_part_is_refused_with_the_ones_there_are(run: Any) -> None:
    found = run("nonsense")

    assert found.exit_code == 2
    assert "good" in found.output


def test_every_part_of_the_real_suite_has_its_place_in_the_registry() -> None:
    assert all(
        where.startswith("benchmarks.") and where.endswith(":measure") for where in registry.PARTS.values()
    )
    assert not {"machines", "not-held"} & registry.PARTS.keys()
    assert marked_parts(PAGE) == ["good", "bad"]
