"""With the watcher, notes are indexed without a search asking for them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings

from memd_client import Client
from memd_client.messages import AgentStatus
from tests.support.answers import SOON_S, differences, eventually
from tests.support.daemon import DaemonProcess
from tests.support.edits import Edit, EditedMemory, Look, scripts
from tests.support.homes import StateHome, agents_config

SYNC = {"watch": True, "watchDebounceMs": 50, "onSearch": False}
"""Searches bring nothing in here: what they find, the watcher brought."""


def watched(**more: Any) -> dict[str, Any]:
    """Return settings of a memory that is watched."""
    return {"agents": {"defaults": {"memorySearch": {"provider": "none", "sync": SYNC, **more}}}}


@contextmanager
def watching(home: StateHome) -> Iterator[DaemonProcess]:
    """Run a daemon whose watcher is armed."""
    with DaemonProcess(home) as daemon:
        daemon.wait_for(lambda status: all(agent.watch == "events" for agent in status.agents), SOON_S)
        yield daemon
        assert not [event for event in daemon.events() if event.get("level") in ("error", "critical")]


def wait_indexed(daemon: DaemonProcess, files: int, agent: int = 0) -> AgentStatus:
    """Return the first status that says so many files are indexed and none waits."""

    def reached(status: Any) -> bool:
        row = status.agents[agent]
        return (row.files, row.files_pending) == (files, 0)

    return daemon.wait_for(reached, SOON_S).agents[agent]


@pytest.fixture(scope="module")
def shared() -> Iterator[DaemonProcess]:
    """A daemon that lives as long as this module's tests."""
    with StateHome(watched()) as home:
        home.workspace().mkdir()
        with watching(home) as daemon:
            yield daemon


@pytest.fixture
def watcher(shared: DaemonProcess) -> DaemonProcess:
    """A daemon that watches a workspace with nothing in it."""
    shared.home.clear()
    wait_indexed(shared, 0)
    return shared


@pytest.fixture(scope="module")
def asker(shared: DaemonProcess) -> Iterator[Client]:
    """A client of it."""
    with shared.client() as client:
        yield client


def check_script(home: StateHome, client: Client, script: list[Edit | Look]) -> None:
    """Do a script without a search in between, and wait until the index is equal to the disk."""
    memory = EditedMemory(home.workspace())
    for step in script:
        assert isinstance(step, Edit)
        memory.do(step)

    def behind() -> list[str]:
        row = client.status().agents[0]
        if (row.files, row.files_pending) != (len(memory.files()), 0):
            return [
                f"{row.files} files indexed, {row.files_pending} pending; on disk {sorted(memory.files())}"
            ]
        return differences(client, memory)

    eventually(behind)


@settings(max_examples=12, deadline=None)
@given(script=scripts(looks=False))
def test_whatever_was_edited_is_indexed_without_a_search(
    shared: DaemonProcess, asker: Client, script: list[Edit | Look]
) -> None:
    check_script(shared.home, asker, script)


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(script=scripts(looks=False, longest=30))
def test_many_scripts_are_indexed_without_a_search(
    shared: DaemonProcess, asker: Client, script: list[Edit | Look]
) -> None:
    check_script(shared.home, asker, script)


@pytest.mark.parametrize("folder", ["memory", "memory/new", "memory/new/nested/deep"])
def test_files_written_right_after_their_folder_was_made_are_all_indexed(
    watcher: DaemonProcess, folder: str
) -> None:
    home = watcher.home
    home.note("MEMORY.md", "here from the start\n")
    wait_indexed(watcher, 1)
    for number in range(200):
        home.note(f"{folder}/{number:03d}.md", f"number {number} of a burst\n")
    wait_indexed(watcher, 201)
    with watcher.client() as client:
        assert client.search("burst", max_results=1).hits


def test_a_tree_that_is_moved_in_is_indexed_whole(watcher: DaemonProcess) -> None:
    home = watcher.home
    home.note("memory/a.md", "here from the start\n")
    wait_indexed(watcher, 1)
    outside = home.root / "tree"
    for number in range(200):
        place = outside / f"{number % 7}" / f"{number % 3}"
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:03d}.md").write_text(f"number {number} of a tree\n")
    outside.rename(home.workspace() / "memory" / "tree")
    wait_indexed(watcher, 201)
    (home.workspace() / "memory" / "tree").rename(outside)
    wait_indexed(watcher, 1)


def test_a_file_is_followed_through_save_after_save(watcher: DaemonProcess) -> None:
    memory = EditedMemory(watcher.home.workspace())
    with watcher.client() as client:
        for _ in range(5):
            for _ in range(5):
                memory.do(Edit("replace", "memory/a.md"))
                memory.do(Edit("swap_words_and_time", "MEMORY.md"))
            eventually(lambda: differences(client, memory))


@pytest.mark.long
def test_a_workspace_that_is_made_removed_and_made_again_is_followed() -> None:
    with StateHome(watched()) as home, DaemonProcess(home) as daemon:
        for turn in range(3):  # the first time it has never been there
            home.note("MEMORY.md", f"life {turn}\n")
            wait_indexed(daemon, 1)
            for number in range(100):
                home.note(f"memory/life-{turn}/{number}.md", f"life {turn}, day {number}\n")
            wait_indexed(daemon, 101)
            shutil.rmtree(home.workspace())
            wait_indexed(daemon, 0)


def test_a_workspace_that_is_renamed_away_is_forgotten_until_it_comes_back() -> None:
    with StateHome(watched()) as home:
        home.note("memory/a.md", "one\n")
        away = home.workspace().with_name("elsewhere")
        with watching(home) as daemon, daemon.client() as client:
            for turn in range(3):
                wait_indexed(daemon, turn + 1)
                home.workspace().rename(away)
                wait_indexed(daemon, 0)
                (away / "memory" / f"meanwhile-{turn}.md").write_text("written while it was away\n")
                away.rename(home.workspace())
            wait_indexed(daemon, 4)
            home.note("memory/a.md", "two now\n")
            eventually(lambda: [] if client.search("two").hits else ["the edit is not indexed"])


def test_a_name_that_is_not_utf_8_ends_nothing() -> None:
    with StateHome(watched()) as home:
        home.note("memory/a.md", "one\n")
        with watching(home) as daemon:
            odd = os.fsencode(home.workspace()) + b"/memory/odd-\xff.md"
            for turn in range(3):
                with open(odd, "w") as file:
                    file.write(f"odd {turn}\n")
                home.note(f"memory/good-{turn}.md", "well named\n")
                status = wait_indexed(daemon, turn + 2)
            assert [row.path for row in status.skipped] == ["memory/odd-?.md"]


def test_folders_and_single_files_beside_the_workspace_are_followed() -> None:
    with StateHome() as home:
        folder, single = home.root / "notes", home.root / "single" / "list.md"
        for path in (folder, single.parent):
            path.mkdir()
        single.write_text("first\n")
        extra = [{"path": str(folder), "pattern": "*.md"}, str(single)]
        home.configure(watched(extraPaths=extra))
        home.note("MEMORY.md", "here from the start\n")
        with watching(home) as daemon, daemon.client() as client:
            wait_indexed(daemon, 2)
            for turn in range(3):
                (folder / f"deep-{turn}").mkdir()
                (folder / f"deep-{turn}" / "note.md").write_text("a note beside\n")
                temporary = single.with_name("list.md.tmp")
                temporary.write_text(f"saved turn{turn}\n")
                temporary.replace(single)
                wait_indexed(daemon, turn + 3)
                eventually(lambda turn=turn: [] if client.search(f"turn{turn}").hits else ["no save"])  # type: ignore[misc]


def test_every_agents_notes_are_followed() -> None:
    agents = [f"agent{number}" for number in range(8)]
    with StateHome() as home:
        search = {"provider": "none", "sync": SYNC}
        home.configure(agents_config(home.state, *agents, memory_search=search))
        for agent in agents:
            home.note("MEMORY.md", f"I am {agent}\n", agent)
        with watching(home) as daemon, daemon.client() as client:
            for agent in agents:
                home.note("memory/today.md", f"{agent} was here\n", agent)

            def behind() -> list[str]:
                rows = client.status().agents
                return [row.agent for row in rows if row.agent != "main" and row.files != 2]

            eventually(behind)
            hits = client.search("here", agent=agents[3]).hits
            assert [hit.snippet for hit in hits] == [f"{agents[3]} was here"]


def test_a_daemon_that_watches_ends_when_it_is_asked() -> None:
    with StateHome(watched()) as home:
        home.note("memory/a.md", "one\n")
        with watching(home) as daemon:
            home.note("memory/b.md", "two\n")
            assert daemon.stop() == 0


def test_without_the_watcher_nothing_is_watched_and_said_so() -> None:
    search = {"provider": "none", "sync": {"watch": False}}
    unwatched = {"agents": {"defaults": {"memorySearch": search}}}
    with StateHome(unwatched) as home, DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
        home.note("memory/a.md", "one\n")
        row = client.status().agents[0]
        assert (row.watch, row.files, row.files_pending) == ("off", 0, 1)


NO_INOTIFY = """#!/bin/sh
echo 0 > /proc/sys/user/max_inotify_instances
exec "{python}" "$@"
"""


def _python_without_inotify(home: StateHome) -> str:
    """Return a Python in a user namespace that has no inotify instance left; skip where that can't be made."""
    inner, outer = home.root / "inner", home.root / "outer"
    inner.write_text(NO_INOTIFY.format(python=sys.executable))
    outer.write_text(f'#!/bin/sh\nexec unshare --user --map-current-user "{inner}" "$@"\n')
    for script in (inner, outer):
        script.chmod(0o755)
    try:
        subprocess.run([outer, "-c", "pass"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no user namespaces: {error}")
    return str(outer)


def test_without_an_inotify_instance_left_files_are_polled_and_status_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with StateHome(watched()) as home:
        home.note("memory/a.md", "one\n")
        monkeypatch.setattr(sys, "executable", _python_without_inotify(home))
        with DaemonProcess(home) as daemon:
            status = daemon.wait_for(lambda status: status.agents[0].watch == "polling", SOON_S)
            assert "inotify" in status.agents[0].watch_reason
            home.note("memory/b.md", "two\n")
            wait_indexed(daemon, 2)
            shutil.rmtree(home.workspace())
            wait_indexed(daemon, 0)
            home.note("memory/c.md", "three\n")
            wait_indexed(daemon, 1)
