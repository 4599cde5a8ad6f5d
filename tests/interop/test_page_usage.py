"""The view Usage of the page: what was recalled, what never was, and what was not found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.interop.test_page_looks import CONTRASTS
from tests.support.chromium import Browser, Page
from tests.support.chromium_page import memory_home, open_page
from tests.support.daemon import DaemonProcess


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    """A daemon that was searched by two programs."""
    with memory_home() as (_, daemon), daemon.client(client_name="notebook") as client:
        client.index()
        client.search("staging gateway port")
        client.search("zanzibarquux retention", caller="codex")
        client.search("the zanzibarquux retention?", caller="codex")
        yield daemon


def show(page: Page) -> None:
    """Open the view by its key."""
    page.wait_text("Tomatoes need")
    page.press("5")
    page.wait_text("Never recalled")


def test_recalls_are_listed_by_program_file_and_missing_answer(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon) as page:
        show(page)

        text = page.text(".usage")
        assert "3 recalls in 30 days" in text
        assert "the zanzibarquux retention?" in text
        assert "2 times, codex" in text
        assert "memory/2026-03-04.md" in text
        assert "memory/2026-02-11.md" in text
        caption = page.run("document.querySelector('.usage .plot').getAttribute('aria-label')")
        assert caption == "Recalls by day: 3 in the last 30 days"
        page.press("j", "Enter")
        page.wait("document.querySelector('.reader .said')")
        assert page.complaints == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_view_is_readable_on_a_phone(browser: Browser, daemon: DaemonProcess, dark: bool) -> None:
    with open_page(browser, daemon, width=360, height=740, phone=True, dark=dark) as page:
        show(page)

        assert page.run("document.documentElement.scrollWidth <= 360")
        assert page.run(CONTRASTS) == []


def test_every_control_of_the_view_has_a_name(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, daemon) as page:
        show(page)
        nodes = page.send("Accessibility.getFullAXTree")["nodes"]
        controls = [
            node for node in nodes if node.get("role", {}).get("value") in ("button", "link", "image")
        ]

        assert controls
        assert [node for node in controls if not node.get("name", {}).get("value")] == []
