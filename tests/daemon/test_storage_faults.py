"""Storage that fails under a running daemon: it is noticed, nothing wrong is answered, and it passes by itself."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.disks import fill_up, remount, small_disk
from tests.support.homes import StateHome
from tests.support.sockets import wait_until

NOTES = 60


def settings(**search: Any) -> dict[str, Any]:
    """Return settings without a model and without file events."""
    return {
        "agents": {"defaults": {"memorySearch": {"provider": "none", "sync": {"watch": False}, **search}}}
    }


def fill(home: StateHome) -> Path:
    """Write the notes, and return where their index will be."""
    for number in range(NOTES):
        home.note(f"memory/{number:03d}.md", f"entry {number} about apples\n\n" + f"word{number} " * 60)
    return home.state / "memory" / "main.memd.sqlite"


def check_whole(client: Client) -> None:
    """Fail where not every note is found, by itself and first."""
    for number in range(0, NOTES, 7):
        reply = client.search(f"word{number}", deadline_ms=10_000)
        assert [hit.path for hit in reply.hits][:1] == [f"memory/{number:03d}.md"]


def open_files(pid: int) -> list[str]:
    """Return what a process holds open of indexes."""
    names = [os.readlink(f"/proc/{pid}/fd/{each}") for each in os.listdir(f"/proc/{pid}/fd")]
    return [name for name in names if ".sqlite" in name]


def reopened(daemon: DaemonProcess) -> int:
    """Return how often an agent was opened anew."""
    return [event["event"] for event in daemon.events()].count("agent.reopened")


def removed(index: Path) -> None:
    index.unlink()


def removed_with_its_log(index: Path) -> None:
    for file in index.parent.glob("main.memd.sqlite*"):
        file.unlink()


def robbed_of_its_log(index: Path) -> None:
    index.with_name(index.name + "-wal").unlink()


def folder_removed(index: Path) -> None:
    shutil.rmtree(index.parent)


def folder_moved(index: Path) -> None:
    index.parent.rename(index.parent.with_name("elsewhere"))


def replaced_by_garbage(index: Path) -> None:
    other = index.with_name("other")
    other.write_bytes(b"no database at all" * 1000)
    os.replace(other, index)


def replaced_by_an_empty_file(index: Path) -> None:
    other = index.with_name("other")
    other.touch()
    os.replace(other, index)


def replaced_by_an_older_copy(index: Path) -> None:
    other = index.with_name("other")
    with apsw.Connection(str(index)) as now, apsw.Connection(str(other)) as db:
        with db.backup("main", now, "main") as copying:
            copying.step(-1)
        for table in ("files", "chunks"):
            db.execute(f"DELETE FROM {table} WHERE path > 'memory/020.md'")
        db.execute("DELETE FROM chunks_fts WHERE rowid NOT IN (SELECT id FROM chunks)")
    now.close()
    db.execute("PRAGMA journal_mode = delete")
    db.close()
    os.replace(other, index)


def cut_in_half(index: Path) -> None:
    os.truncate(index, index.stat().st_size // 2)


def cut_to_nothing(index: Path) -> None:
    os.truncate(index, 0)


HARMS = (
    removed,
    removed_with_its_log,
    robbed_of_its_log,
    folder_removed,
    folder_moved,
    replaced_by_garbage,
    replaced_by_an_empty_file,
    replaced_by_an_older_copy,
    cut_in_half,
    cut_to_nothing,
)


def test_an_index_that_is_harmed_while_it_is_open_is_whole_again_by_itself() -> None:
    with StateHome(settings()) as home:
        index = fill(home)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            check_whole(client)
            before = len(open_files(daemon.pid))
            for number, harm in enumerate(HARMS):
                # when
                harm(index)
                first = client.search("word33 apples", deadline_ms=10_000)
                # then the very next search is answered rightly, from a file that is at its place
                assert first.hits[0].path == "memory/033.md", harm.__name__
                assert reopened(daemon) == number + 1, harm.__name__
                check_whole(client)
                assert client.status().agents[0].files == NOTES
                assert index.exists()
                assert not [name for name in open_files(daemon.pid) if "(deleted)" in name], harm.__name__
                assert len(open_files(daemon.pid)) <= before + 3
            assert len(list(index.parent.glob("main.memd.sqlite.corrupt-*"))) <= 1
        assert sorted(path.name for path in index.parent.iterdir() if "corrupt" not in path.name) == [
            "main.memd.sqlite"
        ]


def test_a_state_directory_that_goes_costs_no_wrong_answer_and_comes_back() -> None:
    with StateHome(settings()) as home:
        fill(home)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            check_whole(client)
            elsewhere = home.root / "elsewhere"
            # when everything goes, the notes too
            home.state.rename(elsewhere)
            # then nothing is found any more, and status says why
            assert client.search("word33").hits == []
            assert "workspace_missing" in [each.code for each in client.status().agents[0].problems]
            # when it is there again
            shutil.rmtree(home.state)
            elsewhere.rename(home.state)
            # then all is found again
            check_whole(client)


def problems(client: Client) -> list[str]:
    """Return what is wrong with the agent."""
    return [each.code for each in client.status().agents[0].problems]


def wait_healed(client: Client, path: str, query: str) -> None:
    """Wait until a note is in the index and nothing is wrong, without a search."""
    wait_until(lambda: problems(client) == [] and client.status().agents[0].files_pending == 0)
    assert client.search(query).hits[0].path == path


def test_a_full_disk_costs_no_search_and_what_is_new_comes_in_once_there_is_room() -> None:
    with StateHome() as home, small_disk(home.root / "disk"):
        disk = home.root / "disk"
        home.configure(settings(store={"path": str(disk / "{agentId}.sqlite")}))
        fill(home)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            check_whole(client)
            client.vacuum()  # leaves no room in the log either
            # when the disk is full, and a note is new
            ballast = fill_up(disk)
            home.note("memory/zebra.md", "a zebra was seen\n" + "stripes " * 4000)
            reply = client.search("word7")
            # then what is known is found, and reply and status say what is wrong
            assert reply.hits[0].path == "memory/007.md"
            assert reply.degraded is not None
            assert reply.degraded.code == "index_io"
            assert "no space left" in reply.degraded.reason
            assert problems(client) == ["index_io"]
            check_whole(client)
            # when there is room again, then it heals without anybody asking
            ballast.unlink()
            wait_healed(client, "memory/zebra.md", "zebra stripes")
            assert client.search("word7").degraded is None


@pytest.mark.long
def test_a_strangers_lock_costs_no_search_and_passes() -> None:
    with StateHome(settings()) as home:
        index = fill(home)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            stranger = apsw.Connection(str(index))
            try:
                stranger.execute("BEGIN EXCLUSIVE")
                home.note("memory/zebra.md", "a zebra was seen\n")
                reply = client.search("word7")
                assert reply.hits[0].path == "memory/007.md"
                assert reply.partial
                wait_until(lambda: problems(client) == ["index_io"])
                check_told(client, "locked")
                assert client.search("word8").hits[0].path == "memory/008.md"
            finally:
                stranger.close()
            wait_healed(client, "memory/zebra.md", "zebra")


def check_told(client: Client, word: str) -> None:
    """Fail where the agent's problem doesn't hold a word."""
    assert word in client.status().agents[0].problems[0].message


def test_an_agent_on_a_read_only_disk_says_so_and_is_served_once_it_can_be_written() -> None:
    with StateHome() as home, small_disk(home.root / "disk"):
        disk = home.root / "disk"
        home.configure(settings(store={"path": str(disk / "{agentId}.sqlite")}))
        fill(home)
        remount(disk, "ro")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            assert problems(client) == ["index_io"]
            check_told(client, "ead-only")
            remount(disk, "rw")
            wait_until(lambda: problems(client) == [])
            check_whole(client)
