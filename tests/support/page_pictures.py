"""Pictures of the page for docs/page.md, of the sample memory; `scripts/page_pictures` takes them.

The page's clock and the file times are fixed, so that pictures differ only if the program does. The text in a picture
is stored in its file, so that a test can compare it with the page.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import sys
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

from memd.sample import copy_sample
from memd_client.messages import StatusReply
from tests.support.chromium import Browser, Page
from tests.support.chromium_page import go_to, open_page, search_for
from tests.support.daemon import DaemonProcess
from tests.support.models import minilm_path
from tests.support.page_programs import Turn, write_claude_code, write_codex
from tests.support.state_homes import StateHome
from tests.support.tree import DOCS

FOLDER: Final = DOCS / "page"
SAMPLE: Final = Path("/tmp/memd-sample")
"""Folder of the sample in the pictures; Health shows it."""

WIDTH, HEIGHT = 1280, 860
QUERY: Final = "how many calls a minute may an API key make"
NOW_MS: Final = int(datetime(2026, 6, 29, 17, 30, tzinfo=UTC).timestamp() * 1000)
"""The day of the sample's last note."""

SETTINGS: Final = """
vector_ram_mb = 512
model_ram_mb = 1000
exclude = ["/home/mara/private"]

[sources.claude-code]
keep = true

[sources.codex]
"""
"""Budgets independent of the machine's RAM, and the programs whose conversations are read."""

SERVER: Final = '{"mcpServers": {"memd": {"type": "stdio", "command": "memctl", "args": ["mcp"]}}}'
"""Settings of Claude Code with memd's server."""

ASKED: Final = (
    ("2026-06-29T13:05", write_codex, "api", "Why do API keys get 429 after 50 calls a minute?", 6),
    ("2026-06-29T08:40", write_claude_code, "invoices", "Round credit notes half even", 22),
    (
        "2026-06-26T15:10",
        write_claude_code,
        "api",
        "Retries of the order mails: how often, and how long apart?",
        14,
    ),
    ("2026-06-24T09:20", write_codex, "infra", "Move the staging gateway to port 8443", 9),
    ("2026-05-18T10:00", write_claude_code, "api", "Write a test for expired sessions", 17),
    ("2026-03-12T11:30", write_claude_code, "api", "Plan the retries of webhooks", 31),
)
"""Conversations of the sample: when they began, their program and project, the first request, further messages."""

ANSWER: Final = """The limit counts calls of the last minute, but the gateway counts them twice: once before TLS ends.

```python
limit = RateLimit(calls=100, per_s=60)
```

With this change a key may make 100 calls a minute again."""

FACTS: Final = """# Facts

- Mara prefers meetings after ten <!-- fact id=01K0SAMPLE0MEETING importance=0.7 category=preference created=2026-05-04T09:00:00Z -->
- Elsa starts school on 18 August <!-- fact id=01K0SAMPLE00SCHOOL importance=0.9 category=fact created=2026-06-02T07:30:00Z -->
- Tomas keeps the list of code to remove <!-- fact id=01K0SAMPLE0000LIST importance=0.6 category=entity created=2026-06-29T15:10:00Z -->
"""  # noqa: E501

MEASURED: Final = re.compile(r"\d[\d.,]*\s(?:ms|s|min|h|B|kB|MB|GB)\b|\d\.\d\d+")
"""Measured values: durations, sizes and scores."""

VISIBLE_TEXT: Final = """
(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const seen = [];
    const range = document.createRange();
    while (texts.nextNode()) {
        range.selectNodeContents(texts.currentNode);
        const box = range.getBoundingClientRect();
        const isSeen = box.width > 0 && box.bottom > 0 && box.top < innerHeight && box.right > 0;
        if (isSeen && texts.currentNode.parentElement.checkVisibility()) seen.push(texts.currentNode.data);
    }
    return seen.join(" ");
})()
"""
"""Script that returns the visible text."""

READ: Final = """
document.querySelector('.note .excerpt') && [...document.querySelectorAll('.note')].every((note) =>
    note.getBoundingClientRect().top > innerHeight || note.querySelector('.excerpt'))
"""
"""Script that returns whether the first lines of all visible notes are loaded."""

KEYWORD: Final = b"Description"


class SampleHome(StateHome):
    """The sample memory in a given folder, with its own facts."""

    def __init__(self, root: Path) -> None:
        self.root = self.state = root
        self.socket = root / "run" / "memd.sock"
        root.mkdir(mode=0o700)
        copy_sample(root)
        (root / "memd.toml").write_text(SETTINGS)
        self._add_conversations(root / "user")
        self.note("memory/facts.md", FACTS)
        for path in root.rglob("*.md"):
            day = re.match(r"\d{4}-\d\d-\d\d", path.name)
            written = f"{day[0] if day else '2026-06-24'}T16:00:00+00:00"
            at_s = datetime.fromisoformat(written).timestamp()
            os.utime(path, (at_s, at_s))

    @staticmethod
    def _add_conversations(user: Path) -> None:
        """Write the conversations of two programs below a user's home."""
        for number, (begin, write, project, request, length) in enumerate(ASKED):
            turns = [
                Turn("user", request),
                Turn("assistant", ANSWER),
                Turn("user", "Thanks. Does the old limit stay?"),
            ]
            turns += [
                Turn("assistant" if at % 2 == 0 else "user", f"Step {at + 1} is done.")
                for at in range(length - 2)
            ]
            start = datetime.fromisoformat(f"{begin}:00+00:00")
            write(user, f"0199a213-81c4-7000-8000-{number:012}", f"/home/mara/{project}", start, turns)
        (user / ".claude.json").write_text(SERVER)
        at_s = datetime.fromisoformat("2026-06-29T16:00:00+00:00").timestamp()
        for path in user.rglob("*.jsonl"):
            os.utime(path, (at_s, at_s))


class Picture(NamedTuple):
    """One picture: its name, its color scheme, and the steps before it is taken."""

    name: str
    is_dark: bool
    prepare: Callable[[Page], None]


def _notes(page: Page) -> None:
    page.wait(READ)


def _reader(page: Page) -> None:
    page.click(".note .open", "Retrospective")
    page.wait("document.querySelector('.rendered ol')")
    _notes(page)


def _search(page: Page) -> None:
    search_for(page, QUERY)
    page.click(".choices button", "This agent")  # of the other one the browser may lack the letters
    page.wait("document.querySelector('.choices [aria-pressed=true]').innerText === 'This agent'")
    page.wait("document.querySelector('.hit') && !document.querySelector('.chip.agent')")
    page.press("/")
    page.press("ArrowDown", "e")
    page.wait("document.querySelector('.explain')")
    page.run("scrollTo(0, 0)")


def _facts(page: Page) -> None:
    go_to(page, "facts")
    page.wait("document.querySelectorAll('[data-fact]').length === 3")
    page.press("j", "j", "f")
    page.wait("document.querySelector('.sure')")


def _conversations(page: Page) -> None:
    go_to(page, "conversations")
    page.wait(f"document.querySelectorAll('.listed').length === {len(ASKED)}")


def _conversation(page: Page) -> None:
    _conversations(page)
    page.click(".listed .open", "Why do API keys")
    page.wait("document.querySelector('.bubble .code')")


def _health(page: Page) -> None:
    go_to(page, "health")
    page.wait_text("Who is given memory")


PICTURES: Final = (
    Picture("search-light", False, _search),
    Picture("search-dark", True, _search),
    Picture("notes-light", False, _notes),
    Picture("conversations-light", False, _conversations),
    Picture("conversation-dark", True, _conversation),
    Picture("facts-dark", True, _facts),
    Picture("health-light", False, _health),
    Picture("reader-light", False, _reader),
)


def take_pictures(browser: Browser, sample: Path, folder: Path) -> None:
    """Take all pictures."""
    cache = str(minilm_path().parents[2])
    environ = {
        "HOME": str(sample / "user"),
        "CODEX_HOME": "",
        "CLAUDE_CONFIG_DIR": "",
        "TZ": "UTC",
        "XDG_CACHE_HOME": cache,
    }
    with SampleHome(sample) as home, DaemonProcess(home, environ) as daemon:
        daemon.wait_for(_is_ready)
        for picture in PICTURES:
            with open_page(
                browser, daemon, dark=picture.is_dark, width=WIDTH, height=HEIGHT, at_ms=NOW_MS
            ) as page:
                picture.prepare(page)
                path = folder / f"{picture.name}.png"
                page.screenshot(path)
                path.write_bytes(_described(path.read_bytes(), shown_text(page, home.state)))


def _is_ready(status: StatusReply) -> bool:
    """Return whether all notes are indexed and embedded."""
    return len(status.agents) == 2 and all(
        agent.vectors > 0 and agent.chunks_pending + agent.files_pending == 0 for agent in status.agents
    )


def shown_text(page: Page, sample: Path) -> str:
    """Return the visible text without values that differ between runs."""
    text = str(page.run(VISIBLE_TEXT)).replace(str(sample), str(SAMPLE))
    return MEASURED.sub("#", " ".join(text.split()))


def _described(png: bytes, text: str) -> bytes:
    """Return a picture with a text stored in it (a tEXt chunk before its end; escaped beyond Latin-1)."""
    data = KEYWORD + b"\0" + text.encode("latin-1", "backslashreplace")
    checksum = struct.pack(">I", zlib.crc32(b"tEXt" + data))
    end = png.index(b"IEND") - 4
    return png[:end] + struct.pack(">I", len(data)) + b"tEXt" + data + checksum + png[end:]


def description_of(png: bytes) -> str:
    """Return the text stored in a picture."""
    at = png.index(b"tEXt" + KEYWORD + b"\0")
    (size,) = struct.unpack(">I", png[at - 4 : at])
    return png[at + 4 : at + 4 + size].partition(b"\0")[2].decode("latin-1")


def size_of(png: bytes) -> tuple[int, int]:
    """Return a picture's width and height."""
    width, height = struct.unpack(">II", png[16:24])
    return width, height


if __name__ == "__main__":
    shutil.rmtree(SAMPLE, ignore_errors=True)
    with Browser() as chromium:
        take_pictures(chromium, SAMPLE, FOLDER)
    sys.stdout.write(f"{len(PICTURES)} pictures are in {FOLDER}\n")
