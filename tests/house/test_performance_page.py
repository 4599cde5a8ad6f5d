"""docs/performance.md shows what docs/performance/results.json holds, and nothing else."""

from __future__ import annotations

from benchmarks.page import MACHINES, NOT_HELD, marked_parts, pictures, rewrite
from benchmarks.registry import PARTS
from benchmarks.results import load_results
from tests.support.tree import DOCS

PAGE = DOCS / "performance.md"
FOLDER = DOCS / "performance"


def test_every_part_of_the_suite_has_one_place_on_the_page() -> None:
    assert sorted(marked_parts(PAGE.read_text())) == sorted([*PARTS, MACHINES, NOT_HELD])


def test_the_tables_are_those_of_the_results() -> None:
    page = PAGE.read_text()

    assert rewrite(page, load_results(FOLDER / "results.json")) == page


def test_every_picture_is_there_and_belongs_to_a_part() -> None:
    named = sorted(pictures(load_results(FOLDER / "results.json")))

    assert sorted(f"{FOLDER.name}/{path.name}" for path in FOLDER.glob("*.svg")) == named
