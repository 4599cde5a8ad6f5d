"""`store.path` may name anything: what is no index of memd, or is another agent's, is refused until it changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client import Client
from memd_client.messages import AgentStatus
from tests.support.daemon import DaemonProcess
from tests.support.homes import StateHome
from tests.support.sockets import wait_until

NOTE = "# Tea\n\nThe kettle is from 1962.\n"


def settings(home: StateHome, **paths: str) -> dict[str, Any]:
    """Return settings of the agents `main` and `work`, with `store.path` where one is given."""
    agents: list[dict[str, Any]] = [
        {"id": "main", "default": True},
        {"id": "work", "workspace": f"{home.state}/workspace-work"},
    ]
    for agent in agents:
        if agent["id"] in paths:
            agent["memorySearch"] = {"store": {"path": paths[agent["id"]]}}
    return {
        "agents": {
            "defaults": {"memorySearch": {"provider": "none", "sync": {"watch": False}}},
            "list": agents,
        }
    }


@pytest.fixture
def home() -> Iterator[StateHome]:
    with StateHome() as home:
        home.note("memory/a.md", "apples are red\n")
        home.note("memory/b.md", "bananas are yellow\n", "work")
        yield home


def status_of(client: Client, agent: str) -> AgentStatus:
    """Return an agent's status."""
    return next(each for each in client.status().agents if each.agent == agent)


def is_fine(client: Client, agent: str) -> bool:
    """Return whether an agent has no problem."""
    return not status_of(client, agent).problems


def test_a_note_at_store_path_is_a_problem_of_its_agent_and_heals_with_the_setting(home: StateHome) -> None:
    note = home.root / "my notes.txt"
    note.write_text(NOTE)
    facts = note.stat()
    home.configure(settings(home, work=str(note)))
    with DaemonProcess(home) as daemon, daemon.client() as client:
        problem = status_of(client, "work").problems[0]
        assert problem.code == "index_io"
        assert str(note) in problem.message
        assert "store.path" in problem.hint
        assert is_fine(client, "main")
        assert client.search("apples", agent="main").hits
        # when
        home.configure(settings(home, work="{agentId}-index.sqlite"))
        # then
        wait_until(lambda: is_fine(client, "work"))
        assert client.search("bananas", agent="work").hits
    assert note.read_text() == NOTE
    assert note.stat().st_mtime_ns == facts.st_mtime_ns
    assert sorted(os.listdir(home.root)) == ["daemon.log", "my notes.txt", "run", "state"]


def test_two_paths_to_one_file_never_share_an_index_at_start_or_after_a_reload(home: StateHome) -> None:
    (home.root / "real").mkdir()
    (home.root / "alias").symlink_to("real")
    first, second = f"{home.root}/real/index.sqlite", f"{home.root}/alias/index.sqlite"
    home.configure(settings(home, main=first, work=second))
    with DaemonProcess(home) as daemon, daemon.client() as client:
        states = [status_of(client, agent).problems for agent in ("main", "work")]
        assert [len(each) for each in states].count(1) == 1
        refused = next(each[0] for each in states if each)
        owner = "work" if states[0] else "main"
        assert f"index of agent {owner}" in refused.message
        # when each has its own
        home.configure(settings(home, main=first, work=f"{home.root}/alias/work.sqlite"))
        wait_until(lambda: is_fine(client, "work") and is_fine(client, "main"))
        assert client.search("apples", agent="main").hits
        assert client.search("bananas", agent="work").hits
        # and when a reload leads the second to the first one's again
        home.configure(settings(home, main=first, work=second))
        wait_until(lambda: not is_fine(client, "work"))
        assert "index of agent main" in status_of(client, "work").problems[0].message
        assert is_fine(client, "main")
        assert [hit.path for hit in client.search("apples", agent="main").hits] == ["memory/a.md"]
        # and when the first goes elsewhere
        home.configure(settings(home, work=second))
        wait_until(lambda: is_fine(client, "work") and is_fine(client, "main"))
        assert client.search("bananas", agent="work").hits


def test_the_first_agent_in_the_settings_keeps_an_index_that_two_share_after_a_restart(
    home: StateHome,
) -> None:
    (home.root / "alias").symlink_to("state")
    home.configure(settings(home, main=f"{home.state}/index.sqlite"))
    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
    home.configure(settings(home, main=f"{home.state}/index.sqlite", work=f"{home.root}/alias/index.sqlite"))
    for _ in range(3):
        with DaemonProcess(home) as daemon, daemon.client() as client:
            assert is_fine(client, "main")
            assert "index of agent main" in status_of(client, "work").problems[0].message


def test_a_literally_shared_path_names_the_agent_that_has_it(home: StateHome) -> None:
    home.configure(settings(home, main="shared.sqlite", work="shared.sqlite"))
    with DaemonProcess(home) as daemon, daemon.client() as client:
        problem = status_of(client, "work").problems[0]
        assert "agent main" in problem.message
        assert Path(status_of(client, "work").index_path).name == "work.memd.sqlite"
        assert client.search("bananas", agent="work").hits


def test_an_index_at_store_path_that_is_removed_while_it_is_open_comes_back(home: StateHome) -> None:
    path = home.root / "elsewhere" / "index.sqlite"
    home.configure(settings(home, main=str(path)))
    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
        for number in range(3):
            home.note("memory/c.md", f"cherries {number}\n")
            client.index()
            path.unlink()
            assert client.search("apples", agent="main").hits
            assert is_fine(client, "main")
            assert path.exists()


def test_reset_and_vacuum_touch_nothing_beside_an_index_at_store_path(home: StateHome) -> None:
    path = home.root / "elsewhere" / "index.sqlite"
    path.parent.mkdir()
    beside = [
        path.with_name(f"index.sqlite{end}") for end in (".dropped", ".corrupt-mine", ".adopting", ".tmp")
    ]
    for each in beside:
        each.write_text(NOTE)
    home.configure(settings(home, main=str(path)))
    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
        client.vacuum()
        client.reset(agent="main")
        client.reset(agent="main", vectors=True)
        assert client.search("apples", agent="main").hits
    assert [each.read_text() for each in beside] == [NOTE] * 4
