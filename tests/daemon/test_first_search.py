"""End to end: Markdown on disk, a daemon, a socket, a client, the command line."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator

import pytest

from memd_client import Client
from memd_client.errors import AgentUnknownError, PathRefusedError
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import KEYWORD_ONLY, StateHome, agents_config

Running = tuple[StateHome, DaemonProcess]


@pytest.fixture(scope="module")
def shared() -> Iterator[Running]:
    """A home and its daemon, shared by this module's tests."""
    with StateHome(KEYWORD_ONLY) as home, DaemonProcess(home) as daemon:
        yield home, daemon


@pytest.fixture
def running(shared: Running) -> Running:
    """A home without notes, and a daemon with an empty index."""
    home, daemon = shared
    home.clear()
    with daemon.client() as client:
        client.index()
    return shared


def test_note_written_before_the_start_is_found() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "# Facts\n\nThe staging gateway listens on port 8443.\n")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            reply = client.search("which port does the gateway use")

            assert reply.hits[0].path == "MEMORY.md"
            assert "8443" in reply.hits[0].snippet
            assert reply.mode == "keyword"
            assert reply.degraded is None  # keyword search was requested


def test_next_search_sees_a_write_an_edit_a_rename_and_a_delete(running: Running) -> None:
    home, daemon = running
    with daemon.client() as client:
        note = home.note("memory/2026-03-01.md", "Martine prefers blue dashboards.\n")
        assert [hit.path for hit in client.search("Martine dashboards").hits] == ["memory/2026-03-01.md"]

        note.write_text("Martine prefers green dashboards.\n")
        assert "green" in client.search("Martine dashboards").hits[0].snippet
        assert client.search("blue").hits == []

        moved = note.with_name("2026-03-02.md")
        note.rename(moved)
        assert [hit.path for hit in client.search("Martine dashboards").hits] == ["memory/2026-03-02.md"]

        moved.unlink()
        gone = client.search("Martine dashboards")
        assert gone.hits == []
        assert gone.abstained


def test_write_of_the_same_size_within_the_clock_resolution_is_seen(running: Running) -> None:
    home, daemon = running
    with daemon.client() as client:
        for turn in range(30):
            word = f"zebra{turn:02d}"
            home.note("memory/now.md", f"the word is {word}\n")
            assert word in client.search("word").hits[0].snippet


def test_search_of_one_agent_excludes_the_memory_of_another() -> None:
    with StateHome() as home:
        home.configure(agents_config(home.state, "work"))
        home.note("MEMORY.md", "canary-main lives here\n")
        home.note("MEMORY.md", "canary-work lives here\n", agent="work")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            assert "canary-main" in client.search("canary", agent="main").hits[0].snippet
            assert "canary-work" in client.search("canary", agent="work").hits[0].snippet
            assert client.search("canary-work", agent="main").hits[0].snippet.count("canary-work") == 0
            with pytest.raises(AgentUnknownError) as caught:
                client.search("canary", agent="nobody")
            assert "work" in caught.value.hint


def test_status_is_current_when_it_is_requested(running: Running) -> None:
    home, daemon = running
    with daemon.client() as client:
        home.note("memory/a.md", "one\n")
        client.index()
        home.note("memory/b.md", "two\n")

        agent = client.status().agents[0]

        assert (agent.files, agent.files_pending) == (1, 1)
        assert agent.workspace == str(home.workspace())
        assert agent.vector_path in ("memory", "sqlite-vec", "scan", "none")


def test_get_returns_exact_lines_and_refuses_other_paths(running: Running) -> None:
    home, daemon = running
    home.note("memory/list.md", "one\ntwo\nthree\nfour\n")
    secret = home.note("secret.md", "not memory\n")
    (home.workspace() / "memory" / "link.md").symlink_to(secret)
    outside = home.workspace() / "memory" / "folder"
    outside.symlink_to(home.state)
    home.note("memory/plain.txt", "text\n")
    with daemon.client() as client:
        reply = client.get("memory/list.md", from_line=2, lines=2)
        assert (reply.text, reply.from_line, reply.lines, reply.total_lines) == ("two\nthree", 2, 2, 4)
        for path in (
            "secret.md",
            "../state/openclaw.json",
            "memory/../secret.md",
            "/etc/passwd",
            "memory/link.md",
            "memory/folder/workspace/secret.md",
            "memory/plain.txt",
            "",
            "a\0b.md",
        ):
            with pytest.raises(PathRefusedError):
                client.get(path)


def test_extra_paths_are_searched_and_read() -> None:
    with StateHome() as home:
        extra = home.root / "notes"
        (extra / "deep").mkdir(parents=True)
        (extra / "deep" / "recipe.md").write_text("Knead the sourdough twice.\n")
        (extra / "deep" / "draft.txt").write_text("sourdough in text\n")
        search = {"provider": "none", "extraPaths": [str(extra)]}
        home.configure({"agents": {"defaults": {"memorySearch": search}}})
        home.note("MEMORY.md", "hello\n")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            hits = client.search("sourdough").hits
            assert len(hits) == 1
            assert client.get(hits[0].path).text.startswith("Knead")


def test_smaller_result_limit_returns_a_prefix_of_the_results(running: Running) -> None:
    home, daemon = running
    for number in range(30):
        home.note(
            f"memory/n{number:02d}.md",
            f"release notes number {number} " + "deploy " * (number % 7) + "\n",
        )
    with daemon.client() as client:
        lists = [
            [(hit.path, hit.score) for hit in client.search("deploy release", max_results=k).hits]
            for k in range(1, 12)
        ]
    for shorter, longer in itertools.pairwise(lists):
        assert longer[: len(shorter)] == shorter


def test_chinese_is_found_from_one_character_and_mixed_with_latin(running: Running) -> None:
    home, daemon = running
    home.note("memory/zh.md", "客户喜欢蓝色的仪表盘。\n我们决定重跑gen任务。\n")
    with daemon.client() as client:
        for query in ("蓝", "仪表盘", "客户喜欢什么颜色", "gen", "重跑gen"):
            assert client.search(query).hits, query


def test_memctl_prints_plain_text_into_a_pipe() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "The staging gateway listens on port 8443.\n")
        with DaemonProcess(home) as daemon:
            indexed = daemon.memctl("index")
            assert indexed.returncode == 0, indexed.stderr
            status = daemon.memctl("status", "--verbose")
            assert status.returncode == 0, status.stderr
            assert str(home.workspace()) in status.stdout
            assert "\x1b[" not in status.stdout

            found = daemon.memctl("search", "gateway port", "--json")
            reply = json.loads(found.stdout)
            assert reply["hits"][0]["path"] == "MEMORY.md"
            assert {"mode", "degraded", "abstained", "took_ms"} <= set(reply)

            lines = daemon.memctl("get", "MEMORY.md", "--from", "1", "--lines", "1")
            assert lines.stdout.strip() == "The staging gateway listens on port 8443."

            wrong = daemon.memctl("get", "../x.md")
            assert wrong.returncode == 1
            assert "path_refused" in wrong.stderr
            assert daemon.memctl("search", "--no-such-option", "x").returncode == 2


def test_many_clients_search_while_files_change(running: Running) -> None:
    home, daemon = running
    clients = [Client(home.socket) for _ in range(10)]
    try:
        for turn in range(20):
            home.note(f"memory/n{turn % 5}.md", f"shared topic turn{turn}\n")
            for client in clients:
                assert any(f"turn{turn}" in hit.snippet for hit in client.search(f"topic turn{turn}").hits)
    finally:
        for client in clients:
            client.close()
    assert not [event for event in daemon.events() if event.get("level") == "error"]


def test_other_copy_replaces_a_duplicate_that_was_emptied(running: Running) -> None:
    home, daemon = running
    home.note("memory/2026-05-01.md", "the cormorant nests on the pier\n")
    last = home.note("memory/2026-05-02.md", "the cormorant nests on the pier\n")
    with daemon.client() as client:
        client.index()
        (both,) = client.search("cormorant").hits
        assert (both.path, both.copies) == ("memory/2026-05-02.md", 2)
        last.write_text("")
        assert [hit.path for hit in client.search("cormorant").hits] == ["memory/2026-05-01.md"]
