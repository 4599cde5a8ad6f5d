"""What hostile notes, other origins and the network can do to the page of `memctl web`: nothing."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

from tests.support.chromium import Browser, Page
from tests.support.chromium_page import go_to, open_page, search_for
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

Running = tuple[StateHome, DaemonProcess]

LURE = "http://127.0.0.1:1/lure"
"""The target of hostile text, which must get no request."""

MARKUP = f"""# <script>document.title = 'taken'</script> Kingfisher <b>report</b>

<img src="{LURE}.png" onerror="document.title = 'taken'"> <script src="{LURE}.js"></script> kingfisher
<iframe src="{LURE}"></iframe> <style>body {{ display: none }}</style> <svg onload="alert(1)"></svg>
[kingfisher](javascript:alert(2)) ![pixel]({LURE}.gif) ${{alert(3)}} {{{{7*7}}}} <!-- kingfisher comment
"""

UNSEEN = (
    "kingfisher \u202eexe.gpj\u202c and \u2066isolated\u2069\n"
    "king\u200bfisher zero\u200dwidth \ufeffmark \u00adsoft\n"
    "ansi \x1b[31mred\x1b[0m bell\x07 tag\U000e0041 filler\u3164 selector\ufe0f\n"
    "family 👨\u200d👩\u200d👧 and heart ❤\ufe0f stay whole\n"
)


def walk(page: Page, question: str = "kingfisher") -> None:
    """Look at everything there is to see: each view, hits explained, a file opened."""
    page.wait("document.querySelector('.note')")
    search_for(page, question)
    page.wait("document.querySelector('.hit')")
    page.press("ArrowDown", "e")
    page.wait("document.querySelector('.explain')")
    page.press("Enter")
    page.wait("document.querySelector('.reader .said')")
    page.press("Escape")
    go_to(page, "facts")
    page.wait("document.querySelector('#remember')")
    go_to(page, "health")
    page.wait_text("Freshness")
    page.press("1")
    page.wait("document.querySelector('.note')")


def hosts(page: Page) -> set[str]:
    """Return the hosts and ports that the page asked for anything."""
    return {urlsplit(url).netloc for url in page.requests if not url.startswith(("data:", "about:"))}


def test_nothing_the_page_does_leaves_its_own_origin(browser: Browser, running: Running) -> None:
    _, daemon = running
    with open_page(browser, daemon) as page:
        own = page.run("location.host")
        walk(page, "gateway port")

        assert hosts(page) == {own}
        assert own.startswith("127.0.0.1:")
        assert page.complaints == []


def test_markup_in_a_note_is_text(browser: Browser, running: Running) -> None:
    home, daemon = running
    home.note("memory/2026-03-07.md", MARKUP)
    home.note("memory/<img src=x onerror=alert(4)>.md", "kingfisher in a file of a strange name\n")
    with daemon.client() as client:
        client.memory_store("kingfisher <img src=x onerror=alert(5)>")
    with open_page(browser, daemon) as page:
        walk(page)

        assert page.dialogs == []
        assert page.run("document.title") == "memd"
        assert hosts(page) == {page.run("location.host")}
        inserted = (
            "main img, main script, main iframe, main style, main b, main a[href^=javascript], .reader img"
        )
        assert page.run(f"document.querySelectorAll({inserted!r}).length") == 0
        search_for(page, "kingfisher report")
        assert "<script>document.title = 'taken'</script> Kingfisher <b>report</b>" in page.text(".hit")
        go_to(page, "facts")
        page.wait_text("kingfisher <img src=x onerror=alert(5)>")
        assert page.complaints == []


def test_characters_that_hide_or_turn_text_are_shown_by_name(browser: Browser, running: Running) -> None:
    home, daemon = running
    home.note("memory/2026-03-07.md", UNSEEN)
    with open_page(browser, daemon) as page:
        page.click(".note .open", "2026-03-07.md")
        page.wait("document.querySelector('.reader .said')")

        names = page.run("[...document.querySelectorAll('.reader .control')].map((one) => one.textContent)")
        assert names == [
            *("RLO", "PDF", "LRI", "PDI"),
            *("ZWSP", "ZWJ", "BOM", "SHY"),
            *("ESC", "ESC", "BEL", "U+E0041", "U+3164", "U+FE0F"),
        ]
        page.click(".reader .choices button", "Source")
        page.wait("document.querySelectorAll('.reader .line').length >= 4")
        assert names == page.run(
            "[...document.querySelectorAll('.reader .control')].map((one) => one.textContent)"
        )
        left = page.run(r"/[\u202a-\u202e\u2066-\u2069\u200b\ufeff\x1b]/.test(document.body.textContent)")
        assert left is False
        assert "👨\u200d👩\u200d👧 and heart ❤\ufe0f stay whole" in page.text(".reader")
        directions = page.run(
            "[...document.querySelectorAll('.reader .said')].every((one) => one.dir === 'auto'"
            " && getComputedStyle(one).unicodeBidi === 'isolate')"
        )
        assert directions is True


def test_a_huge_line_is_cut_and_the_page_stays_within_the_screen(browser: Browser, running: Running) -> None:
    home, daemon = running
    home.note(
        "memory/2026-03-08.md", "# Long\n\n" + "x" * 1_000_000 + "\n" + "Z\u0335\u0321\u034d" * 400 + "\n"
    )
    with open_page(browser, daemon, width=390, height=800, phone=True) as page:
        page.wait("document.querySelector('.note')")
        assert page.run("document.documentElement.scrollWidth <= innerWidth")
        page.click(".note .open", "Long")
        page.wait_text("more characters in this line")

        assert page.run("document.querySelector('.reader .body').scrollWidth <= innerWidth")
        assert page.run("document.body.textContent.length < 30000")


def test_what_gets_into_the_page_anyway_is_not_run(browser: Browser, running: Running) -> None:
    _, daemon = running
    with open_page(browser, daemon) as page:
        page.run(
            f"""(() => {{
                const script = document.createElement("script");
                script.textContent = "window.taken = 1";
                const picture = document.createElement("img");
                picture.setAttribute("onerror", "window.taken = 2");
                picture.src = "{LURE}.png";
                document.body.append(script, picture);
            }})()"""
        )
        refused = f"fetch('{LURE}').then(() => 'sent', () => 'refused')"
        assert page.run(refused) == "refused"
        assert page.run("window.taken") is None
        assert any("Content Security Policy" in said for said in page.complaints)


def test_nothing_is_kept_in_the_browser(browser: Browser, running: Running) -> None:
    _, daemon = running
    with open_page(browser, daemon) as page:
        walk(page, "gateway port")

        assert page.run("document.cookie") == ""  # the session is out of every script's reach
        assert page.run("localStorage.length + sessionStorage.length") == 0
        assert page.run("indexedDB.databases().then((found) => found.length)") == 0
        entries = page.send("Page.getNavigationHistory")["entries"]
        addresses = [urlsplit(entry["url"]) for entry in entries]
        assert len(addresses) > 5
        assert not any(address.query or "port" in address.fragment for address in addresses)
        allowed = {"agent", "view", "file", "lines"}  # no query is in the history
        assert all(set(parse_qs(address.fragment)) <= allowed for address in addresses)
        assert page.run("location.pathname + location.search") == "/"


@contextmanager
def other_origin() -> Iterator[str]:
    """Serve an empty page from another port of this machine, which shares cookies with the daemon's page."""

    class Empty(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>elsewhere</title><body>")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join(120)


ATTACKS = """
(async () => {
    const got = {};
    const text = (answer) => answer.text();
    const no = () => "nothing";
    const post = {method: "POST", credentials: "include", body: '{"query": "gateway"}'};
    got.session = await fetch("ORIGIN/api/session", {credentials: "include"}).then(text, no);
    const json = {"Content-Type": "application/json", "X-Memd": "1"};
    got.search = await fetch("ORIGIN/api/search", {...post, headers: json}).then(text, no);
    const plain = {"Content-Type": "text/plain"};
    got.simple = await fetch("ORIGIN/api/search", {...post, headers: plain}).then(text, no);
    got.blind = await fetch("ORIGIN/api/memory_forget", {...post, mode: "no-cors"}).then(text, no);
    got.events = await new Promise((done) => {
        const source = new EventSource("ORIGIN/api/events", {withCredentials: true});
        source.onopen = source.onmessage = () => done("events");
        source.onerror = () => done("nothing");
    });
    got.script = await new Promise((done) => {
        const script = document.createElement("script");
        script.onload = () => done("script");
        script.onerror = () => done("nothing");
        script.src = "ORIGIN/static/js/main.js";
        document.body.append(script);
    });
    got.frame = await new Promise((done) => {
        const frame = document.createElement("iframe");
        frame.onload = () => done(frame.contentDocument?.body.innerText || "nothing");
        frame.src = "ORIGIN/";
        document.body.append(frame);
    });
    return got;
})()
"""


def test_a_page_of_another_origin_gets_nothing(browser: Browser, running: Running) -> None:
    _, daemon = running
    with open_page(browser, daemon) as page, other_origin() as elsewhere:
        origin = page.run("location.origin")
        own = page.run("fetch('/api/session', {headers: {'X-Memd': '1'}}).then((answer) => answer.json())")
        assert own["agents"] == ["main"]  # so what follows isn't refused for want of a session
        page.go(elsewhere)  # in the same browser, so with the session's cookie within reach
        page.wait("document.title === 'elsewhere'")

        got = page.run(ATTACKS.replace("ORIGIN", origin))
        blind = got.pop("blind")
        assert set(got.values()) == {"nothing"}
        assert blind in ("", "nothing")
        reached = page.answers[[url for url, _ in page.answers].index(elsewhere) :]
        assert {status for url, status in reached if url.startswith(origin)} == {403}
    with daemon.client() as client:
        assert client.facts().total == 2
