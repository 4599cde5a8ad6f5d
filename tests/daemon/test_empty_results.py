"""Empty results with a reason: searches and line ranges, also on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from memd_client.blocking import Client
from memd_client.errors import FileMissingError, PathRefusedError
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome, agents_config


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    """A daemon with agents that have notes, have none, and have no workspace."""
    with StateHome() as home:
        search = {"provider": "none", "sync": {"watch": False}}
        config = agents_config(home.state, "bare", "gone", memory_search=search)
        home.configure(config)
        home.note("MEMORY.md", "# Ann\n\nThe gate has the code kestrel-12.\n")
        home.note("memory/2026-01-16.md", "# Friday\n\nMoved the release.\n")
        home.note("memory/.hidden/x.md", "# Hidden\n")
        home.workspace("bare").mkdir(parents=True, exist_ok=True)
        with DaemonProcess(home) as process:
            yield process


@pytest.fixture
def client(daemon: DaemonProcess) -> Iterator[Client]:
    with daemon.client() as client:
        yield client


@pytest.mark.parametrize(
    ("params", "code", "hint"),
    [
        ({}, "no_match", "min_score 0"),
        ({"sources": ["sessions"]}, "sessions_not_indexed", "sessionMemory"),
        ({"path": "memory/2026-01-17"}, "path_matches_nothing", "memory/2026-01-16.md"),
        ({"agent": "bare"}, "no_notes", "MEMORY.md or memory/ in"),
        ({"agent": "gone"}, "workspace_missing", "workspace"),
    ],
)
def test_search_without_hits_gives_the_reason(
    client: Client, params: dict[str, Any], code: str, hint: str
) -> None:
    reply = client.search("xylophone", **params)

    assert reply.hits == []
    assert reply.empty is not None
    assert (reply.empty.code, hint in reply.empty.hint) == (code, True)


def test_search_with_hits_has_no_reason(client: Client) -> None:
    reply = client.search("kestrel-12")

    assert (len(reply.hits), reply.empty) == (1, None)


def test_missing_file_error_suggests_similar_paths(client: Client) -> None:
    with pytest.raises(FileMissingError) as raised:
        client.get("memory/2026-01-17.md")
    with pytest.raises(PathRefusedError) as hidden:
        client.get("memory/.hidden/x.md")

    assert raised.value.hint == "did you mean memory/2026-01-16.md?"
    assert "hidden folders" in hidden.value.message


def test_command_line_and_mcp_tools_show_the_reason(daemon: DaemonProcess, client: Client) -> None:
    searched = daemon.memctl("search", "--source", "sessions", "xylophone")
    read = daemon.memctl("get", "MEMORY.md:40")
    tool = client.call_tool("memory_search", {"query": "xylophone"}).result
    lines = client.call_tool("memory_get", {"path": "MEMORY.md", "from": 40}).result

    assert searched.stdout.startswith(
        "Transcripts of agent main are not indexed.\n  hint: Set memory.search."
    )
    assert "MEMORY.md has no line 40, only 3 lines" in read.stderr
    assert tool["reason"].startswith("No relevant results. Search for other words, or with minScore 0")
    assert lines["reason"] == "The file has 3 lines."
