"""Command sessions in the docs match the current output of the commands."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.models import minilm_path
from tests.support.scripts import load_script

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(sys.platform == "darwin", reason="the pages show the folders of Linux"),
]

DOC = load_script("session_doc")
GETTING_STARTED = DOC.PAGES[-1]


@pytest.fixture(scope="module")
def shell() -> Iterator[Any]:
    """A home with the sample indexed; runs all commands of all pages in order."""
    minilm_path()
    with DOC.Shell() as shell:
        yield shell


@pytest.mark.parametrize("page", DOC.PAGES, ids=lambda page: page.name)
def test_page_shows_the_output_of_its_commands(page: Path, shell: Any) -> None:
    text = page.read_text("utf-8")

    assert DOC.BLOCK.search(text)
    assert DOC.render(text, shell) == text, "run scripts/session_doc"


def test_first_screen_of_setup_is_what_it_prints() -> None:
    minilm_path()
    text = GETTING_STARTED.read_text("utf-8")
    with DOC.Shell("agents") as agents:
        assert DOC.render(text, agents, "agents") == text, "run scripts/session_doc"


def test_python_of_the_first_session_finds_the_note(shell: Any) -> None:
    code = re.findall(r"```python\n(.*?)```", GETTING_STARTED.read_text("utf-8"), re.DOTALL)
    exports = re.sub("~", "$HOME", "; ".join(re.findall("export .*", shell.run("memctl sample"))))

    assert len(code) == 1
    assert "memory/2026-03-09.md" in shell.run(f"{exports}; python <<'END'\n{code[0]}\nEND")


@pytest.mark.long
def test_fresh_clone_searches_by_keywords_first_and_by_vectors_after_the_build() -> None:
    minilm_path()
    text = GETTING_STARTED.read_text("utf-8")
    with DOC.Shell("clone") as clone:
        shown = clone.run("scripts/run")
        again = clone.run("scripts/run")

    order = [shown.find(step) for step in ("1 hit · keyword", "Installing llama.cpp", "1 hit · hybrid")]
    assert -1 not in order, shown
    assert order == sorted(order)
    assert DOC.stable(shown) in DOC.stable(text), "run scripts/session_doc --long"
    assert "1 hit · hybrid" in again
    assert "Building" not in again
