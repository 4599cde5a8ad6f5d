"""The command line of the suite: runs, kept results, failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from benchmarks import __main__ as suite
from benchmarks import registry
from benchmarks.pages import OVERVIEW, REPORT, RESULTS, marked_parts
from benchmarks.part import Curve, Options, Part, Plot, measured
from benchmarks.results import load_results

PAGE = "<!-- part: good -->\n<!-- end -->\n<!-- part: bad -->\n<!-- end -->\n"


def good(options: Options) -> Part:
    options.show_progress("halfway")
    (options.work / "scratch").write_text("x")
    value = 1.0 if options.quick else 2.0
    plot = Plot("picture", "Picture", "x", "y", [Curve("line", [1.0, 2.0], [value, value])])
    return Part("good", "A good part", [measured("good.x", "what", [value], "ms")], [plot])


def bad(options: Options) -> Part:
    raise ValueError("it broke")


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run the suite with two parts, its pages and results in a folder of the test."""
    parts = {"good": f"{__name__}:good", "bad": f"{__name__}:bad", "missing": "benchmarks.not_there:measure"}
    for path, text in ((REPORT, PAGE), (OVERVIEW, "")):
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).write_text(text)
    monkeypatch.setattr(registry, "PARTS", parts)
    monkeypatch.setattr(suite, "PARTS", parts)
    monkeypatch.setattr(suite.main.params[0], "type", click.Choice(list(parts)))
    monkeypatch.setattr(registry, "import_module", lambda name: _module(name))
    monkeypatch.setattr(suite, "ROOT", tmp_path)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(suite.main, [*arguments, "--cache", str(tmp_path / "cache")])

    return invoke


def _module(name: str) -> Any:
    if name != __name__:
        raise ModuleNotFoundError(f"No module named {name!r}")
    return type("Module", (), {"good": staticmethod(good), "bad": staticmethod(bad)})


def test_run_without_write_changes_no_files(run: Any, tmp_path: Path) -> None:
    assert run("good").exit_code == 0

    assert not (tmp_path / RESULTS).exists()
    assert (tmp_path / REPORT).read_text() == PAGE


def test_run_with_write_updates_results_picture_and_report(run: Any, tmp_path: Path) -> None:
    assert run("good", "--quick", "--write").exit_code == 0

    kept = load_results(tmp_path / RESULTS).parts["good"]
    assert kept.quick
    assert kept.part.figures[0].value == 1.0
    assert (tmp_path / "benchmarks" / "images" / "picture.svg").is_file()
    assert "| what | 1.00 ms |" in (tmp_path / REPORT).read_text()


def test_failing_part_is_reported_and_others_run(run: Any, tmp_path: Path) -> None:
    found = run("bad", "missing", "good", "--write")

    assert found.exit_code == 1
    assert load_results(tmp_path / RESULTS).parts.keys() == {"good"}


def test_failing_part_keeps_its_earlier_results(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("good", "--write")
    before = (tmp_path / RESULTS).read_bytes()

    assert run("bad", "--write").exit_code == 1

    assert (tmp_path / RESULTS).read_bytes() == before


def test_results_are_written_to_the_json_file(run: Any, tmp_path: Path) -> None:
    run("good", "--json", str(tmp_path / "run.json"))

    assert load_results(tmp_path / "run.json").parts["good"].part.title == "A good part"


def test_unknown_part_is_refused_with_the_list_of_parts(run: Any) -> None:
    found = run("nonsense")

    assert found.exit_code == 2
    assert "good" in found.output


def test_registered_parts_name_measure_functions() -> None:
    functions = registry.PARTS.values()
    assert all(name.startswith("benchmarks.") and name.endswith(":measure") for name in functions)
    assert not {"machines", "missed"} & registry.PARTS.keys()
    assert marked_parts(PAGE) == ["good", "bad"]
