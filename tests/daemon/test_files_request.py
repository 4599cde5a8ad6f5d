"""The `files` request with a real daemon: current files of an agent's memory."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from memd_client.errors import AgentUnknownError, BadParamsError
from tests.support.daemon import DaemonProcess
from tests.support.state_homes import StateHome, agents_config

NOON_S = 1_772_625_600
"""2026-03-04, 12:00 UTC."""


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonProcess]:
    with StateHome() as home:
        home.configure(agents_config(home.state, "work"))
        for path, text, age_s in (
            ("MEMORY.md", "Plain words first.\n\n## About Ann ##\n\nTea.\n", 0),
            ("memory/2026-03-05.md", "# Thursday\n\nLater by its name.\n", 86_400),
            ("memory/2026-03-04-lease.md", "no heading\n", 60),
            ("memory/people/bo.md", "#not a heading\n# <script>alert(1)</script> \u202eBo\n", 2 * 86_400),
            ("memory/empty.md", "", 3 * 86_400),
        ):
            os.utime(home.note(path, text), (NOON_S - age_s, NOON_S - age_s))
        home.note("memory/binary.md", "x\0y")
        (home.workspace() / "memory" / "link.md").symlink_to("/etc/passwd")
        home.note("memory/secret.md", "# Of work\n", agent="work")
        with DaemonProcess(home) as running:
            running.wait_for(lambda status: status.agents[0].chunks and not status.agents[0].files_pending)
            yield running


def test_files_are_listed_newest_first_with_their_titles(daemon: DaemonProcess) -> None:
    with daemon.client() as client:
        reply = client.files()

    rows = reply.files
    assert [(row.path, row.date, row.title) for row in rows] == [
        ("memory/2026-03-05.md", "2026-03-05", "Thursday"),
        ("MEMORY.md", None, "About Ann"),
        ("memory/2026-03-04-lease.md", "2026-03-04", ""),
        ("memory/people/bo.md", None, "<script>alert(1)</script> \u202eBo"),
        ("memory/empty.md", None, ""),
    ]
    assert rows[1].mtime_ms == NOON_S * 1000
    assert (rows[1].size_bytes, rows[1].chunks, rows[1].source) == (42, 1, "memory")


def test_skipped_files_are_listed_with_their_reason(daemon: DaemonProcess) -> None:
    with daemon.client() as client:
        skipped = {each.path: each.reason for each in client.files().skipped}

    assert "link" in skipped["memory/link.md"]
    assert skipped["memory/binary.md"]


def test_pages_together_are_the_whole_list(daemon: DaemonProcess) -> None:
    with daemon.client() as client:
        whole = client.files()
        pages = [client.files(offset=offset, limit=2) for offset in range(0, whole.total + 2, 2)]

    assert [row for page in pages for row in page.files] == whole.files
    assert {page.total for page in pages} == {len(whole.files)}


def test_new_and_deleted_files_change_the_list_at_once(daemon: DaemonProcess) -> None:
    with daemon.client() as client:
        note = daemon.home.note("memory/2026-03-09.md", "# Monday\n")
        assert client.files(limit=1).files[0].path == "memory/2026-03-09.md"
        note.unlink()
        assert client.files(limit=1).files[0].path != "memory/2026-03-09.md"


def test_each_agent_lists_its_own_files(daemon: DaemonProcess) -> None:
    with daemon.client() as client:
        assert [row.path for row in client.files(agent="work").files] == ["memory/secret.md"]
        with pytest.raises(AgentUnknownError):
            client.files(agent="nobody")


def test_sources_filter_the_list(daemon: DaemonProcess) -> None:
    with daemon.client() as client:
        assert client.files(sources=["sessions"]).files == []
        assert client.files(sources=["memory"]).total == client.files().total
        with pytest.raises(BadParamsError, match="`sources`"):
            client.files(sources=["my mail"])
