"""Results as tables in the blocks of the report and of the overview."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.machine import BenchmarkMachine
from benchmarks.pages import (
    OVERVIEW,
    REPORT,
    MissingMarkerError,
    marked_parts,
    picture_path,
    plots_of,
    rewrite_overview,
    rewrite_report,
    shown,
    spread,
    write_pages,
)
from benchmarks.part import Curve, Figure, Part, Plot, at_most, measured
from benchmarks.results import Entry, Results

MACHINE = BenchmarkMachine(2, 24.0, "a processor", "a system", "3.11.2", "3.50.0", {"memd": "0.1.0"})

PAGE = """# Report

<!-- part: machines -->
<!-- end -->

<!-- part: missed -->
<!-- end -->

Before.

<!-- part: search -->
old
<!-- end -->

Between.

<!-- part: sync -->
<!-- end -->

After.
"""


OVERVIEW_PAGE = "# Performance\n\n<!-- part: headlines -->\n<!-- end -->\n"


def results(**parts: Part) -> Results:
    return Results(
        {name: Entry("2026-11-22", False, 12.0, 0.031, MACHINE, part) for name, part in parts.items()}
    )


SEARCH = Part(
    "search",
    "One search",
    [
        at_most("search.p50", "warm search | p50", [9.0, 8.0, 12.0], "ms", 5.0),
        at_most("search.p95", "… p95", [4.0], "ms", 5.0),
        measured("search.all", "searches", [15_000.0], "1/s"),
    ],
    [Plot("growth", "Growth", "chunks", "ms", [Curve("ours", [1.0], [2.0])])],
    ["A note."],
)


def test_a_block_has_the_table_pictures_and_notes_of_its_part() -> None:
    page = rewrite_report(PAGE, results(search=SEARCH))

    assert "| warm search \\| p50 | 9.00 ms | 8.00 to 12.0 | at most 5 ms; **missed** |" in page
    assert "| … p95 | 4.00 ms |  | at most 5 ms |" in page
    assert "![Growth](images/growth.svg)" in page
    assert "- A note." in page
    assert "Measured on 2026-11-22 in 12 s (other processes used 3% of the cores meanwhile)." in page


def test_text_outside_the_blocks_is_unchanged() -> None:
    page = rewrite_report(PAGE, results(search=SEARCH))

    assert "\nold\n" not in page
    for kept in ("# Report\n\n<!--", "\n\nBefore.\n\n", "\n\nBetween.\n\n", "<!-- end -->\n\nAfter.\n"):
        assert kept in page


def test_rewriting_with_the_same_results_changes_nothing() -> None:
    once = rewrite_report(PAGE, results(search=SEARCH))

    assert rewrite_report(once, results(search=SEARCH)) == once


def test_a_part_without_results_is_marked_as_not_measured() -> None:
    page = rewrite_report(PAGE, results(search=SEARCH))

    assert "<!-- part: sync -->\n\nNot measured yet.\n\n<!-- end -->" in page


def test_a_skipped_part_has_its_reason() -> None:
    page = rewrite_report(PAGE, results(sync=Part("sync", "Sync", skipped="no network")))

    assert "<!-- part: sync -->\n\nNot measured: no network\n\n<!-- end -->" in page


def test_a_missed_bar_is_listed_with_the_label_of_the_row_above() -> None:
    part = Part(
        "search",
        "One search",
        [at_most("a", "warm search", [1.0], "ms", 5.0), at_most("b", "… p95", [9.0], "ms", 5.0)],
    )

    page = rewrite_report(PAGE, results(search=part))

    assert "- `search`: warm search … p95: 9.00 ms; bar: at most 5 ms." in page


def test_a_machine_is_listed_once_with_its_parts() -> None:
    page = rewrite_report(PAGE, results(search=SEARCH, sync=Part("sync", "Sync")))

    assert page.count("a processor") == 1
    assert "Parts: search, sync." in page


def test_a_part_without_a_block_is_refused() -> None:
    with pytest.raises(MissingMarkerError, match="peers"):
        rewrite_report(PAGE, results(peers=Part("peers", "Peers")))


def test_both_pages_are_rewritten_in_place(tmp_path: Path) -> None:
    report, overview = tmp_path / REPORT, tmp_path / OVERVIEW
    for path, text in ((report, PAGE), (overview, OVERVIEW_PAGE)):
        path.parent.mkdir()
        path.write_text(text)

    write_pages(tmp_path, results(search=SEARCH))

    assert report.read_text() == rewrite_report(PAGE, results(search=SEARCH))
    assert marked_parts(report.read_text()) == ["machines", "missed", "search", "sync"]
    assert overview.read_text() == rewrite_overview(OVERVIEW_PAGE, results(search=SEARCH))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.0304, "0.0304"),
        (0.00001234, "0.000012"),
        (1.5, "1.50"),
        (-2.25, "-2.25"),
        (12.34, "12.3"),
        (161.4, "161"),
        (15_499.6, "15,500"),
        (300_000.0, "300,000"),
    ],
)
def test_numbers_are_shown_with_three_significant_digits(value: float, text: str) -> None:
    assert shown(value) == text


def test_one_round_has_no_spread() -> None:
    assert spread(measured("k", "w", [3.0], "ms")) == ""
    assert spread(Figure("k", "w", 3.0, "ms")) == ""
    assert spread(measured("k", "w", [3.0, 4.0], "ms")) == "3.00 to 4.00"


def test_a_headline_has_other_programs_as_multiples_of_memd() -> None:
    figures = [
        measured("peers.shell.memd", "shell, memd", [70.0], "ms"),
        measured("peers.shell.openclaw", "shell, openclaw", [4_200.0], "ms"),
    ]

    page = rewrite_overview(OVERVIEW_PAGE, results(peers=Part("peers", "Peers", figures)))

    row = next(line for line in page.splitlines() if "from the shell" in line)
    assert row.endswith("| 70.0 ms | 4,200 ms (60 ×) | not measured |")


def test_overview_pictures_are_in_the_docs() -> None:
    def path(name: str) -> str:
        return str(picture_path(Plot(name, "", "", "", [])))

    assert path("scale-search") == "docs/performance/scale-search.svg"
    assert path("growth") == "benchmarks/images/growth.svg"
    assert [plot.name for plot in plots_of(results(search=SEARCH).parts.values())] == ["growth"]
