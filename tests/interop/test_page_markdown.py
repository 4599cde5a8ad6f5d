"""Notes drawn as Markdown on the page: paragraphs joined, and everything in text nodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.chromium import Browser, Page
from tests.support.chromium_page import memory_home, open_page, search_for
from tests.support.daemon import DaemonProcess

LURE = "http://127.0.0.1:1/lure"
"""The target of links and pictures of a note, which must get no request."""

NOTE = """# Kestrel *plan*

The kestrel invoice run was moved to the
second Tuesday, since `credit_notes` round
**half even** now.

---

1. Ask Martine
   about the ledger
2. Ship
   - [x] schema
   - [ ] *export* of ~~old~~ rows

> Rounding is a
> policy, not a detail.

```sql
SELECT total
  FROM invoices -- **not bold**
```

| rate | since |
|------|-------|
| 19 % | 2026 |

内存换行
接着写。
"""

HOSTILE = f"""# <b>Osprey</b> \u202etxet\u202c

[osprey](javascript:alert(1)) and [site]({LURE}) ![pixel]({LURE}.gif) <{LURE}/auto>
<img src="{LURE}.png" onerror="document.title = 'taken'"> **<script>document.title = 'taken'</script>**

- <iframe src="{LURE}"></iframe> `<style>body {{ display: none }}</style>` king\u200bfisher
- <!-- osprey comment --> | x | ${{alert(2)}}
"""


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    with memory_home() as (home, daemon), daemon.client() as client:
        home.note("memory/2026-03-06.md", NOTE)
        home.note("memory/2026-03-07.md", HOSTILE)
        home.note("memory/2026-03-08.md", "# Nested\n\n" + "> " * 3000 + "deep\n\n" + "*a **b " * 5000)
        client.index()
        yield daemon


def texts(page: Page, selector: str) -> Any:
    """Return the text of each element of a selector."""
    return page.run(
        f"[...document.querySelectorAll({json.dumps(selector)})]"
        ".map((one) => one.innerText.trim().replace(/\\s+/g, ' '))"
    )


def test_a_note_is_drawn_as_markdown_and_as_source_on_demand(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, daemon) as page:
        page.click(".note .open", "Kestrel *plan*")
        page.wait("document.querySelector('.rendered .said')")

        assert texts(page, ".rendered [role=heading]") == ["Kestrel plan"]
        assert texts(page, ".rendered > p:not([role])") == [
            "The kestrel invoice run was moved to the second Tuesday, since credit_notes round half even now.",
            "内存换行接着写。",
        ]
        assert texts(page, ".rendered code") == ["credit_notes"]
        assert texts(page, ".rendered strong") == ["half even"]
        assert texts(page, ".rendered > ol > li > p") == ["Ask Martine about the ledger", "Ship"]
        assert texts(page, ".rendered ol ul > li") == ["☑ schema", "☐ export of old rows"]
        assert texts(page, ".rendered em, .rendered del") == ["plan", "export", "old"]
        assert texts(page, ".rendered blockquote") == ["Rounding is a policy, not a detail."]
        assert texts(page, ".rendered pre .said") == ["SELECT total", "FROM invoices -- **not bold**"]
        assert texts(page, ".rendered :is(th, td)") == ["rate", "since", "19 %", "2026"]
        assert page.run("document.querySelectorAll('.rendered > hr').length") == 1

        page.press("r")
        page.wait("document.querySelector('.reader .line')")
        assert page.text("[data-line='3'] .said") == "The kestrel invoice run was moved to the"
        page.press("Escape")
        page.click(".note .open", "Garden")
        page.wait("document.querySelector('.reader .line')")  # the choice stays
        page.click(".reader .choices button", "Rendered")
        page.wait("document.querySelector('.rendered .said')")
        assert page.complaints == []


def test_a_hit_opens_as_source_with_its_lines_and_marks_and_is_drawn_on_demand(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon) as page:
        search_for(page, "kestrel invoice second round")
        page.click(".hit .open", "Kestrel plan")
        page.wait("document.querySelector('.reader .line.found')")
        assert page.text("[data-line='4'] .said") == "second Tuesday, since `credit_notes` round"
        assert texts(page, ".reader [data-line='4'] mark") == ["second", "round"]

        page.click(".reader .choices button", "Rendered")
        page.wait("document.querySelector('.rendered .found')")
        assert {"kestrel", "invoice", "second"} <= set(texts(page, ".rendered p.found mark"))


def test_a_snippet_joins_the_lines_of_a_paragraph_and_keeps_marks(
    browser: Browser, daemon: DaemonProcess
) -> None:
    with open_page(browser, daemon) as page:
        search_for(page, "kestrel invoice run moved to the second")
        page.wait("document.querySelector('.hit')")

        line = ".hit [data-line='3']"
        assert "was moved to the second Tuesday, since `credit_notes` round **half even** now." in page.text(
            line
        )
        assert {"kestrel", "second"} <= set(texts(page, f"{line} mark"))
        assert page.run("document.querySelector(\".hit [data-line='4']\")") is None
        page.click("[data-fold]", "more line")
        page.wait("document.querySelector(\".hit [data-line='9']\")")
        assert page.text(".hit [data-line='9'] .said") == "1. Ask Martine about the ledger"


def test_markdown_of_a_hostile_note_makes_text_alone(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, daemon) as page:
        own = page.run("location.host")
        page.click(".note .open", "Osprey")
        page.wait("document.querySelector('.rendered .said')")

        made = "a, img, script, iframe, style, svg, b, [href], [src], [style], [onerror]"
        assert page.run(f"document.querySelectorAll('.rendered :is({made})').length") == 0
        shown = page.text(".rendered")
        assert "<script>document.title = 'taken'</script>" in shown
        assert "osprey javascript:alert(1)" in shown
        assert f"{LURE}.gif" in shown
        assert "<!-- osprey comment -->" in shown
        assert texts(page, ".rendered .control") == ["RLO", "PDF", "ZWSP"]
        isolated = page.run(
            "[...document.querySelectorAll('.rendered .said')].every((one) => one.dir === 'auto'"
            " && getComputedStyle(one).unicodeBidi === 'isolate')"
        )
        assert isolated is True
        page.click(".rendered .link")
        assert page.run("document.title") == "memd"
        assert {urlsplit(url).netloc for url in page.requests if url.startswith("http")} == {own}
        assert page.dialogs == []


def test_markdown_nested_without_end_is_drawn_at_once(browser: Browser, daemon: DaemonProcess) -> None:
    with open_page(browser, daemon) as page:
        page.click(".note .open", "Nested")
        page.wait("document.querySelector('.rendered blockquote')")

        assert page.run("document.querySelectorAll('.rendered blockquote').length") < 10
        assert page.run("document.querySelectorAll('.rendered *').length") < 2000
        assert page.complaints == []
