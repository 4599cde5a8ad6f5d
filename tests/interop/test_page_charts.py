"""The page's charts: axes with numbers and units, and nothing written over what they show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.chromium import Browser, Page
from tests.support.chromium_page import go_to, memory_home, open_page, search_for
from tests.support.daemon import DaemonProcess

OVERLAPS = """
[...document.querySelectorAll(".plot, .bars")].flatMap((plot) => {
    const boxes = [...plot.querySelectorAll("text")].map((one) => one.getBoundingClientRect());
    const values = [...plot.querySelectorAll(".value")].map((one) => one.getBoundingClientRect());
    const meet = (one, other) => one.left < other.right && other.left < one.right
        && one.top < other.bottom - 1 && other.top < one.bottom - 1;
    return boxes.flatMap((box, place) => [...boxes.slice(place + 1), ...values].filter((other) => meet(box, other)));
}).length
"""
"""How often a number of an axis lies over another one, or over what is drawn."""


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    """A daemon that has searched, over a memory with a long file and notes of the last weeks."""
    with memory_home() as (home, daemon), daemon.client() as client:
        paragraphs = "\n\n".join(f"Paragraph {number}: " + "gateway words " * 60 for number in range(30))
        home.note("memory/long.md", f"# Long\n\n{paragraphs}\n")
        home.note("memory/longer.md", f"# Longer\n\n{paragraphs}\n\n{paragraphs}\n")
        client.index()
        for number in range(8):
            client.search(f"gateway port {number}")
        yield daemon


def numbers(page: Page, plot: str) -> Any:
    """Return what is written at the axes of a chart."""
    return page.run(f"[...document.querySelectorAll({plot + ' text'!r})].map((one) => one.textContent)")


@pytest.mark.parametrize("screen", [{}, {"width": 360, "height": 740, "phone": True}], ids=["wide", "phone"])
def test_axes_are_numbered_with_their_units(
    browser: Browser, daemon: DaemonProcess, screen: dict[str, Any]
) -> None:
    with open_page(browser, daemon, **screen) as page:
        page.wait("document.querySelector('.weeks .plot')")
        written = numbers(page, ".weeks .plot")
        assert written[:3] == ["0", "1", "2"]
        assert len([each for each in written if re.fullmatch(r"\d\d? [A-Z][a-z]+", each)]) >= 4
        assert page.run(
            "[...document.querySelectorAll('.weeks .axis-name')].map((one) => one.textContent)"
        ) == [
            "notes",
            "week from",
        ]
        assert page.run(OVERLAPS) == 0

        search_for(page, "gateway port")
        page.press("ArrowDown", "e")
        page.wait("document.querySelector('.explain .bars')")
        assert numbers(page, ".explain .bars") == ["0.00", "0.50", "1.00"]
        assert page.run(OVERLAPS) == 0

        page.press("Escape")
        go_to(page, "health")
        page.click(".numbers summary")
        page.wait("document.querySelector('.health .plot')?.checkVisibility()")
        written = numbers(page, ".health .plot")
        assert written[0] == "0"
        assert [each for each in written if each.endswith(" ms")]
        assert [each for each in numbers(page, ".health .bars") if each.endswith(" chunks")]
        assert page.run(OVERLAPS) == 0


def test_axes_end_at_a_round_number_not_below_the_largest_value(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon) as page:
        found = page.run(
            """import("/static/js/charts.js").then(({ ticksUpTo }) =>
                [1, 2, 4, 5, 7, 13, 40, 99, 1234567, 0.3].map((most) => ticksUpTo(most)))"""
        )
    assert found == [
        [0, 0.5, 1],
        [0, 0.5, 1, 1.5, 2],
        [0, 1, 2, 3, 4],
        [0, 2, 4, 6],
        [0, 2, 4, 6, 8],
        [0, 5, 10, 15],
        [0, 10, 20, 30, 40],
        [0, 50, 100],
        [0, 500_000, 1_000_000, 1_500_000],
        [0, 0.1, 0.2, 0.3],
    ]
