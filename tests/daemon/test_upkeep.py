"""Building an index anew and making it small, while searches go on."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from memd_client.errors import MemdError
from memd_client.messages import Problem
from tests.support.daemon import DaemonProcess
from tests.support.homes import StateHome, agents_config
from tests.support.provider_server import KEY, serving

NOTES = 200


def write_notes(home: StateHome, count: int = NOTES) -> None:
    """Write notes, each with a word of its own."""
    for number in range(count):
        home.note(f"memory/{number:03d}.md", f"entry {number} about apples\n\n" + f"word{number} " * 100)


def search_on(daemon: DaemonProcess, stop: threading.Event, wrong: list[str]) -> None:
    """Ask again and again until told to stop; note every answer that is neither right nor says what it lacks."""
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
def test_searches_go_on_while_an_index_is_looked_after(request_name: str) -> None:
    with StateHome() as home:
        home.configure({"agents": {"defaults": {"memorySearch": {"provider": "none"}}}})
        write_notes(home)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            before = client.status().agents[0]
            stop = threading.Event()
            wrong: list[str] = []
            searcher = threading.Thread(target=search_on, args=(daemon, stop, wrong))
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


def test_a_reset_embeds_nothing_again_unless_vectors_are_dropped_too() -> None:
    with serving("compatible", dims=48) as server, StateHome() as home:
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
            # then all is there again, and nobody was asked for a vector
            assert (row.files, row.embedded) == (30, 0)
            assert client.status().agents[0].vectors == vectors
            assert sum(server.texts_embedded.values()) == seen
            assert client.search("apples", explain=True).mode == "hybrid"
            # when the vectors go too, then they are made again
            [row] = client.reset(vectors=True).agents
            assert (row.files, row.embedded) == (30, vectors)
            assert client.status().agents[0].vectors == vectors


def test_a_vacuum_gives_room_back_and_says_how_much() -> None:
    with StateHome({"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}) as home:
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


def test_an_agent_that_is_not_open_says_why_and_costs_the_others_nothing() -> None:
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


def test_the_command_line_asks_before_it_drops() -> None:
    with StateHome({"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}) as home:
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
