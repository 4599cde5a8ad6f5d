"""A real daemon at its limits: each is said by its own code, and whoever asks for little is served meanwhile."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memd.rpc.limits import Limits
from memd_client import Client
from memd_client.errors import TooManyConnectionsError
from tests.support.crowd import Crowd
from tests.support.daemon import DaemonProcess
from tests.support.homes import StateHome
from tests.support.sockets import RawClient, wait_until

NONE = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}

WORDS = [f"word{number}" for number in range(800)]


def open_files(pid: int) -> int:
    """Return how many descriptors a process holds."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def fill(home: StateHome, files: int) -> None:
    """Write notes whose searches are some work."""
    choice = random.Random(1).choice
    for number in range(files):
        parts = ["# part\n" + " ".join(choice(WORDS) for _ in range(60)) for _ in range(8)]
        home.note(f"memory/{number}.md", "\n\n".join(parts))


def p95(counts: list[int]) -> int:
    """Return the value that 95 of 100 don't exceed."""
    return sorted(counts)[int(len(counts) * 0.95)]


def ask(client: Client, times: int, others: Callable[[], int] = lambda: 0) -> list[int]:
    """Search again and again, one query after another."""
    choice = random.Random(3).choice
    meanwhile = []
    for _ in range(times):
        before = others()
        assert client.search(" ".join(choice(WORDS) for _ in range(4))).hits
        meanwhile.append(others() - before)
    return meanwhile


class Greedy:
    """A client that always has as many searches in flight as it may; a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.answered = 0
        self.refused: list[str] = []

    def __enter__(self) -> Greedy:
        self._thread.start()
        wait_until(lambda: self.answered > 3)
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def _run(self) -> None:
        choice = random.Random(2).choice
        with RawClient(self._path).greet() as peer:
            for request_id in range(1, 10**9):
                query = " ".join(choice(WORDS) for _ in range(8))
                peer.send([0, request_id, "search", {"query": query}])
                if request_id < Limits().requests_per_connection:
                    continue
                if self._stop.is_set():
                    return
                reply = peer.read()
                self.answered += 1
                if reply[2] is not None:
                    self.refused.append(reply[2]["code"])


def test_a_greedy_client_does_not_starve_a_polite_one() -> None:
    with StateHome(NONE) as home:
        fill(home, 60)
        with DaemonProcess(home) as daemon, daemon.client() as polite:
            polite.index()
            ask(polite, 10)
            # given: two clients with 64 searches in flight each
            with Greedy(home.socket) as first, Greedy(home.socket) as second:
                waited = p95(ask(polite, 30, lambda: first.answered + second.answered))
            # then: a query waited for a few searches, not for the 128 in line
            assert waited < 64
            assert not first.refused
            assert first.answered


def stall(path: Path, replies: int) -> RawClient:
    """Return a client that asks for many large replies and reads none."""
    slow = RawClient(path).greet()
    for request_id in range(1, replies + 1):
        slow.send([0, request_id, "get", {"path": "MEMORY.md"}])
    return slow


@pytest.mark.long
def test_a_slow_reader_holds_up_nobody_and_its_memory_is_bounded() -> None:
    with StateHome(NONE) as home:
        home.note("MEMORY.md", "the cormorant nests\n" * 200_000)
        home.note("memory/small.md", "the heron stands\n")
        with DaemonProcess(home) as daemon, daemon.client() as polite:
            polite.index()
            assert polite.search("heron").hits
            before = polite.status().rss_bytes
            # when: it asks for 64 replies of 4 MB
            with stall(home.socket, 64):
                for _ in range(20):
                    assert polite.search("heron").hits
                # then: 64 MB of frames wait, and a few values beside them, not 256 MB
                assert polite.status().rss_bytes < before + 150 * 1_048_576
            wait_until(lambda: polite.status().connections == 1)


@pytest.mark.long
def test_a_slow_reader_is_dropped_and_named_in_the_log() -> None:
    with StateHome(NONE) as home:
        home.note("MEMORY.md", "the cormorant nests\n" * 40_000)
        with DaemonProcess(home) as daemon, daemon.client() as polite:
            polite.index()
            with stall(home.socket, 8):
                daemon.wait_for(lambda status: status.connections == 2, Limits().stall_s + 20)
            assert "rpc.slow_reader_dropped" in {event["event"] for event in daemon.events()}


def hammer(home: StateHome, daemon: DaemonProcess, connects: int, seconds: float) -> None:
    """Let a storm of connections come, and hold that old and new clients are served in it."""
    with daemon.client() as old:
        assert old.search("cormorant").hits
        files = open_files(daemon.pid)
        most = 0
        with Crowd(home.socket, connects, seconds) as crowd:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                assert old.search("cormorant").hits
                most = max(most, open_files(daemon.pid))
                with daemon.client() as new:
                    assert new.search("cormorant").hits
        assert crowd.connected == connects
        # then: descriptors were bounded by the limit of connections, and none is left behind
        assert most <= files + 2 * Limits().connections
        wait_until(lambda: old.status().connections == 1)
        assert open_files(daemon.pid) <= files + 8


def test_a_storm_of_connections_leaves_old_and_new_clients_served() -> None:
    with StateHome(NONE) as home:
        home.note("MEMORY.md", "the cormorant nests\n")
        with DaemonProcess(home) as daemon:
            hammer(home, daemon, connects=1000, seconds=1)


@pytest.mark.long
def test_five_thousand_connects_in_five_seconds_leave_clients_served() -> None:
    with StateHome(NONE) as home:
        home.note("MEMORY.md", "the cormorant nests\n")
        with DaemonProcess(home) as daemon:
            hammer(home, daemon, connects=5000, seconds=5)


def test_the_daemon_raises_its_limit_of_descriptors_and_lives_without_any_left() -> None:
    # given: a daemon that is started with few
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with StateHome(NONE) as home:
        home.note("MEMORY.md", "the cormorant nests\n")
        daemon = DaemonProcess(home)
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
        try:
            daemon.start()
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        with contextlib.ExitStack() as stopping, daemon.client() as client:
            stopping.callback(daemon.stop)
            soft, hard = resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE)
            assert soft == min(8192, hard)
            for _ in range(8):
                assert client.search("cormorant").hits
            # when: there is room for about 12 more, and 40 come
            resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (open_files(daemon.pid) + 12, hard))
            with contextlib.ExitStack() as stack:
                for _ in range(40):
                    peer = stack.enter_context(socket.socket(socket.AF_UNIX))
                    peer.connect(str(home.socket))
                # then: who was there is served
                assert client.search("cormorant").hits
                resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (soft, hard))
            # when: the limit is as before; then: whoever comes is let in
            with daemon.client() as new:
                assert new.search("cormorant").hits


def test_a_connection_too_many_is_told_and_served_once_there_is_room() -> None:
    limit = Limits().connections
    with StateHome(NONE) as home, DaemonProcess(home) as daemon, contextlib.ExitStack() as stack:
        peers = [stack.enter_context(RawClient(home.socket)).greet() for _ in range(limit)]
        with RawClient(home.socket) as late:
            reply = late.read()
            assert (reply[1], reply[2]["code"]) == (0, "too_many_connections")
        peers[0].sock.close()
        with daemon.client() as client:
            wait_until(lambda: _is_let_in(client))


def _is_let_in(client: Client) -> bool:
    """Say whether the daemon greets a client."""
    try:
        client.hello()
    except TooManyConnectionsError:
        return False
    return True
