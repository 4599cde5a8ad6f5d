"""The page's health view of an agent with a remote: its machines and conflicts."""

from __future__ import annotations

import shutil

import pytest

from tests.support.chromium import Browser
from tests.support.chromium_page import open_page
from tests.support.machines import connect, machines, settle


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_health_shows_machines_and_conflicts_until_they_are_settled(browser: Browser) -> None:
    with machines(2) as ((laptop, server), repository):
        laptop.note("MEMORY.md", "- tea\n")
        connect([laptop, server], repository.url)
        laptop.note("MEMORY.md", "- green tea\n")
        server.note("MEMORY.md", "- black tea\n")
        laptop.remote("sync")
        server.remote("sync")
        settle([laptop, server])
        [conflict] = laptop.status().conflicts

        with open_page(browser, laptop.daemon, view="health") as page:
            page.wait("document.querySelector('.health')?.textContent.includes('Conflicts to resolve')")
            text = str(page.run("document.querySelector('.health').textContent"))
            assert f"{conflict.path}: lines of {conflict.machine} that conflict with MEMORY.md" in text
            for machine in (laptop, server):
                assert machine.status().machine in text
            assert "in sync" in text
            laptop.remote("resolve")
            laptop.remote("sync")
            page.wait("!document.querySelector('.health').textContent.includes('Conflicts to resolve')")
