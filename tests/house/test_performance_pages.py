"""benchmarks/REPORT.md and docs/performance.md have the figures of benchmarks/results.json."""

from __future__ import annotations

import pytest

from benchmarks.pages import (
    HEADLINES,
    MACHINES,
    MISSED,
    OVERVIEW,
    REPORT,
    RESULTS,
    SIZES,
    SIZING,
    marked_parts,
    picture_path,
    plots_of,
    rewrite_overview,
    rewrite_report,
)
from benchmarks.registry import PARTS
from benchmarks.results import load_results
from tests.support.tree import ROOT

KEPT = load_results(ROOT / RESULTS)


def test_every_part_has_one_block_in_the_report() -> None:
    assert sorted(marked_parts((ROOT / REPORT).read_text())) == sorted([*PARTS, MACHINES, MISSED])


@pytest.mark.parametrize(("path", "rewrite"), [(REPORT, rewrite_report), (OVERVIEW, rewrite_overview)])
def test_tables_have_the_kept_results(path: str, rewrite: object) -> None:
    page = (ROOT / path).read_text()

    assert rewrite(page, KEPT) == page, "run scripts/bench --draw"  # type: ignore[operator]


def test_overview_tables_name_figures_that_exist() -> None:
    keys = {figure.key for entry in KEPT.parts.values() for figure in entry.part.figures}
    wanted = {key for row in HEADLINES.values() for key in row if key}
    wanted |= {f"scale.{size}.{end}" for size in SIZES for end in SIZING.values()}

    assert wanted - keys == set()


def test_every_picture_belongs_to_a_part() -> None:
    folders = (ROOT / "benchmarks" / "images", ROOT / "docs" / "performance")
    pictures = [path.relative_to(ROOT).as_posix() for folder in folders for path in folder.iterdir()]

    assert sorted(pictures) == sorted(str(picture_path(plot)) for plot in plots_of(KEPT.parts.values()))
