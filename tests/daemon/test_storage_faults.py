"""Faults of disks, indexes and descriptors: the daemon answers, reports, recovers."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from memd_client import Client
from memd_client.errors import MemdError
from tests.support.daemon import DaemonProcess
from tests.support.sockets import wait_until
from tests.support.state_homes import UNWATCHED, StateHome
from tests.support.system_faults import fill_up, remount, small_disk

NOTES = 60


def settings(**search: Any) -> dict[str, Any]:
    """Return settings without a model and without file events."""
    return {
        "agents": {"defaults": {"memorySearch": {"provider": "none", "sync": {"watch": False}, **search}}}
    }


def fill(home: StateHome) -> Path:
    """Write the notes; return the path of their index."""
    for number in range(NOTES):
        home.note(f"memory/{number:03d}.md", f"entry {number} about apples\n\n" + f"word{number} " * 60)
    return home.state / "memory" / "main.memd.sqlite"


def check_all_found(client: Client) -> None:
    """Check that each note is the first hit of its query."""
    for number in range(0, NOTES, 7):
        reply = client.search(f"word{number}", deadline_ms=10_000)
        assert [hit.path for hit in reply.hits][:1] == [f"memory/{number:03d}.md"]


def open_index_files(pid: int) -> list[str]:
    """Return the index files that a process has open."""
    names = [os.readlink(f"/proc/{pid}/fd/{each}") for each in os.listdir(f"/proc/{pid}/fd")]
    return [name for name in names if ".sqlite" in name]


def reopened(daemon: DaemonProcess) -> int:
    """Return how often an agent was reopened."""
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


def test_index_damaged_while_open_is_rebuilt_automatically() -> None:
    with StateHome(settings()) as home:
        index = fill(home)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            check_all_found(client)
            before = len(open_index_files(daemon.pid))
            for number, harm in enumerate(HARMS):
                # when
                harm(index)
                first = client.search("word33 apples", deadline_ms=10_000)
                # then the next search is correct, with the index file at its path
                assert first.hits[0].path == "memory/033.md", harm.__name__
                assert reopened(daemon) == number + 1, harm.__name__
                check_all_found(client)
                assert client.status().agents[0].files == NOTES
                assert index.exists()
                assert not [name for name in open_index_files(daemon.pid) if "(deleted)" in name], (
                    harm.__name__
                )
                assert len(open_index_files(daemon.pid)) <= before + 3
            assert len(list(index.parent.glob("main.memd.sqlite.corrupt-*"))) <= 1
        names = sorted(path.name for path in index.parent.iterdir() if "corrupt" not in path.name)
        assert names == ["main.memd.sqlite", "recalls.jsonl"]


def test_missing_state_directory_gives_no_wrong_reply_and_recovers() -> None:
    with StateHome(settings()) as home:
        fill(home)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            check_all_found(client)
            elsewhere = home.root / "elsewhere"
            # when the whole directory disappears, notes included
            home.state.rename(elsewhere)
            # then there are no hits, and status gives the reason
            assert client.search("word33").hits == []
            assert "workspace_missing" in [each.code for each in client.status().agents[0].problems]
            # when it is restored
            shutil.rmtree(home.state)
            elsewhere.rename(home.state)
            # then all notes are found again
            check_all_found(client)


def problems(client: Client) -> list[str]:
    """Return the agent's problem codes."""
    return [each.code for each in client.status().agents[0].problems]


def wait_recovered(client: Client, path: str, query: str) -> None:
    """Wait without a search until no problem and no pending file is left."""
    wait_until(lambda: problems(client) == [] and client.status().agents[0].files_pending == 0)
    assert client.search(query).hits[0].path == path


def test_full_disk_keeps_search_working_and_new_notes_are_indexed_after_it() -> None:
    with StateHome() as home, small_disk(home.root / "disk"):
        disk = home.root / "disk"
        home.configure(settings(store={"path": str(disk / "{agentId}.sqlite")}))
        fill(home)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            check_all_found(client)
            client.vacuum()  # leaves no free space in the WAL either
            # when the disk is full, and a note is new
            ballast = fill_up(disk)
            home.note("memory/zebra.md", "a zebra was seen\n" + "stripes " * 4000)
            reply = client.search("word7")
            # then indexed notes are found; reply and status report the fault
            assert reply.hits[0].path == "memory/007.md"
            assert reply.degraded is not None
            assert reply.degraded.code == "index_io"
            assert "no space left" in reply.degraded.reason
            assert problems(client) == ["index_io"]
            check_all_found(client)
            # when space is free again, then it recovers without a request
            ballast.unlink()
            wait_recovered(client, "memory/zebra.md", "zebra stripes")
            assert client.search("word7").degraded is None


@pytest.mark.long
def test_lock_of_another_process_keeps_search_working() -> None:
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
                check_problem_message(client, "locked")
                assert client.search("word8").hits[0].path == "memory/008.md"
            finally:
                stranger.close()
            wait_recovered(client, "memory/zebra.md", "zebra")


def check_problem_message(client: Client, word: str) -> None:
    """Check that the message of the agent's problem holds a word."""
    assert word in client.status().agents[0].problems[0].message


def test_agent_on_a_read_only_disk_is_reported_and_opened_once_it_is_writable() -> None:
    with StateHome() as home, small_disk(home.root / "disk"):
        disk = home.root / "disk"
        home.configure(settings(store={"path": str(disk / "{agentId}.sqlite")}))
        fill(home)
        remount(disk, "ro")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            assert problems(client) == ["index_io"]
            check_problem_message(client, "ead-only")
            remount(disk, "rw")
            wait_until(lambda: problems(client) == [])
            check_all_found(client)


def corrupt(index: Path) -> None:
    """Overwrite an index after its first page."""
    size = index.stat().st_size
    with index.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (size - 4096))
    for log in (index.with_name(index.name + "-wal"),):
        log.write_bytes(b"")


def test_corrupted_index_is_quarantined_and_rebuilt_while_the_daemon_runs() -> None:
    with StateHome(UNWATCHED) as home:
        for number in range(200):
            home.note(f"memory/{number:03d}.md", f"entry {number} about apples\n\n" + f"word{number} " * 300)
        index = home.state / "memory" / "main.memd.sqlite"
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            before = client.status().agents[0].chunks
            client.vacuum()  # so that the WAL holds no pages, and the corruption of the file shows

            corrupt(index)
            for number in range(200):  # cached pages still answer; a damaged one is read sooner or later
                client.search(f"word{number}")
            wait_until(lambda: "agent.reopened" in {event["event"] for event in daemon.events()})

            done = daemon.wait_for(lambda status: status.agents[0].chunks == before)
            assert done.agents[0].files == 200
            assert client.search("word77").hits[0].path == "memory/077.md"
            assert len(list(index.parent.glob("main.memd.sqlite.corrupt-*"))) == 1


def test_agent_that_failed_to_open_is_opened_once_the_fault_is_gone() -> None:
    with StateHome(UNWATCHED) as home:
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


SETTINGS = {"agents": {"defaults": {"memorySearch": {"provider": "none", "sync": {"watchDebounceMs": 50}}}}}


def open_other_files(pid: int) -> int:
    """Return a process's number of descriptors, without those of index files."""
    held = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            held.append(os.readlink(f"/proc/{pid}/fd/{number}"))
    return sum(".sqlite" not in path for path in held)


def block_descriptors(pid: int) -> tuple[int, int]:
    """Let a process open no more descriptors; return its earlier limits."""
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, hard))
    return soft, hard


def warm_up(client: Client) -> None:
    """Open all files that a search needs."""
    for _ in range(8):
        assert client.search("cormorant").hits


def test_search_without_descriptors_answers_and_loses_nothing() -> None:
    with StateHome(SETTINGS) as home:
        home.note("MEMORY.md", "the cormorant nests on the pier\n")
        gone = home.note("memory/gone.md", "a cormorant that flew away\n")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            warm_up(client)
            pid = client.status().pid
            # when: the process can't open a folder any more, and a file is deleted
            limits = block_descriptors(pid)
            gone.unlink()
            try:
                reply = client.search("cormorant")
                # then: keyword search answers without the deleted file, and reports the fault
                assert [hit.path for hit in reply.hits] == ["MEMORY.md"]
                assert reply.degraded is not None
                assert "Too many open files" in reply.degraded.reason
                assert "LimitNOFILE" in reply.degraded.hint
            finally:
                resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
            # when: the limit is restored
            home.note("memory/new.md", "the heron came back\n")
            healed = client.search("heron cormorant")
            # then
            assert healed.degraded is None
            assert {hit.path for hit in healed.hits} == {"MEMORY.md", "memory/new.md"}


@pytest.mark.long
def test_descriptors_do_not_grow_with_the_number_of_files() -> None:
    with StateHome(SETTINGS) as home:
        home.note("memory/a.md", "the cormorant nests on the pier\n")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            warm_up(client)
            before = open_other_files(client.status().pid)
            for number in range(2000):
                home.note(f"memory/many/{number}.md", "one more\n")
            client.index()
            warm_up(client)
            assert abs(open_other_files(client.status().pid) - before) <= 4
