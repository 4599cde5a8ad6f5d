"""The page of `memctl web` in a real browser: what one sees of a memory, and does to it."""

from __future__ import annotations

import json
import os

import pytest

from tests.support.chromium import Browser, Page
from tests.support.chromium_page import KEYWORD_SEARCH, choose, go_to, memory_home, open_page, search_for
from tests.support.daemon import DaemonProcess
from tests.support.models import minilm_path
from tests.support.state_homes import StateHome, agents_config
from tests.support.transcript_programs.plain import claude_code
from tests.support.transcripts import TranscriptHome, conversation, message

Running = tuple[StateHome, DaemonProcess]


def facts_file(home: StateHome) -> str:
    """Return what the file of facts says."""
    return (home.workspace() / "memory" / "facts.md").read_text()


def focused(page: Page) -> str:
    """Return the name of the item that has the focus."""
    return str(page.run("document.activeElement.closest('[data-item]')?.dataset.item ?? ''"))


def test_notes_are_listed_by_day_newest_first(browser: Browser, running: Running) -> None:
    _, daemon = running
    with open_page(browser, daemon) as page:
        page.wait_text("Tomatoes need")  # the first lines of a note come once it is in sight

        days = page.run("[...document.querySelectorAll('.day')].map((day) => day.getAttribute('aria-label'))")
        page.wait("document.querySelector('.note h3').textContent.trim() === 'Facts'")
        titles = page.run("[...document.querySelectorAll('.note h3')].map((one) => one.textContent.trim())")
        assert days[1:] == ["4 Mar 2026", "2 Mar 2026", "11 Feb 2026"]  # the first is today's, of the facts
        assert titles == ["Facts", "Deploying the gateway", "Kestrel review", "Garden"]
        assert page.complaints == []


def test_a_search_shows_its_hits_with_the_evidence_marked(browser: Browser, running: Running) -> None:
    _, daemon = running
    with open_page(browser, daemon) as page:
        search_for(page, "which port does the gateway use")

        hit = page.text(".hit")
        assert "memory/2026-03-04.md" in hit
        assert "port 8443 instead of 8080" in hit
        marked = page.run("[...document.querySelectorAll('.hit mark')].map((one) => one.textContent)")
        assert {word.lower() for word in marked} == {"gateway", "port"}
        assert "keyword" in page.text(".ask")


def test_matched_terms_are_marked_wherever_they_are_shown(browser: Browser, running: Running) -> None:
    _, daemon = running
    snippet = "😀 Rounded C++ and POL-358: ports, 会議 (naïve)"
    terms = ("Rounded", "C++", "POL-358", "ports", "会議", "naïve")
    hit = {
        "snippet": snippet,
        "spans": [[snippet.index(term), snippet.index(term) + len(term)] for term in terms],
    }
    text = "rounded C++ and POL-358, POL-3580 or reports: ports; 東京の会議 (naïve)"
    with open_page(browser, daemon) as page:
        marked = page.run(
            f"""import("/static/js/evidence.js").then(({{ evidenceOf }}) =>
                evidenceOf({json.dumps(hit)})({json.dumps(text)}).map(([start, end]) =>
                    {json.dumps(text)}.slice(start, end)))"""
        )
    assert marked == ["rounded", "C++", "POL-358", "ports", "会議", "naïve"]


def test_a_hit_says_why_it_was_found(browser: Browser, running: Running) -> None:
    _, daemon = running
    with daemon.client() as client:
        told = client.search("POL-358 decisions in the warehouse", explain=True).hits[0].explain
    assert told is not None
    with open_page(browser, daemon) as page:
        search_for(page, "POL-358 decisions in the warehouse")
        page.click("[data-why]")
        page.wait("document.querySelector('.explain')")

        shown = page.text(".explain")
        for reason in told["reasons"]:  # each once: the words are chips, the steps are bars
            if not reason.startswith(("contains", "fused score")):
                assert shown.count(reason.partition(": ")[2] or reason) == 1
        missing = page.run("document.querySelector('.explain .chip.missing').textContent")
        assert missing.startswith("warehouse (not here;")
        assert f"{told['bm25']:.2f}" in shown
        assert f"{list(told['steps'].values())[-1]:.3f}" in shown


def test_an_opened_hit_shows_the_file_around_it(browser: Browser, running: Running) -> None:
    home, daemon = running
    filler = "\n".join(f"filler line {number}" for number in range(1, 200))
    home.note("memory/2026-03-05.md", f"{filler}\n\nThe walrus pact was signed in Lisbon.\n\n{filler}\n")
    with open_page(browser, daemon) as page:
        search_for(page, "walrus pact")
        page.click(".hit .open")
        page.wait("document.querySelector('.reader .said')")

        found = page.run(
            "[...document.querySelectorAll('.reader .line.found')].map((one) => +one.dataset.line)"
        )
        assert 201 in found
        first = page.run("+document.querySelector('.reader .line').dataset.line")
        assert 1 < first < found[0]  # lines above it are loaded too, not the whole file
        assert page.text("[data-line='201']").endswith("The walrus pact was signed in Lisbon.")

        page.click(".reader .more", "above")
        page.wait("document.querySelector('.reader .line').dataset.line === '1'")


@pytest.mark.model
def test_a_search_without_relevant_hits_offers_the_nearest(browser: Browser) -> None:
    local = {"provider": "local", "local": {"modelPath": str(minilm_path())}}
    with memory_home({"agents": {"defaults": {"memorySearch": local}}}) as (_, daemon):
        daemon.wait_for(lambda status: status.agents[0].chunks_pending == 0 and status.agents[0].vectors > 0)
        with open_page(browser, daemon) as page:
            search_for(page, "qwrtzpl xkcdvb ghnmjk")
            page.wait_text("Nothing relevant")
            page.click("button", "Show the nearest anyway")
            page.wait("document.querySelector('.hit')")

            search_for(page, "which port does the gateway use")
            page.wait_text("keyword and vector search")
            page.click("[data-why]")
            page.wait("document.querySelector('.explain')")
            assert "no vector match" not in page.text(".explain")


def test_a_fact_is_edited_in_place(browser: Browser, running: Running) -> None:
    home, daemon = running
    before = facts_file(home)
    with open_page(browser, daemon, view="facts") as page:
        page.wait_text("I prefer dark mode")
        page.click("[data-fact]", "dark mode")
        page.press("e")
        page.wait("document.activeElement.id === 'editing'")
        page.select_all()
        page.type("I prefer dark mode, but light paper")
        page.press("Enter")

        page.wait_text("Saved in memory/facts.md")
        page.wait_text("I prefer dark mode, but light paper")
    after = facts_file(home)
    assert after == before.replace("I prefer dark mode", "I prefer dark mode, but light paper")


def test_a_fact_changed_elsewhere_is_not_overwritten_and_what_was_typed_stays(
    browser: Browser, running: Running
) -> None:
    home, daemon = running
    file = home.workspace() / "memory" / "facts.md"
    with open_page(browser, daemon, view="facts") as page:
        page.wait_text("I prefer dark mode")
        page.click("[data-fact]", "dark mode")
        page.press("e")
        page.wait("document.activeElement.id === 'editing'")
        page.select_all()
        page.type("I prefer grey mode")
        file.write_text(facts_file(home).replace("I prefer dark mode", "I prefer violet mode"))
        page.press("Enter")

        page.wait("document.querySelector('.fact .notice')")
        assert page.run("document.getElementById('editing').value") == "I prefer grey mode"
    assert "I prefer violet mode" in facts_file(home)
    assert "grey" not in facts_file(home)


def test_what_is_being_written_outlives_the_fact(browser: Browser, running: Running) -> None:
    home, daemon = running
    with open_page(browser, daemon, view="facts") as page, daemon.client() as client:
        page.wait_text("I prefer dark mode")
        page.click("[data-fact]", "dark mode")
        page.press("e")
        page.wait("document.activeElement.id === 'editing'")
        page.select_all()
        page.type("I prefer dark mode at night")
        client.memory_forget("01KAN8ZT40DARK")

        page.wait_text("Your words are kept here")
        assert page.run("document.activeElement.id + document.activeElement.value") == (
            "editingI prefer dark mode at night"
        )
        page.click("button", "Remember as a new fact")
        page.wait_text("Remembered in")
    assert "I prefer dark mode at night" in facts_file(home)


def test_a_fact_is_forgotten_after_a_second_yes(browser: Browser, running: Running) -> None:
    home, daemon = running
    with open_page(browser, daemon, view="facts") as page:
        page.wait_text("Anna's birthday")
        page.click("[data-fact]", "Anna")
        page.press("f")
        page.wait("document.querySelector('.sure')")
        page.press("Escape")
        page.wait("!document.querySelector('.sure')")
        assert "Anna" in facts_file(home)

        page.press("f")
        page.wait("document.activeElement.classList.contains('danger')")
        page.press("Enter")
        page.wait_text("Forgotten: “Anna's birthday is on 14 May”")
        page.wait("document.querySelectorAll('[data-fact]').length === 1")
    assert "Anna" not in facts_file(home)
    assert "dark mode" in facts_file(home)


def test_a_new_fact_is_remembered_once(browser: Browser, running: Running) -> None:
    home, daemon = running
    with open_page(browser, daemon, view="facts") as page:
        for answer in ("Remembered in", "Known already"):
            page.click("#remember")
            page.type("Standup is at 9:40")
            page.press("Enter")
            page.wait_text(answer)
            page.wait("document.getElementById('remember').value === ''")
    assert facts_file(home).count("Standup is at 9:40") == 1


def test_a_file_changed_on_disk_is_reloaded_at_the_same_position(browser: Browser, running: Running) -> None:
    home, daemon = running
    with open_page(browser, daemon) as page:
        search_for(page, "gateway port")
        page.wait("document.querySelector('.hit')")
        page.press("ArrowDown", "Enter")
        page.wait("document.querySelector('.reader .said')")
        page.press("Escape")
        place = focused(page)
        assert place.startswith("hit:memory/2026-03-04.md")

        home.note("memory/2026-03-04.md", GATEWAY_MOVED)
        page.wait_text("listens on port 9443")

        assert focused(page) == place
        assert page.run("document.getElementById('query').value") == "gateway port"
        home.note("memory/2026-03-09.md", "# Written meanwhile\n\nNews.\n")
        page.press("1")
        page.wait_text("Written meanwhile")


GATEWAY_MOVED = "# Deploying the gateway\n\nThe staging gateway now listens on port 9443.\n"


def test_an_open_file_follows_its_changes(browser: Browser, running: Running) -> None:
    home, daemon = running
    with open_page(browser, daemon) as page:
        page.click(".note .open", "Garden")
        page.wait("document.querySelector('.reader .said')")
        assert "twice the water" in page.text(".reader")

        home.note("memory/2026-02-11.md", "# Garden\n\nTomatoes need no water at all.\n")

        page.wait("document.querySelector('.reader').innerText.includes('no water at all')")


def test_everything_can_be_done_by_keys(browser: Browser, running: Running) -> None:
    home, daemon = running
    with open_page(browser, daemon) as page:
        page.wait("document.querySelectorAll('.note').length === 4")
        page.press("j", "j")
        assert focused(page) == "note:memory/2026-03-04.md"
        assert page.run("getComputedStyle(document.activeElement, '::after').outlineStyle") == "solid"
        page.press("k", "Enter")
        page.wait("document.querySelector('.reader .said')")
        page.press("Escape")
        page.wait("!document.querySelector('.reader')")
        assert focused(page) == "note:memory/facts.md"

        search_for(page, "rounding of credit notes")
        page.press("ArrowDown", "e")
        page.wait("document.querySelector('.explain')")
        page.press("e")
        page.wait("!document.querySelector('.explain')")

        go_to(page, "facts")
        page.wait("document.querySelector('[data-fact]')")
        page.press("j", "j", "f")
        page.wait("document.querySelector('.sure')")
        page.press("Enter")
        page.wait("document.querySelectorAll('[data-fact]').length === 1")
        page.press("?")
        page.wait("document.getElementById('help').open")
        page.press("Escape")
        page.wait("!document.getElementById('help').open")
        go_to(page, "health")
        page.wait_text("Freshness")
    assert facts_file(home).count("fact id=") == 1


def test_a_page_of_one_agent_offers_no_other(browser: Browser) -> None:
    with StateHome() as home:
        home.configure(agents_config(home.state, "work"))
        home.note("memory/2026-03-01.md", "# Of main\n\nmain-canary\n")
        home.note("memory/2026-03-01.md", "# Of work\n\nwork-canary\n", agent="work")
        with DaemonProcess(home) as daemon:
            with open_page(browser, daemon, agent="work") as page:
                page.wait_text("work-canary")
                assert page.run("document.getElementById('agent')") is None
                assert "main" not in page.text(".side")
            with open_page(browser, daemon) as page:
                page.wait_text("main-canary")
                page.run(
                    "(() => { const agent = document.getElementById('agent'); agent.value = 'work';"
                    " agent.dispatchEvent(new Event('change')); })()"
                )
                page.wait_text("work-canary")
                assert "main-canary" not in page.text()


BUBBLES = (
    "[...document.querySelectorAll('.message')]"
    ".map((one) => [one.classList[1], one.querySelector('.bubble').innerText])"
)
"""Who speaks in each bubble, and its text."""

SESSION = "0199a213-81c4-7000-8000-000000000001"


def test_a_conversation_opens_as_bubbles_with_its_title_project_day_and_program(browser: Browser) -> None:
    with StateHome(KEYWORD_SEARCH) as home:
        user = home.root / "user"
        user.mkdir()
        program = claude_code(user)
        program.append(SESSION, "user", "Why does the **cormorant** dive?")
        program.append(SESSION, "assistant", "For fish: <img src=x onerror=alert(1)> `eel`")
        for turn in range(70):
            program.append(SESSION, "user", f"Question {turn}")
            program.append(SESSION, "assistant", f"Answer {turn}")
        (home.root / "memd.toml").write_text("[sources.claude-code]\n")
        with DaemonProcess(home, {"HOME": str(user)}) as daemon, daemon.client() as client:
            client.index()
            with open_page(browser, daemon) as page:
                search_for(page, "cormorant")
                assert page.text(".hit h3") == "Why does the cormorant dive?"
                page.click(".hit .open")
                page.wait("document.querySelector('.bubble')")

                assert page.text(".reader h2") == "Why does the cormorant dive?"
                head = page.text(".reader header")
                assert SESSION not in head.replace(f"claude --resume {SESSION}", "")
                for words in ("Claude Code", "shop (main)", "2 Nov 2026", "messages 1 to", "of 142"):
                    assert words in head
                said = page.run(BUBBLES)
                assert said[:2] == [
                    ["user", "Why does the cormorant dive?"],
                    ["assistant", "For fish: <img src=x onerror=alert(1)> eel"],
                ]
                assert page.run("document.querySelectorAll('.message.found').length") > 0
                assert "User" in page.text(".message.user .speaker")

                shown = len(said)
                page.click(".reader .more", "below")
                page.wait(f"document.querySelectorAll('.message').length > {shown}")
                page.send("Page.reload")
                page.wait("document.querySelector('.reader .bubble')")
                assert page.run(BUBBLES)[0] == ["user", "Why does the cormorant dive?"]
                assert page.complaints == []
                program.delete(SESSION)
                client.index()
                page.wait_text("no conversation")


def test_a_hit_in_a_transcript_opens_the_conversation_around_it(browser: Browser) -> None:
    search = {"provider": "none", "sources": ["memory", "sessions"], "experimental": {"sessionMemory": True}}
    with StateHome({"agents": {"defaults": {"memorySearch": search}}}) as home:
        records = conversation("s1", 40)
        records.append(message("user", "And the cormorant?"))
        file = TranscriptHome(home.state).write_file("s1", records)
        os.utime(file, (1_767_607_200, 1_767_607_200))
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            with open_page(browser, daemon) as page:
                page.wait_text("Nothing remembered yet")  # transcripts are no notes
                search_for(page, "cormorant")
                choose(page, "source", "*conversations")
                page.wait("document.querySelector('.filter.chosen')")
                page.click(".hit .open")

                page.wait("document.querySelector('.message.found')")
                assert page.text(".reader h2") == "Question 0 of s1"
                assert "OpenClaw" in page.text(".reader header")
                assert "5 Jan 2026" in page.text(".reader header")
                assert page.run(BUBBLES)[-2:] == [
                    ["assistant", "Answer 39 of s1"],
                    ["user", "And the cormorant?"],
                ]
                page.click(".reader .more", "above")
                page.wait("document.querySelectorAll('.message').length === 81")
                assert page.run(BUBBLES)[0] == ["user", "Question 0 of s1"]


def test_a_failing_provider_is_shown_with_a_hint(browser: Browser) -> None:
    dead = {"provider": "openai", "remote": {"baseUrl": "http://127.0.0.1:9/v1", "apiKey": "none"}}
    with memory_home({"agents": {"defaults": {"memorySearch": dead}}}) as (_, daemon):
        status = daemon.wait_for(lambda status: status.agents[0].degraded is not None)
        degraded = status.agents[0].degraded
        assert degraded is not None
        with open_page(browser, daemon) as page:
            search_for(page, "gateway port")
            page.wait_text("This answer is less than the whole")
            assert degraded.hint in page.text("main")
            assert "8443" in page.text(".hit")  # keyword search still finds it

            page.press("Escape", "Escape")
            go_to(page, "health")
            page.wait_text("Keyword search continues")
            assert "Degraded" in page.text(".verdict")
