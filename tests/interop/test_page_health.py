"""Health on the page: what a user can act on, and the page under axe-core."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.chromium import Browser, Page
from tests.support.chromium_page import go_to, open_page, search_for
from tests.support.daemon import DaemonProcess
from tests.support.node import installed
from tests.support.page_programs import HOOK, OLD, programs_home

AXE: Final = "axe-core@4.11.0"

RULES: Final = """
axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}).then(
    ({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html.slice(0, 200)}`)))
"""
"""Script that returns what breaks a rule of WCAG 2.1 AA."""


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    with programs_home() as (_, daemon):
        yield daemon


def card(page: Page, title: str) -> Any:
    """Return the text of a section of Health."""
    cards = "[...document.querySelectorAll('.card')]"
    found = f"{cards}.find((one) => one.querySelector('h2').innerText === {title!r})"
    page.wait(found)
    return page.run(f"{found}.innerText")


def test_health_names_sources_readers_and_exclusions_and_no_counter(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon, view="health") as page:
        sources = card(page, "Sources")
        assert f"{OLD + 1} conversations, " in sources
        assert "keeps deleted conversations" in sources
        assert "Gemini CLI 1 conversation" in " ".join(sources.split())
        assert "memctl sources add gemini" in sources
        readers = " ".join(card(page, "Who is given memory").split())
        assert "Claude Code may see notes of main and shared; conversations of Claude Code, Codex" in readers
        assert "Codex may see notes of shared; conversations of Claude Code, Codex" in readers
        assert "MCP server installed" in readers
        assert "Gemini CLI is given nothing" in readers
        assert "memctl hooks install gemini" in readers
        assert "taxes" in card(page, "Never read")
        notice = page.run("[...document.querySelectorAll('.notice')].map((one) => one.innerText).join()")
        assert f"there is no {HOOK}" in notice or "there is no /opt/memd/bin/python" in notice
        assert "run `memctl hooks install claude-code`" in notice
        assert "ublished" not in page.text("main")


def test_page_of_one_agent_shows_no_other_agents_sources(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, daemon, agent="main", view="health") as page:
        sources = card(page, "Sources")
        assert "no other program's conversations" in sources
        assert "gemini" not in page.text("main")
        assert "taxes" not in page.text("main")
        assert "shared" not in page.text("main")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_view_passes_axe(browser: Browser, daemon: DaemonProcess, dark: bool) -> None:
    axe = (installed(AXE) / "node_modules" / "axe-core" / "axe.min.js").read_text()
    with open_page(browser, daemon, dark=dark) as page:
        page.run(f"{axe}; 0")
        page.run("location.hash = 'agent=shared&view=conversations'")
        page.wait("document.querySelector('.listed')")
        assert page.run(RULES) == []
        page.click(".listed .open", "Why do the retries")
        page.wait("document.querySelector('.reader .bubble')")
        assert page.run(RULES) == []
        page.press("Escape")
        search_for(page, "retries order mails")
        page.wait("document.querySelector('.hit')")
        page.press("ArrowDown", "e")
        page.wait("document.querySelector('.explain')")
        assert page.run(RULES) == []
        page.press("Enter")
        page.wait("document.querySelector('.reader .found')")
        assert page.run(RULES) == []
        page.press("Escape")
        go_to(page, "health")
        card(page, "Who is given memory")
        assert page.run(RULES) == []
        page.run("document.querySelector('h1').style.color = 'rgba(128, 128, 128, 0.4)'")
        assert page.run(RULES) != []  # the check detects a missing contrast
