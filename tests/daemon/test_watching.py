"""File events: changes are indexed without a search, for any tree and clock."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from memd.system.clock import wall_clock_ms
from memd_client import Client
from memd_client.messages import AgentStatus
from tests.support.daemon import DaemonProcess
from tests.support.edits import (
    INDEX_TIMEOUT_S,
    Edit,
    EditedMemory,
    SearchCheck,
    differences,
    scripts,
    wait_until_none,
)
from tests.support.state_homes import KEYWORD_ONLY, UNWATCHED, StateHome, agents_config
from tests.support.system_faults import WallClock

SYNC = {"watch": True, "watchDebounceMs": 50, "onSearch": False}
"""Searches don't sync here: all hits come from file events."""


def watched(**more: Any) -> dict[str, Any]:
    """Return settings with file events."""
    return {"agents": {"defaults": {"memorySearch": {"provider": "none", "sync": SYNC, **more}}}}


@contextmanager
def watching(home: StateHome) -> Iterator[DaemonProcess]:
    """Run a daemon whose file events are ready."""
    with DaemonProcess(home) as daemon:
        daemon.wait_for(
            lambda status: all(agent.watch == "events" for agent in status.agents), INDEX_TIMEOUT_S
        )
        yield daemon
        assert not [event for event in daemon.events() if event.get("level") in ("error", "critical")]


def wait_indexed(daemon: DaemonProcess, files: int, agent: int = 0) -> AgentStatus:
    """Return the first status with `files` files indexed and none pending."""

    def reached(status: Any) -> bool:
        row = status.agents[agent]
        return (row.files, row.files_pending) == (files, 0)

    return daemon.wait_for(reached, INDEX_TIMEOUT_S).agents[agent]


@pytest.fixture(scope="module")
def shared() -> Iterator[DaemonProcess]:
    """A daemon shared by this module's tests."""
    with StateHome(watched()) as home:
        home.workspace().mkdir()
        with watching(home) as daemon:
            yield daemon


@pytest.fixture
def watcher(shared: DaemonProcess) -> DaemonProcess:
    """A daemon that watches an empty workspace."""
    shared.home.clear()
    wait_indexed(shared, 0)
    return shared


@pytest.fixture(scope="module")
def asker(shared: DaemonProcess) -> Iterator[Client]:
    """A client of the watching daemon."""
    with shared.client() as client:
        yield client


def check_script(home: StateHome, client: Client, script: list[Edit | SearchCheck]) -> None:
    """Run a script without searches; wait until the index equals the disk."""
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

    wait_until_none(behind)


@settings(max_examples=12, deadline=None)
@given(script=scripts(looks=False))
def test_every_edit_is_indexed_without_a_search(
    shared: DaemonProcess, asker: Client, script: list[Edit | SearchCheck]
) -> None:
    check_script(shared.home, asker, script)


@pytest.mark.long
@settings(max_examples=300, deadline=None)
@given(script=scripts(looks=False, longest=30))
def test_many_scripts_are_indexed_without_a_search(
    shared: DaemonProcess, asker: Client, script: list[Edit | SearchCheck]
) -> None:
    check_script(shared.home, asker, script)


@pytest.mark.parametrize("folder", ["memory", "memory/new", "memory/new/nested/deep"])
def test_files_written_right_after_their_folder_are_all_indexed(watcher: DaemonProcess, folder: str) -> None:
    home = watcher.home
    home.note("MEMORY.md", "here from the start\n")
    wait_indexed(watcher, 1)
    for number in range(200):
        home.note(f"{folder}/{number:03d}.md", f"number {number} of a burst\n")
    wait_indexed(watcher, 201)
    with watcher.client() as client:
        assert client.search("burst", max_results=1).hits


def test_moved_in_folder_tree_is_indexed_whole(watcher: DaemonProcess) -> None:
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


def test_file_is_followed_over_repeated_saves(watcher: DaemonProcess) -> None:
    memory = EditedMemory(watcher.home.workspace())
    with watcher.client() as client:
        for _ in range(5):
            for _ in range(5):
                memory.do(Edit("replace", "memory/a.md"))
                memory.do(Edit("swap_words_and_time", "MEMORY.md"))
            wait_until_none(lambda: differences(client, memory))


@pytest.mark.long
def test_workspace_that_is_created_removed_and_created_again_is_followed() -> None:
    with StateHome(watched()) as home, DaemonProcess(home) as daemon:
        for turn in range(3):  # at first it does not exist
            home.note("MEMORY.md", f"life {turn}\n")
            wait_indexed(daemon, 1)
            for number in range(100):
                home.note(f"memory/life-{turn}/{number}.md", f"life {turn}, day {number}\n")
            wait_indexed(daemon, 101)
            shutil.rmtree(home.workspace())
            wait_indexed(daemon, 0)


def test_renamed_workspace_leaves_the_index_until_it_is_back() -> None:
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
            wait_until_none(lambda: [] if client.search("two").hits else ["the edit is not indexed"])


def test_file_name_outside_utf8_stops_no_indexing() -> None:
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


def test_extra_folders_and_files_outside_the_workspace_are_followed() -> None:
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
                wait_until_none(lambda turn=turn: [] if client.search(f"turn{turn}").hits else ["no save"])  # type: ignore[misc]


def test_notes_of_every_agent_are_followed() -> None:
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

            wait_until_none(behind)
            hits = client.search("here", agent=agents[3]).hits
            assert [hit.snippet for hit in hits] == [f"{agents[3]} was here"]


def test_watching_daemon_ends_on_request() -> None:
    with StateHome(watched()) as home:
        home.note("memory/a.md", "one\n")
        with watching(home) as daemon:
            home.note("memory/b.md", "two\n")
            assert daemon.stop() == 0


def test_disabled_watcher_watches_nothing_and_is_reported() -> None:
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
    """Return a Python without inotify instances, or skip if a user namespace fails."""
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


def test_files_are_polled_without_an_inotify_instance_and_it_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with StateHome(watched()) as home:
        home.note("memory/a.md", "one\n")
        monkeypatch.setattr(sys, "executable", _python_without_inotify(home))
        with DaemonProcess(home) as daemon:
            status = daemon.wait_for(lambda status: status.agents[0].watch == "polling", INDEX_TIMEOUT_S)
            assert "inotify" in status.agents[0].watch_reason
            home.note("memory/b.md", "two\n")
            wait_indexed(daemon, 2)
            shutil.rmtree(home.workspace())
            wait_indexed(daemon, 0)
            home.note("memory/c.md", "three\n")
            wait_indexed(daemon, 1)


DEPTH = 1500


@pytest.fixture
def home() -> Iterator[StateHome]:
    with StateHome(KEYWORD_ONLY) as made:
        made.note("MEMORY.md", "# Lease\n\nThe lease ends in May.\n")
        yield made
        subprocess.run(["rm", "-rf", str(made.workspace())], check=True)  # shutil.rmtree is recursive


@contextmanager
def nested(folder: Path) -> Iterator[int]:
    """Nest folders; yield a descriptor of the deepest."""
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


def test_note_below_fifteen_hundred_folders_is_found_and_followed(home: StateHome) -> None:
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


YEAR_S = 365 * 86_400

MAX_SEARCHES = 300
"""More searches than fit into the resolution of the kernel's file times."""


def finds(client: Client, word: str) -> bool:
    """Return whether a search finds a word; check that no pending time is negative."""
    reply = client.search(word)
    assert reply.pending.oldest_ms >= 0
    return any(word in hit.snippet for hit in reply.hits)


@pytest.mark.parametrize("settings", [KEYWORD_ONLY, UNWATCHED], ids=["watched", "unwatched"])
def test_new_edits_are_found_at_once_after_any_clock_change(settings: dict[str, object]) -> None:
    with StateHome(settings) as home:
        wall = WallClock(home.root)
        home.note("memory/old.md", "the harpsichord was tuned")
        with DaemonProcess(home, wall.environ) as daemon, daemon.client() as client:
            assert finds(client, "harpsichord")
            # when the clock goes back by a year, is right, goes ahead by a year, to 1970, is right
            for number, ahead_s in enumerate((-YEAR_S, 0, YEAR_S, 60 - wall_clock_ms() // 1000, 0)):
                wall.set(ahead_s)
                word = f"marzipan{number}"
                home.note(f"memory/new-{number}.md", f"we bought {word}")
                home.note("memory/old.md", f"the harpsichord was tuned, said {word}s")
                # then both the edited old file and the new one are found at once
                assert finds(client, word)
                assert finds(client, f"{word}s")
                agent = client.status().agents[0]
                assert agent.files_pending == 0
                assert agent.oldest_pending_ms >= 0
                assert agent.last_sync_ms is not None
                assert agent.last_sync_ms <= wall_clock_ms() + (ahead_s + 60) * 1000
            assert client.status().uptime_ms < 120_000
            assert not [event for event in daemon.events() if event.get("level") in ("error", "critical")]


def test_files_with_future_times_are_not_read_again_at_each_search() -> None:
    with StateHome(UNWATCHED) as home:
        wall = WallClock(home.root)
        for number in range(5):
            home.note(f"memory/{number}.md", f"note {number} of the marzipan")
        wall.set(-YEAR_S)
        # given a daemon whose clock is a year behind the files' times
        with DaemonProcess(home, wall.environ) as daemon, daemon.client() as client:
            # when it has read each file twice, after the kernel's time resolution
            counts = [unchanged_reads(client)]
            while len(counts) < 2 or counts[-1] > counts[-2]:
                assert finds(client, "marzipan")
                counts.append(unchanged_reads(client))
                assert len(counts) < MAX_SEARCHES, "they are read again and again"
            for _ in range(3):
                assert finds(client, "marzipan")
            # then it does not read them again until one changes
            assert unchanged_reads(client) == counts[-1]
            home.note("memory/3.md", "note 3 of the nougat")
            assert finds(client, "nougat")


def unchanged_reads(client: Client) -> float:
    """Return the number of files that were read again and found unchanged."""
    figures = {figure.name: figure for figure in client.metrics().metrics}
    samples = figures["memd_files_checked_total"].samples
    return sum(sample.value for sample in samples if sample.labels.get("outcome") == "same")
