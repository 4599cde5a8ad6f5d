"""A workspace of folders nested deeper than any path may be long: its notes are found, and nothing fails of it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.daemon import DaemonProcess
from tests.support.homes import StateHome

DEPTH = 1500
SETTINGS = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}


@pytest.fixture
def home() -> Iterator[StateHome]:
    with StateHome(SETTINGS) as made:
        made.note("MEMORY.md", "# Lease\n\nThe lease ends in May.\n")
        yield made
        subprocess.run(["rm", "-rf", str(made.workspace())], check=True)  # Python's own way is recursive


@contextmanager
def nested(folder: Path) -> Iterator[int]:
    """Nest folders and give a descriptor of the deepest."""
    folder.mkdir(exist_ok=True)
    here = os.open(folder, os.O_RDONLY)
    for _ in range(DEPTH):
        os.mkdir("nested", dir_fd=here)
        there = os.open("nested", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = there
    try:
        yield here
    finally:
        os.close(here)


def write(folder: int, text: str) -> None:
    note = os.open("note.md", os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600, dir_fd=folder)
    os.write(note, text.encode())
    os.close(note)


def test_a_note_below_fifteen_hundred_folders_is_found_and_followed(home: StateHome) -> None:
    with (
        nested(home.workspace() / "memory") as deepest,
        DaemonProcess(home) as daemon,
        daemon.client(timeout_s=60) as client,
    ):
        write(deepest, "The harbour opens at six.\n")
        daemon.wait_for(lambda status: status.agents[0].files == 2)
        [hit] = client.search("harbour").hits
        assert len(hit.path) > os.pathconf("/", "PC_PATH_MAX")

        write(deepest, "The bakery opens at five.\n")

        assert [found.path for found in client.search("bakery", deadline_ms=20_000).hits] == [hit.path]
        assert client.search("harbour", deadline_ms=20_000).hits == []
        assert client.get(hit.path).text == "The bakery opens at five.\n"
        assert [found.path for found in client.search("lease").hits] == ["MEMORY.md"]
        assert not [event for event in daemon.events() if event.get("level") == "error"]
