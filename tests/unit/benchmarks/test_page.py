"""The results as tables between the markers of the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.machine import Machine
from benchmarks.page import MissingMarkerError, marked_parts, pictures, rewrite, shown, spread, write_page
from benchmarks.part import Curve, Figure, Part, Plot, at_most, measured
from benchmarks.results import Entry, Results

MACHINE = Machine(2, 24.0, "a processor", "a system", "3.11.2", "3.50.0", {"memd": "0.1.0"})

PAGE = """# Performance

<!-- part: machines -->
<!-- end -->

<!-- part: not-held -->
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
    ["What a reader must know."],
)


def test_a_block_holds_its_parts_table_pictures_and_notes() -> None:
    page = rewrite(PAGE, results(search=SEARCH))

    assert "| warm search \\| p50 | 9.00 ms | 8.00 to 12.0 | at most 5 ms; **not held** |" in page
    assert "| … p95 | 4.00 ms |  | at most 5 ms |" in page
    assert "![Growth](performance/growth.svg)" in page
    assert "- What a reader must know." in page
    assert "Measured on 2026-11-22 in 12 s (other processes took 3% of the cores meanwhile)." in page


def test_what_stands_outside_the_blocks_stays_as_it_is() -> None:
    page = rewrite(PAGE, results(search=SEARCH))

    assert "\nold\n" not in page
    for kept in ("# Performance\n\n<!--", "\n\nBefore.\n\n", "\n\nBetween.\n\n", "<!-- end -->\n\nAfter.\n"):
        assert kept in page


def test_rewriting_with_the_same_results_changes_nothing() -> None:
    once = rewrite(PAGE, results(search=SEARCH))

    assert rewrite(once, results(search=SEARCH)) == once


def test_a_part_that_never_ran_says_so() -> None:
    page = rewrite(PAGE, results(search=SEARCH))

    assert "<!-- part: sync -->\n\nNot measured yet.\n\n<!-- end -->" in page


def test_a_part_that_couldnt_be_measured_says_why() -> None:
    page = rewrite(PAGE, results(sync=Part("sync", "Sync", skipped="no network")))

    assert "<!-- part: sync -->\n\nNot measured: no network\n\n<!-- end -->" in page


def test_what_doesnt_hold_is_listed_with_the_words_of_the_row_it_goes_on_from() -> None:
    part = Part(
        "search",
        "One search",
        [at_most("a", "warm search", [1.0], "ms", 5.0), at_most("b", "… p95", [9.0], "ms", 5.0)],
    )

    page = rewrite(PAGE, results(search=part))

    assert "- `search`: warm search … p95: 9.00 ms; to hold: at most 5 ms." in page


def test_the_machine_stands_once_with_the_parts_that_ran_on_it() -> None:
    page = rewrite(PAGE, results(search=SEARCH, sync=Part("sync", "Sync")))

    assert page.count("a processor") == 1
    assert "Parts: search, sync." in page


def test_a_part_without_a_place_on_the_page_is_refused() -> None:
    with pytest.raises(MissingMarkerError, match="peers"):
        rewrite(PAGE, results(peers=Part("peers", "Peers")))


def test_the_file_is_rewritten_in_place(tmp_path: Path) -> None:
    path = tmp_path / "performance.md"
    path.write_text(PAGE)

    write_page(path, results(search=SEARCH))

    assert path.read_text() == rewrite(PAGE, results(search=SEARCH))
    assert marked_parts(path.read_text()) == ["machines", "not-held", "search", "sync"]
    assert list(pictures(results(search=SEARCH))) == ["performance/growth.svg"]


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
def test_numbers_are_shown_with_three_digits_that_mean_something(value: float, text: str) -> None:
    assert shown(value) == text


def test_one_round_has_no_spread() -> None:
    assert spread(measured("k", "w", [3.0], "ms")) == ""
    assert spread(Figure("k", "w", 3.0, "ms")) == ""
    assert spread(measured("k", "w", [3.0, 4.0], "ms")) == "3.00 to 4.00"
