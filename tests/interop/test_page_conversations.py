"""Conversations of all programs on the page: a list with filters, filters of the search, and reading one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.chromium import Browser, Page
from tests.support.chromium_page import choose, go_to, open_page, search_for
from tests.support.daemon import DaemonProcess
from tests.support.page_programs import OLD, RETRIES, programs_home


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    with programs_home() as (_, daemon):
        yield daemon


def titles(page: Page) -> Any:
    """Return the titles of the listed conversations, in their order."""
    return page.run("[...document.querySelectorAll('.listed h3')].map((one) => one.textContent)")


def wait_titles(page: Page, count: int) -> None:
    page.wait(f"document.querySelectorAll('.listed').length === {count}")


def open_list(page: Page) -> None:
    """Show the list of the agent that has conversations."""
    page.run("location.hash = 'agent=shared&view=conversations'")
    page.wait("document.querySelector('.listed')")


def test_list_shows_program_project_day_and_messages_of_the_newest_first(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon) as page:
        open_list(page)

        assert titles(page)[1:3] == [
            "Retries of the gateway port",
            "Why do the retries of the order mails fail?",
        ]
        page.wait(
            "document.querySelectorAll('.listed')[2].textContent.includes('Claude Code')"
        )  # once titles are loaded
        row = page.run("document.querySelectorAll('.listed')[2].textContent")
        for words in ("Claude Code", "shop (main)", "123 messages"):
            assert words in row
        days = page.run("[...document.querySelectorAll('.day header p')].map((one) => one.textContent)")
        assert days[1:3] == ["26 Mar 2026", "17 Mar 2026"]
        assert page.text(".head .quiet") == f"{OLD + 3} conversations"


def test_older_conversations_are_loaded_when_the_end_comes_in_sight(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon) as page:
        open_list(page)
        wait_titles(page, 100)
        page.run("document.querySelector('[data-more]').scrollIntoView()")
        wait_titles(page, OLD + 3)
        assert len(set(titles(page))) == OLD + 3
        assert page.run("document.querySelector('[data-more]')") is None


def test_filters_for_source_project_month_and_title_words_find_a_discussion(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon) as page:
        open_list(page)
        choose(page, "time", "2026-03")
        wait_titles(page, 2)
        page.click("#title")
        page.type("RETRIES mails")
        wait_titles(page, 1)
        assert page.text(".head .quiet") == f"1 of {OLD + 3} conversations"
        choose(page, "source", "codex")
        page.wait_text("No such conversation")
        page.click("button", "Show all")
        wait_titles(page, 100)
        choose(page, "project", "/home/eva/infra")
        wait_titles(page, 1)
        assert titles(page) == ["Retries of the gateway port"]


def test_title_words_can_be_searched_in_all_that_was_said(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, daemon) as page:
        open_list(page)
        page.click("#title")
        page.type("attempt range")
        page.wait_text("No such conversation")
        page.click("[data-search-instead]")
        page.wait("document.querySelector('.hit')")
        assert page.run("document.querySelector('#query').value") == "attempt range"
        assert "Why do the retries" in page.text(".hit h3")


def test_an_agent_without_conversations_names_the_one_that_has_them(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon) as page:
        go_to(page, "conversations")
        page.click("button", f"Show the {OLD + 3} conversations of shared")
        page.wait("document.querySelector('.listed')")
        assert page.run("document.getElementById('agent').value") == "shared"


def test_list_is_used_by_keys_and_an_opened_conversation_begins_with_its_first_message(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon) as page:
        open_list(page)
        page.press("j", "j", "j", "Enter")
        page.wait("document.querySelector('.reader .bubble')")
        assert page.text(".reader .bubble") == "Why do the retries of the order mails fail?"
        head = page.text(".reader header")
        for words in ("Claude Code", "shop (main)", "17 Mar 2026", "messages 1 to 60 of 123"):
            assert words in head
        assert f"claude --resume {RETRIES}" in head
        code = page.text(".reader pre.code")
        assert "for attempt in range(3):" in code
        assert "```" not in page.text(".reader")
        assert page.run("document.querySelector('.reader .day-of').innerText") == "17 Mar 2026"
        page.press("Escape")
        page.wait("!document.querySelector('.reader')")
        assert page.run("document.activeElement.dataset.item") == f"conversation:claude-code/{RETRIES}"


def test_titles_of_conversations_stay_text(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, daemon) as page:
        open_list(page)
        assert "<img src=x onerror=alert(1)> <b>cormorant</b> RLO" in titles(page)[0]
        search_for(page, "cormorant")
        page.wait("document.querySelector('.hit')")
        page.click(".hit .open")
        page.wait("document.querySelector('.reader .bubble')")
        assert "<img src=x onerror=alert(1)>" in page.text(".reader h2")
        assert page.run("document.querySelectorAll('main img, main b, .reader img').length") == 0
        assert (page.dialogs, page.complaints) == ([], [])


def test_search_is_limited_to_a_source_a_project_and_a_time(browser: Browser, daemon: DaemonProcess) -> None:
    hits = "[...document.querySelectorAll('.hit h3')].map((one) => one.innerText)"
    with open_page(browser, daemon) as page:
        search_for(page, "retries")
        page.wait("document.querySelectorAll('.hit').length >= 3")
        choose(page, "source", "*notes")
        page.wait(f"{hits}.length === 1 && {hits}[0].startsWith('18 Mar 2026')")
        choose(page, "source", "codex")
        page.wait(f"{hits}.length === 1 && {hits}[0] === 'Retries of the gateway port'")
        choose(page, "time", "2026-02")
        page.wait_text("Nothing found with these filters")
        page.click("button", "Search without filters")
        page.wait("document.querySelectorAll('.hit').length >= 3")
        choose(page, "project", "/home/eva/shop")
        page.wait(f"{hits}.length > 0 && {hits}.every((one) => one.startsWith('Why do the retries'))")
        choose(page, "time", "2026-03")
        page.wait("document.querySelectorAll('.filter.chosen').length === 2")


def test_hit_leads_with_its_day_and_title_and_folds_lines_without_evidence(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon, agent="main") as page:
        search_for(page, "order mails retries")
        page.wait("document.querySelector('.hit')")
        assert page.text(".hit h3") == "18 Mar 2026 Mails"
        assert page.text(".hit .meta").startswith("memory/2026-03-18.md line")
        rows = "[...document.querySelectorAll('.hit .line')]"
        assert page.run(f"{rows}.filter((one) => one.matches('.dim')).length") == 3
        assert page.run(f"{rows}.some((one) => one.matches('.dim') && one.querySelector('mark'))") is False
        shown = page.run(f"{rows}.length")

        page.click("[data-fold]", "more line")
        page.wait(f"{rows}.length > {shown}")
        assert "The window is open." in page.text(".hit")
        assert page.run("document.querySelector('.reader')") is None
        page.click("[data-fold]", "Show fewer lines")
        page.wait(f"{rows}.length === {shown}")


def test_opened_hit_marks_the_lines_with_evidence_alone(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, daemon, agent="main") as page:
        search_for(page, "order mails retries")
        page.click(".hit .open")
        page.wait("document.querySelector('.reader .found')")
        marked = page.run(
            "[...document.querySelectorAll('.reader .found .said')].map((one) => one.innerText)"
        )
        assert "The queue for order mails retries three times." in marked
        assert not {"Lunch is at noon.", "The coffee is gone.", ""} & set(marked)


def test_next_and_previous_match_go_through_a_conversation(browser: Browser, daemon: DaemonProcess) -> None:
    found = "[...document.querySelectorAll('.reader .message.found')].map((one) => one.innerText).join()"
    with open_page(browser, daemon) as page:
        page.run("location.hash = 'agent=shared&view=search'")
        search_for(page, "retries order mails")
        choose(page, "source", "claude-code")
        page.wait(
            "document.querySelectorAll('.hit').length > 0 && !document.querySelector('.hit .day-of-hit')"
        )
        page.click(".hit .open")
        page.wait("document.querySelector('.matches')")
        first = page.text(".matches .number")
        assert " of 2 for “retries order mails”" in first
        seen = {page.run(found)}
        page.press("n")
        page.wait(f"document.querySelector('.matches .number').innerText !== {first!r}")
        page.wait(f"{found}.length > 0")
        seen.add(page.run(found))
        assert any("Back to the retries" in text for text in seen)
        assert any("Why do the retries" in text for text in seen)
        page.press("p")
        page.wait(f"document.querySelector('.matches .number').innerText === {first!r}")


def test_header_and_search_field_take_little_of_a_small_screen(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon, width=390, height=844, phone=True) as page:
        page.run("location.hash = 'view=search'")
        page.wait("document.getElementById('query')")
        bottom = page.run("document.getElementById('query').getBoundingClientRect().bottom + scrollY")
        assert 60 < bottom <= 0.15 * 844
        for view in ("conversations", "search", "health"):
            page.run(f"location.hash = 'agent=shared&view={view}'")
            page.wait(f"document.querySelector('.tabs [aria-current=page]').dataset.view === {view!r}")
            page.wait("document.querySelector('.listed, #query, .sources')")
            assert page.run("document.documentElement.scrollWidth <= 390"), view
