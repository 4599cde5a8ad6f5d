"""An index that is lost while it is open comes back by itself; an agent that can't be opened is tried again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memd_client.errors import MemdError
from tests.support.daemon import DaemonProcess
from tests.support.homes import StateHome
from tests.support.sockets import wait_until

BY_WORDS: dict[str, Any] = {
    "agents": {"defaults": {"memorySearch": {"provider": "none", "sync": {"watch": False}}}}
}


def spoil(index: Path) -> None:
    """Overwrite everything in an index behind its first page."""
    size = index.stat().st_size
    with index.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    for log in (index.with_name(index.name + "-wal"),):
        log.write_bytes(b"")


def test_an_index_that_is_damaged_while_it_is_open_is_set_aside_and_rebuilt() -> None:
    with StateHome(BY_WORDS) as home:
        for number in range(200):
            home.note(f"memory/{number:03d}.md", f"entry {number} about apples\n\n" + f"word{number} " * 300)
        index = home.state / "memory" / "main.memd.sqlite"
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            before = client.status().agents[0].chunks
            client.vacuum()  # what is still in the log would go with it, and nothing in the file be damaged

            spoil(index)
            for number in range(200):  # pages that are in memory still answer; others are met sooner or later
                client.search(f"word{number}")
            wait_until(lambda: "agent.reopened" in {event["event"] for event in daemon.events()})

            done = daemon.wait_for(lambda status: status.agents[0].chunks == before)
            assert done.agents[0].files == 200
            assert client.search("word77").hits[0].path == "memory/077.md"
            assert len(list(index.parent.glob("main.memd.sqlite.corrupt-*"))) == 1


def test_an_agent_that_could_not_be_opened_is_opened_once_it_can_be() -> None:
    with StateHome(BY_WORDS) as home:
        home.note("memory/a.md", "apples are red\n")
        index = home.state / "memory" / "main.memd.sqlite"
        index.mkdir(parents=True)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            with pytest.raises(MemdError) as caught:
                client.search("apples")
            assert caught.value.code == "index_io"
            assert [problem.code for problem in client.status().agents[0].problems] == ["index_io"]

            index.rmdir()

            wait_until(lambda: not client.status().agents[0].problems)
            assert client.search("apples").hits
