"""Maintenance of indexes, and indexes at configured paths."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memd_client import Client
from memd_client.errors import MemdError
from memd_client.messages import AgentStatus, Problem
from tests.support.daemon import DaemonProcess
from tests.support.provider_server import KEY, serve_provider
from tests.support.sockets import wait_until
from tests.support.state_homes import KEYWORD_ONLY, StateHome, agents_config

NOTES = 200


def write_notes(home: StateHome, count: int = NOTES) -> None:
    """Write notes, each with a unique word."""
    for number in range(count):
        home.note(f"memory/{number:03d}.md", f"entry {number} about apples\n\n" + f"word{number} " * 100)


def search_until_stopped(daemon: DaemonProcess, stop: threading.Event, wrong: list[str]) -> None:
    """Search repeatedly; record replies that are neither right nor marked as partial."""
    asked = 0
    with daemon.client() as client:
        while not stop.is_set():
            number = asked % NOTES
            reply = client.search(f"word{number}")
            if reply.hits and reply.hits[0].path != f"memory/{number:03d}.md":
                wrong.append(reply.hits[0].path)
            if not reply.hits and not reply.partial and not reply.pending.files:
                wrong.append(f"nothing for word{number}")
            asked += 1


@pytest.mark.parametrize("request_name", [pytest.param("reset", marks=pytest.mark.long), "vacuum"])
def test_searches_continue_during_index_maintenance(request_name: str) -> None:
    with StateHome() as home:
        home.configure(KEYWORD_ONLY)
        write_notes(home)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            before = client.status().agents[0]
            stop = threading.Event()
            wrong: list[str] = []
            searcher = threading.Thread(target=search_until_stopped, args=(daemon, stop, wrong))
            searcher.start()
            try:
                for _ in range(3):
                    rows: list[Any] = list(getattr(client, request_name)().agents)
                    assert [row.error for row in rows] == [None]
            finally:
                stop.set()
                searcher.join()
            assert wrong == []
            after = client.status().agents[0]
            assert (after.files, after.chunks, after.problems) == (before.files, before.chunks, [])


def test_reset_embeds_nothing_again_unless_vectors_are_dropped_too() -> None:
    with serve_provider("compatible", dims=48) as server, StateHome() as home:
        search = {
            "provider": "openai",
            "model": server.facts.model,
            "remote": {"baseUrl": server.url, "apiKey": KEY},
            "sync": {"watch": False},
        }
        home.configure({"agents": {"defaults": {"memorySearch": search}}})
        write_notes(home, 30)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            vectors = client.status().agents[0].vectors
            assert vectors >= 30
            seen = sum(server.texts_embedded.values())
            # when
            [row] = client.reset().agents
            # then everything is indexed again without an embedding call
            assert (row.files, row.embedded) == (30, 0)
            assert client.status().agents[0].vectors == vectors
            assert sum(server.texts_embedded.values()) == seen
            assert client.search("apples", explain=True).mode == "hybrid"
            # when the vectors are dropped too, then they are computed again
            [row] = client.reset(delete_vectors=True).agents
            assert (row.files, row.embedded) == (30, vectors)
            assert client.status().agents[0].vectors == vectors


def test_vacuum_frees_space_and_reports_the_sizes() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        write_notes(home)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            for number in range(20, NOTES):
                (home.workspace() / f"memory/{number:03d}.md").unlink()
            client.index()
            [row] = client.vacuum().agents
            assert row.bytes_after < row.bytes_before
            assert row.bytes_after == client.status().agents[0].index_bytes
            assert client.search("word7").hits[0].path == "memory/007.md"


def test_agent_that_failed_to_open_is_an_error_row_and_others_are_maintained() -> None:
    with StateHome() as home:
        home.configure(agents_config(home.state, "work"))
        home.note("memory/a.md", "apples\n")
        (home.state / "memory" / "work.memd.sqlite").mkdir(parents=True)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            with pytest.raises(MemdError) as caught:
                client.vacuum("work")
            assert caught.value.code == "index_io"
            replies: list[Any] = [*client.vacuum().agents, *client.reset().agents]
            errors: list[Problem | None] = [row.error for row in replies]
            assert [error.code if error else None for error in errors] == [None, "index_io"] * 2


def test_command_line_asks_before_it_drops_vectors() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("memory/a.md", "apples\n")
        with DaemonProcess(home) as daemon:
            refused = daemon.memctl("reset")
            assert refused.returncode == 2
            assert "--yes" in refused.stderr
            done = daemon.memctl("reset", "--yes")
            assert done.returncode == 0, done.stderr
            assert "main" in done.stdout
            small = daemon.memctl("vacuum", "--agent", "main")
            assert small.returncode == 0, small.stderr
            assert "before" in small.stdout


NOTE = "# Tea\n\nThe kettle is from 1962.\n"


def settings(home: StateHome, **paths: str) -> dict[str, Any]:
    """Return settings of the agents `main` and `work`, with the given `store.path`."""
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


def is_healthy(client: Client, agent: str) -> bool:
    """Return whether an agent has no problem."""
    return not status_of(client, agent).problems


def test_user_file_at_store_path_is_a_problem_that_a_changed_setting_clears(home: StateHome) -> None:
    note = home.root / "my notes.txt"
    note.write_text(NOTE)
    facts = note.stat()
    home.configure(settings(home, work=str(note)))
    with DaemonProcess(home) as daemon, daemon.client() as client:
        problem = status_of(client, "work").problems[0]
        assert problem.code == "index_io"
        assert str(note) in problem.message
        assert "store.path" in problem.hint
        assert is_healthy(client, "main")
        assert client.search("apples", agent="main").hits
        # when
        home.configure(settings(home, work="{agentId}-index.sqlite"))
        # then
        wait_until(lambda: is_healthy(client, "work"))
        assert client.search("bananas", agent="work").hits
    assert note.read_text() == NOTE
    assert note.stat().st_mtime_ns == facts.st_mtime_ns
    assert sorted(os.listdir(home.root)) == ["daemon.log", "memd.toml", "my notes.txt", "run", "state"]


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
        # when each has its own index
        home.configure(settings(home, main=first, work=f"{home.root}/alias/work.sqlite"))
        wait_until(lambda: is_healthy(client, "work") and is_healthy(client, "main"))
        assert client.search("apples", agent="main").hits
        assert client.search("bananas", agent="work").hits
        # and when a reload points the second at the first one's again
        home.configure(settings(home, main=first, work=second))
        wait_until(lambda: not is_healthy(client, "work"))
        assert "index of agent main" in status_of(client, "work").problems[0].message
        assert is_healthy(client, "main")
        assert [hit.path for hit in client.search("apples", agent="main").hits] == ["memory/a.md"]
        # and when the first moves to another path
        home.configure(settings(home, work=second))
        wait_until(lambda: is_healthy(client, "work") and is_healthy(client, "main"))
        assert client.search("bananas", agent="work").hits


def test_first_configured_agent_keeps_a_shared_index_path_after_a_restart(
    home: StateHome,
) -> None:
    (home.root / "alias").symlink_to("state")
    home.configure(settings(home, main=f"{home.state}/index.sqlite"))
    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
    home.configure(settings(home, main=f"{home.state}/index.sqlite", work=f"{home.root}/alias/index.sqlite"))
    for _ in range(3):
        with DaemonProcess(home) as daemon, daemon.client() as client:
            assert is_healthy(client, "main")
            assert "index of agent main" in status_of(client, "work").problems[0].message


def test_problem_of_a_shared_path_names_the_agent_that_has_it(home: StateHome) -> None:
    home.configure(settings(home, main="shared.sqlite", work="shared.sqlite"))
    with DaemonProcess(home) as daemon, daemon.client() as client:
        problem = status_of(client, "work").problems[0]
        assert "agent main" in problem.message
        assert Path(status_of(client, "work").index_path).name == "work.memd.sqlite"
        assert client.search("bananas", agent="work").hits


def test_index_at_store_path_removed_while_open_is_rebuilt(home: StateHome) -> None:
    path = home.root / "elsewhere" / "index.sqlite"
    home.configure(settings(home, main=str(path)))
    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
        for number in range(3):
            home.note("memory/c.md", f"cherries {number}\n")
            client.index()
            path.unlink()
            assert client.search("apples", agent="main").hits
            assert is_healthy(client, "main")
            assert path.exists()


def test_reset_and_vacuum_change_no_other_file_next_to_an_index(home: StateHome) -> None:
    path = home.root / "elsewhere" / "index.sqlite"
    path.parent.mkdir()
    beside = [path.with_name(f"index.sqlite{end}") for end in (".dropped", ".corrupt-mine", ".tmp")]
    for each in beside:
        each.write_text(NOTE)
    home.configure(settings(home, main=str(path)))
    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
        client.vacuum()
        client.reset(agent="main")
        client.reset(agent="main", delete_vectors=True)
        assert client.search("apples", agent="main").hits
    assert [each.read_text() for each in beside] == [NOTE] * 3
