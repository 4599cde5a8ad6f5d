"""The page of several agents: its address, a search of all of them, and what is offered for which agent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.chromium import Browser, Page
from tests.support.chromium_page import choose, go_to, open_page, search_for
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome, agents_config
from tests.support.transcripts import TranscriptHome, conversation

TRANSCRIPTS: dict[str, Any] = {
    "sources": ["memory", "sessions"],
    "experimental": {"sessionMemory": True},
}


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    """A daemon with the agents main and work; only the transcripts of work are indexed."""
    with StateHome() as home:
        config = agents_config(home.state, "work")
        config["agents"]["list"][1]["memorySearch"] = TRANSCRIPTS
        home.configure(config)
        home.note("memory/2026-03-01.md", "# Harbour\n\nThe heron ferry leaves at nine.\n")
        home.note("memory/2026-03-02.md", "# Garden\n\nTomatoes.\n")
        home.note("memory/2026-03-01.md", "# Depot\n\nThe heron crane is out of order.\n", agent="work")
        TranscriptHome(home.state, "work").write_file("s1", conversation("s1", 1, "about the cormorant"))
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            yield daemon


def shown(page: Page) -> tuple[str, str, str]:
    """Return the agent, the view and the open file that the page shows."""
    agent = page.run(
        "document.getElementById('agent')?.value ?? document.querySelector('.fixed').textContent"
    )
    view = page.run("document.querySelector('.tabs [aria-current=page]').dataset.view")
    file = page.run("document.querySelector('.reader .path')?.textContent ?? ''")
    return agent, view, file


def wait_shown(page: Page, *expected: str) -> None:
    """Wait until the page shows an agent, a view and a file."""
    page.wait(
        "document.getElementById('agent')?.value === {} && "
        "document.querySelector('.tabs [aria-current=page]').dataset.view === {} && "
        "(document.querySelector('.reader .path')?.textContent ?? '') === {}".format(
            *(json.dumps(each) for each in expected)
        )
    )


def choose_agent(page: Page, agent: str) -> None:
    """Choose an agent in the list."""
    page.run(
        f"(() => {{ const list = document.getElementById('agent'); list.value = {agent!r};"
        " list.dispatchEvent(new Event('change')); })()"
    )


def test_reload_and_bookmark_show_the_same_agent_view_and_file(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon) as page:
        choose_agent(page, "work")
        page.wait_text("Depot")
        page.click(".note .open", "Depot")
        page.wait_text("crane is out of order")
        assert page.run("location.hash") == "#agent=work&view=notes&file=memory/2026-03-01.md"

        page.send("Page.reload")
        page.wait("document.querySelector('.reader')?.innerText.includes('crane is out of order')")
        wait_shown(page, "work", "notes", "memory/2026-03-01.md")

        bookmark = page.run("location.href")
        page.go("about:blank")
        page.wait("document.URL === 'about:blank'")
        page.go(bookmark)
        page.wait("document.querySelector('.reader')?.innerText.includes('crane is out of order')")
        wait_shown(page, "work", "notes", "memory/2026-03-01.md")


def test_back_and_forward_go_through_agents_views_and_files(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, daemon) as page:
        wait_shown(page, "main", "notes", "")
        go_to(page, "facts")
        choose_agent(page, "work")
        page.press("1")
        page.click(".note .open", "Depot")
        wait_shown(page, "work", "notes", "memory/2026-03-01.md")
        page.press("Escape")
        go_to(page, "health")
        wait_shown(page, "work", "health", "")

        steps = [
            ("work", "notes", ""),
            ("work", "notes", "memory/2026-03-01.md"),
            ("work", "notes", ""),
            ("work", "facts", ""),
            ("main", "facts", ""),
            ("main", "notes", ""),
        ]
        for step in steps:
            page.run("history.back()")
            wait_shown(page, *step)
        page.wait_text("Harbour")
        for step in [*steps[-2::-1], ("work", "health", "")]:
            page.run("history.forward()")
            wait_shown(page, *step)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "agent=nobody&view=nowhere",
        "agent=&view=&file=",
        "agent=%00%FF%&view=<script>",
        "notes",
        "view=facts%00&agent=constructor",
        "of=work",
    ],
)
def test_a_bad_address_shows_the_default(browser: Browser, daemon: DaemonProcess, address: str) -> None:
    with open_page(browser, daemon, view="health") as page:
        page.run(f"location.hash = {address!r}")
        wait_shown(page, "main", "notes", "")
        page.wait_text("Harbour")
        assert page.run("location.hash") == "#agent=main&view=notes"
        assert page.complaints == []


def test_bad_lines_of_an_address_open_the_whole_file(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, daemon) as page:
        for lines in ("x", "9-2", "0-3", "1-", "1-99999999999"):
            page.run(f"location.hash = 'file=memory/2026-03-01.md&lines={lines}'")
            page.wait_text("ferry leaves at nine")
            page.wait("location.hash === '#agent=main&view=notes&file=memory/2026-03-01.md'")


def test_a_page_of_one_agent_ignores_another_one_in_its_address(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon, agent="work") as page:
        page.run("location.hash = 'agent=main&view=facts'")
        page.wait("document.querySelector('.tabs [aria-current=page]').dataset.view === 'facts'")
        assert page.run("location.hash") == "#view=facts"
        assert shown(page)[0] == "work"


def test_a_search_of_all_agents_labels_its_hits_and_opens_the_right_file(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon) as page:
        search_for(page, "heron")
        page.wait("document.querySelectorAll('.hit').length === 2")
        labels = page.run("[...document.querySelectorAll('.hit .agent')].map((one) => one.textContent)")
        assert sorted(labels) == ["main", "work"]

        for agent, text in (("work", "crane is out of order"), ("main", "ferry leaves at nine")):
            page.run(
                "[...document.querySelectorAll('.hit')].find((one) =>"
                f" one.querySelector('.agent').textContent === {agent!r}).querySelector('.open').click()"
            )
            page.wait(f"document.querySelector('.reader')?.innerText.includes({text!r})")
        assert shown(page)[0] == "main"  # the shown agent stays, also with a file of another agent open
        page.run("history.back()")
        page.wait("document.querySelector('.reader')?.innerText.includes('crane is out of order')")
        assert "of=work" in page.run("location.hash")
        assert page.text(".reader header .chip") == "work"

        written = daemon.home.note("memory/2026-03-03.md", "A second heron crane came.\n", agent="work")
        page.wait("document.querySelectorAll('.hit').length === 3")  # what another agent writes is found, too
        written.unlink()
        page.wait("document.querySelectorAll('.hit').length === 2")

        page.click(".choices button", "This agent")
        page.wait("document.querySelectorAll('.hit').length === 1")
        assert page.run("document.querySelector('.hit .agent')") is None


def test_a_page_of_one_agent_searches_no_other(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, daemon, agent="main") as page:
        search_for(page, "heron")
        page.wait("document.querySelector('.hit')")
        assert "All agents" not in page.text("main")
        asked = page.run(
            """fetch("/api/search_agents", {method: "POST", body: '{"query": "heron"}',
                headers: {"Content-Type": "application/json", "X-Memd": "1"}}).then((answer) => answer.json())"""
        )
        assert asked["error"]["code"] == "agent_unknown"


def test_conversations_are_offered_only_if_they_are_indexed(browser: Browser, daemon: DaemonProcess) -> None:
    offered = "[...document.querySelectorAll('[data-filter=source] option')].map((one) => one.textContent)"
    with open_page(browser, daemon) as page:
        search_for(page, "heron")
        page.wait(f"{offered}.includes('Conversations')")  # those of work
        page.click(".choices button", "This agent")
        page.wait("!document.querySelector('[data-filter=source]')")
        choose_agent(page, "work")
        choose(page, "source", "*conversations")
        page.wait("document.querySelector('main').innerText.includes('Nothing found with these filters')")

        choose_agent(page, "main")  # the choice is gone with what it is about
        page.wait("document.querySelector('.hit')?.innerText.includes('ferry')")
        assert page.run("document.querySelector('[data-filter=source]')") is None


EMPTY_REPLIES = """
(() => {
    const real = window.fetch;
    const empty = {code: "path_matches_nothing", message: "No file is under projects/.", hint: "Leave out --path."};
    window.fetch = async (url, options) => {
        const answer = await real(url, options);
        if (!String(url).includes("search")) return answer;
        const body = await answer.json();
        const rows = body.result.agents ?? [body.result];
        for (const row of rows) row.empty = {...empty, code: CODE};
        return new Response(JSON.stringify(body), {status: 200});
    };
})()
"""
"""Has the daemon's replies say why they are empty, whatever the reason."""


@pytest.mark.parametrize("code", ["path_matches_nothing", "no_match"])
def test_a_search_without_hits_says_why_and_what_to_do(
    browser: Browser, daemon: DaemonProcess, code: str
) -> None:
    with open_page(browser, daemon) as page:
        page.run(EMPTY_REPLIES.replace("CODE", json.dumps(code)))
        search_for(page, "qwrtzpl")
        page.click(".choices button", "This agent")
        page.wait("document.querySelector('[aria-pressed=true]').textContent === 'This agent'")
        page.wait_text("No file is under projects/.")
        way_out = "Show the nearest anyway" if code == "no_match" else "Leave out --path."
        assert way_out in page.text(".empty")

        page.click(".choices button", "All agents")
        page.wait_text("work: No file is under projects/.")
        assert page.text(".empty").count("No file is under projects/.") == 2


def test_a_search_without_hits_and_without_a_reason_says_that_nothing_was_found(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon) as page:
        page.run(EMPTY_REPLIES.replace("{...empty, code: CODE}", "null"))
        search_for(page, "qwrtzpl")
        page.wait("document.querySelector('.empty h2')?.textContent.startsWith('Nothing')")
        page.click(".choices button", "All agents")
        page.wait(
            "document.querySelector('.choices [aria-pressed=true]').textContent.trim() === 'All agents'"
        )
        page.wait("document.querySelector('.empty h2')?.textContent.startsWith('Nothing')")


MARKED_REPLIES = """
(() => {
    const real = window.fetch;
    window.fetch = async (url, options) => {
        const answer = await real(url, options);
        if (!String(url).includes("search")) return answer;
        const body = await answer.json();
        const later = {path: PATH, start_line: 3, end_line: 3, citation: PATH + "#L3", date: "2026-03-02"};
        for (const hit of body.result.hits) Object.assign(hit, {relevance: "weak", superseded_by: later});
        return new Response(JSON.stringify(body), {status: 200});
    };
})()
"""
"""Has the daemon's replies mark each hit as weak, and as superseded by a statement in another file."""


def test_weak_and_superseded_hits_are_marked_and_the_later_statement_opens(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon) as page:
        search_for(page, "heron")
        page.wait("document.querySelector('.hit')")
        assert page.run("document.querySelector('.chip.weak')") is None

        page.run(MARKED_REPLIES.replace("PATH", "'memory/2026-03-02.md'"))
        search_for(page, "heron ferry")
        page.wait("document.querySelector('.hit .chip.weak')")
        assert page.text(".hit .chip.warn") == "superseded by memory/2026-03-02.md#L3 (2026-03-02)"
        page.click(".hit .chip.warn", "superseded by")
        page.wait("document.querySelector('.reader')?.innerText.includes('Tomatoes')")


def test_later_statement_in_a_conversation_opens_it(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, daemon) as page:
        page.run(MARKED_REPLIES.replace("PATH", "'sessions/s1.jsonl'"))
        search_for(page, "heron ferry")
        page.wait("document.querySelector('.hit .chip.warn')")
        page.click(".hit .chip.warn", "superseded by")
        page.wait_text("no conversation 'sessions/s1.jsonl'")
