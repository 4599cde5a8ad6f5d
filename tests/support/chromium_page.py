"""The daemon's page in a browser, over a memory on disk."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.chromium import Browser, Page
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome

KEYWORD_SEARCH: dict[str, Any] = {
    "agents": {"defaults": {"memorySearch": {"provider": "none", "sync": {"watchDebounceMs": 50}}}}
}

GATEWAY = """# Deploying the gateway

The staging gateway now listens on port 8443 instead of 8080.
Caddy terminates TLS.

## Decisions

- Keep the old port open until Friday (POL-358).
- Martine owns the firewall rule.
"""
REVIEW = "# Kestrel review\n\nTwo blockers left: the rounding of credit notes and the export.\n"
FACTS = """# Facts

- I prefer dark mode <!-- fact id=01KAN8ZT40DARK importance=0.8 category=preference created=2026-03-01T10:00:00Z -->
- Anna's birthday is on 14 May <!-- fact id=01KAN8ZT41ANNA importance=0.7 category=fact created=2026-03-02T10:00:00Z -->
"""
GARDEN = "# Garden\n\nTomatoes need twice the water this week.\n"

NOTES = {
    "memory/2026-03-04.md": GATEWAY,
    "memory/2026-03-02.md": REVIEW,
    "memory/2026-02-11.md": GARDEN,
    "memory/facts.md": FACTS,
}
"""Three dated notes and two facts."""

FIXED_CLOCK = """
(() => {
    const real = Date;
    const ahead = OPENED_AT - real.now();
    globalThis.Date = class extends real {
        constructor(...given) { super(...(given.length ? given : [real.now() + ahead])); }
        static now() { return real.now() + ahead; }
    };
})()
"""


@contextmanager
def memory_home(config: dict[str, Any] | None = None) -> Iterator[tuple[StateHome, DaemonProcess]]:
    """Run a daemon over the notes in `NOTES`."""
    with StateHome(config or KEYWORD_SEARCH) as home:
        for name, text in NOTES.items():
            home.note(name, text)
        with DaemonProcess(home) as daemon:
            yield home, daemon


def restore(home: StateHome, daemon: DaemonProcess) -> None:
    """Restore `NOTES` and wait until the daemon has indexed them."""
    home.clear()
    for name, text in NOTES.items():
        home.note(name, text)
    with daemon.client() as client:
        client.index()


@contextmanager
def open_page(
    browser: Browser,
    daemon: DaemonProcess,
    *,
    agent: str | None = None,
    view: str = "",
    at_ms: int | None = None,
    **screen: Any,
) -> Iterator[Page]:
    """Open the page as `memctl web` does, and wait until it has loaded."""
    with daemon.client() as client:
        url = client.open_page(agent).url
    with browser.page(**screen) as page:
        if at_ms is not None:
            clock = FIXED_CLOCK.replace("OPENED_AT", str(at_ms))
            page.send("Page.addScriptToEvaluateOnNewDocument", {"source": clock})
        page.go(url)
        page.wait("document.querySelector('.freshness b').textContent !== 'Asking…'")
        if view:
            page.run(f"location.hash = 'view={view}'")
            page.wait(f"document.querySelector('.tabs [aria-current=page]').dataset.view === {view!r}")
        yield page


def go_to(page: Page, view: str) -> None:
    """Go to a view by its key, from wherever the focus is."""
    page.run("document.activeElement?.blur()")
    key = page.run(f"document.querySelector('.tabs [data-view={view}]').getAttribute('aria-keyshortcuts')")
    page.press(key)
    page.wait(f"document.querySelector('.tabs [aria-current=page]').dataset.view === {view!r}")


def choose(page: Page, name: str, value: str) -> None:
    """Choose a value of a filter of the view."""
    page.wait(f"document.querySelector('[data-filter={name}] option[value={json.dumps(value)}]')")
    page.run(
        f"(() => {{ const list = document.querySelector('[data-filter={name}]'); list.value = {json.dumps(value)};"
        " list.dispatchEvent(new Event('change')); })()"
    )


def search_for(page: Page, question: str) -> None:
    """Search with the keyboard and wait for the hits."""
    page.press("/")
    page.wait("document.activeElement.id === 'query'")
    page.select_all()
    page.type(question)
    page.press("Enter")
    page.wait(
        f"document.getElementById('query').value === {question!r}"
        " && /hits? by|Nothing/.test(document.querySelector('main').innerText)"
    )
