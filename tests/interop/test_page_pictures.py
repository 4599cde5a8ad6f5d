"""The pictures of docs/page.md show the present page with the sample memory."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from tests.support.chromium import Browser
from tests.support.page_pictures import (
    FOLDER,
    HEIGHT,
    PICTURES,
    WIDTH,
    description_of,
    size_of,
    take_pictures,
)
from tests.support.tree import DOCS

NAMES = sorted(f"{picture.name}.png" for picture in PICTURES)


def test_the_page_of_the_documentation_shows_each_picture() -> None:
    shown = re.findall(r"\(page/([^)]+\.png)\)", (DOCS / "page.md").read_text())

    assert sorted(shown) == NAMES == sorted(path.name for path in FOLDER.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_shows_the_sample_and_nothing_of_the_machine_it_was_taken_on(name: str) -> None:
    png = (FOLDER / name).read_bytes()
    text = description_of(png)

    assert size_of(png) == (WIDTH, HEIGHT)
    assert "memd" in text
    assert set(re.findall(r"/(?:home|root|Users|tmp|var|work)\b[^\s,)]*", text)) <= {
        "/tmp/memd-sample/workspace",
        "/tmp/memd-sample/user/.claude/projects",
        "/tmp/memd-sample/user/.codex",
        "/home/mara/private",
        "/home/mara/api",
    }
    assert str(Path.home()) not in text
    assert socket.gethostname() not in text


@pytest.mark.long
@pytest.mark.model
def test_the_pictures_show_what_the_page_says_now(browser: Browser, tmp_path: Path) -> None:
    take_pictures(browser, Path(f"/tmp/memd-{tmp_path.name[-20:]}-{id(tmp_path):x}"), tmp_path)

    for name in NAMES:  # if this fails after a change of the page: scripts/page_pictures
        taken, kept = (description_of((folder / name).read_bytes()) for folder in (tmp_path, FOLDER))
        assert taken == kept, name
