"""A daemon that may open nothing more: it answers, says so, forgets nothing, and heals."""

from __future__ import annotations

import contextlib
import os
import resource

import pytest

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.homes import StateHome

SETTINGS = {"agents": {"defaults": {"memorySearch": {"provider": "none", "sync": {"watchDebounceMs": 50}}}}}


def open_beside_index(pid: int) -> int:
    """Return how many descriptors a process holds beside those of an index, whose readers come and go."""
    held = []
    for number in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            held.append(os.readlink(f"/proc/{pid}/fd/{number}"))
    return sum(".sqlite" not in path for path in held)


def exhaust(pid: int) -> tuple[int, int]:
    """Let a process open nothing more, and return its limits as they were."""
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, hard))
    return soft, hard


def warm(client: Client) -> None:
    """Have the daemon open all it needs for a search."""
    for _ in range(8):
        assert client.search("cormorant").hits


def test_without_descriptors_searches_answer_and_nothing_is_forgotten() -> None:
    with StateHome(SETTINGS) as home:
        home.note("MEMORY.md", "the cormorant nests on the pier\n")
        gone = home.note("memory/gone.md", "a cormorant that flew away\n")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            warm(client)
            pid = client.status().pid
            # when: the process can't open a folder any more, and a file goes
            limits = exhaust(pid)
            gone.unlink()
            try:
                reply = client.search("cormorant")
                # then: words answer, what is gone is not among them, and the reply says what is wrong
                assert [hit.path for hit in reply.hits] == ["MEMORY.md"]
                assert reply.degraded is not None
                assert "Too many open files" in reply.degraded.reason
                assert "LimitNOFILE" in reply.degraded.hint
            finally:
                resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
            # when: it may again
            home.note("memory/new.md", "the heron came back\n")
            healed = client.search("heron cormorant")
            # then
            assert healed.degraded is None
            assert {hit.path for hit in healed.hits} == {"MEMORY.md", "memory/new.md"}


@pytest.mark.long
def test_many_files_do_not_cost_descriptors() -> None:
    with StateHome(SETTINGS) as home:
        home.note("memory/a.md", "the cormorant nests on the pier\n")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            warm(client)
            before = open_beside_index(client.status().pid)
            for number in range(2000):
                home.note(f"memory/many/{number}.md", "one more\n")
            client.index()
            warm(client)
            assert abs(open_beside_index(client.status().pid) - before) <= 4
