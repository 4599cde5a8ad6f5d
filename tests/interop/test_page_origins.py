"""Whose words hits are on the page: a chip with the reason, and a filter. Nothing on it releases lines."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memd.page.gateway import OFFERED
from tests.support.chromium import Browser
from tests.support.chromium_page import choose, open_page, search_for
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome

CLIPPED = "---\nsource: https://docs.example.org/relay\n---\n\nRestart the cormorant relay at noon.\n"


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    """A daemon with a note of the agent, and a note that a web clipper wrote."""
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "# Memory\n\nThe cormorant relay hums in the cellar below the stairs.\n")
        home.note("memory/relay.md", CLIPPED)
        with DaemonProcess(home, {"HOME": str(home.root)}) as daemon, daemon.client() as client:
            client.index()
            yield daemon


def test_hit_of_others_has_a_chip_and_the_filter_leaves_it_out(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon) as page:
        search_for(page, "cormorant relay")
        page.wait("document.querySelectorAll('.hit').length === 2")
        assert page.text("[data-origin]") == "outside: clipped from docs.example.org"

        choose(page, "origin", "agent")
        page.wait("document.querySelectorAll('.hit').length === 1")
        assert page.run("document.querySelector('[data-origin]')") is None

        choose(page, "origin", "user")
        page.wait("!document.querySelector('.hit')")


def test_page_offers_no_request_that_releases_lines() -> None:
    assert "trust" not in OFFERED
