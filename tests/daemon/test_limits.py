"""Limits of connections, clients and files: named refusals, others unaffected."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memd.rpc.limits import Limits
from memd.system.units import size
from memd_client import Client
from memd_client.errors import NoteUnwritableError, TooManyConnectionsError
from tests.support.daemon import DaemonProcess
from tests.support.many_connections import ManyConnections
from tests.support.sockets import RawClient, wait_until
from tests.support.state_homes import KEYWORD_ONLY, StateHome

WORDS = [f"word{number}" for number in range(800)]


def open_files(pid: int) -> int:
    """Return the number of a process's open descriptors."""
    return len(os.listdir(f"/proc/{pid}/fd"))


def fill(home: StateHome, files: int) -> None:
    """Write notes that make a search costly."""
    choice = random.Random(1).choice
    for number in range(files):
        parts = ["# part\n" + " ".join(choice(WORDS) for _ in range(60)) for _ in range(8)]
        home.note(f"memory/{number}.md", "\n\n".join(parts))


def p95(counts: list[int]) -> int:
    """Return the 95th percentile."""
    return sorted(counts)[int(len(counts) * 0.95)]


def ask(client: Client, times: int, others: Callable[[], int] = lambda: 0) -> list[int]:
    """Search repeatedly with alternating queries."""
    choice = random.Random(3).choice
    meanwhile = []
    for _ in range(times):
        before = others()
        assert client.search(" ".join(choice(WORDS) for _ in range(4))).hits
        meanwhile.append(others() - before)
    return meanwhile


class Greedy:
    """A context manager: a client that keeps as many searches in flight as it may."""

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
        self._thread.join(120)

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


def test_greedy_client_does_not_starve_a_polite_one() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        fill(home, 60)
        with DaemonProcess(home) as daemon, daemon.client() as polite:
            polite.index()
            ask(polite, 10)
            # given: two clients with 64 searches in flight each
            with Greedy(home.socket) as first, Greedy(home.socket) as second:
                waited = p95(ask(polite, 30, lambda: first.answered + second.answered))
            # then: a query waited for a few searches, not for all 128 queued ones
            assert waited < 64
            assert not first.refused
            assert first.answered


def stalled_reader(path: Path, replies: int) -> RawClient:
    """Return a client that requests many large replies and reads none."""
    slow = RawClient(path).greet()
    for request_id in range(1, replies + 1):
        slow.send([0, request_id, "get", {"path": "MEMORY.md"}])
    return slow


@pytest.mark.long
def test_slow_reader_delays_no_other_client_and_its_memory_is_bounded() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "the cormorant nests\n" * 200_000)
        home.note("memory/small.md", "the heron stands\n")
        with DaemonProcess(home) as daemon, daemon.client() as polite:
            polite.index()
            assert polite.search("heron").hits
            before = polite.status().rss_bytes
            # when: it requests 64 replies of 4 MB
            with stalled_reader(home.socket, 64):
                for _ in range(20):
                    assert polite.search("heron").hits
                # then: 64 MB of frames waited plus a few values, not 256 MB
                assert polite.status().rss_bytes < before + 150 * 1_048_576
            wait_until(lambda: polite.status().connections == 1)


@pytest.mark.long
def test_many_clients_that_never_read_delay_no_search_and_their_replies_are_bounded() -> None:
    with StateHome(KEYWORD_ONLY) as home, contextlib.ExitStack() as stalled:
        home.note("MEMORY.md", "the cormorant nests\n" * 500_000)
        home.note("memory/small.md", "the heron stands\n")
        with DaemonProcess(home) as daemon, daemon.client() as polite:
            polite.index()
            assert polite.search("heron").hits
            before, peak = polite.status().rss_bytes, 0
            # when: 120 clients request 480 replies of 4 MB, 1.9 GB
            for _ in range(120):
                stalled.enter_context(stalled_reader(home.socket, 4))
            served = []
            for _ in range(40):
                started = answered_gets(polite)
                assert polite.search("heron").hits
                served.append(answered_gets(polite) - started)
                peak = max(peak, polite.status().rss_bytes)
            # then: 96 MB of frames waited, and a search for the few requests that were running
            assert peak < before + 250 * 1_048_576
            assert max(served) < 40
            assert "rpc.slow_reader_dropped" in {event["event"] for event in daemon.events()}


def answered_gets(client: Client) -> float:
    """Return the number of `get` requests that the daemon has answered."""
    rows = (
        row for each in client.metrics().metrics if each.name == "memd_requests_total" for row in each.samples
    )
    return sum(row.value for row in rows if row.labels["method"] == "get")


@pytest.mark.long
def test_slow_reader_is_disconnected_and_named_in_the_log() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "the cormorant nests\n" * 40_000)
        with DaemonProcess(home) as daemon, daemon.client() as polite:
            polite.index()
            with stalled_reader(home.socket, 8):
                daemon.wait_for(lambda status: status.connections == 2, Limits().stall_s + 20)
            assert "rpc.slow_reader_dropped" in {event["event"] for event in daemon.events()}


def check_connection_storm(home: StateHome, daemon: DaemonProcess, connects: int, seconds: float) -> None:
    """Open many connections; check that old and new clients are served meanwhile."""
    with daemon.client() as old:
        assert old.search("cormorant").hits
        files = open_files(daemon.pid)
        most = 0
        with ManyConnections(home.socket, connects, seconds) as crowd:
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                assert old.search("cormorant").hits
                most = max(most, open_files(daemon.pid))
                with daemon.client() as new:
                    assert new.search("cormorant").hits
        assert crowd.connected == connects
        # then: the connection limit bounded the descriptors, and all are closed again
        assert most <= files + 2 * Limits().connections
        wait_until(lambda: old.status().connections == 1)
        assert open_files(daemon.pid) <= files + 8


def test_connection_storm_leaves_old_and_new_clients_served() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "the cormorant nests\n")
        with DaemonProcess(home) as daemon:
            check_connection_storm(home, daemon, connects=1000, seconds=1)


@pytest.mark.long
def test_five_thousand_connects_in_five_seconds_leave_clients_served() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "the cormorant nests\n")
        with DaemonProcess(home) as daemon:
            check_connection_storm(home, daemon, connects=5000, seconds=5)


def test_daemon_raises_its_descriptor_limit_and_survives_exhaustion() -> None:
    # given: a daemon that is started with few
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "the cormorant nests\n")
        daemon = DaemonProcess(home, fresh=True)
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
            # when: 40 connect, and descriptors are left for about 12
            resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (open_files(daemon.pid) + 12, hard))
            with contextlib.ExitStack() as stack:
                for _ in range(40):
                    peer = stack.enter_context(socket.socket(socket.AF_UNIX))
                    peer.connect(str(home.socket))
                # then: the connected client is served
                assert client.search("cormorant").hits
                resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (soft, hard))
            # when: the limit is restored; then: new clients are accepted
            with daemon.client() as new:
                assert new.search("cormorant").hits


def test_connection_beyond_the_limit_gets_an_error_and_is_accepted_once_one_closes() -> None:
    limit = Limits().connections
    with StateHome(KEYWORD_ONLY) as home, DaemonProcess(home) as daemon, contextlib.ExitStack() as stack:
        peers = [stack.enter_context(RawClient(home.socket)).greet() for _ in range(limit)]
        with RawClient(home.socket) as late:
            reply = late.read()
            assert (reply[1], reply[2]["code"]) == (0, "too_many_connections")
        peers[0].sock.close()
        with daemon.client() as client:
            wait_until(lambda: _is_accepted(client))


def _is_accepted(client: Client) -> bool:
    """Return whether the daemon greets a client."""
    try:
        client.hello()
    except TooManyConnectionsError:
        return False
    return True


MB = 1_048_576

FILE_WORDS = 200_000

LIMITS = "max_file_mb = 1\nmax_agent_mb = 3\nmax_agent_files = 10\n"


@pytest.fixture
def limited() -> Iterator[tuple[DaemonProcess, Client]]:
    """A memory with limits of 1 MB a file, 3 MB and 10 files, and a client."""
    config = KEYWORD_ONLY
    with StateHome(config) as home:
        (home.root / "memd.toml").write_text(LIMITS)
        with DaemonProcess(home) as daemon, daemon.client() as client:
            yield daemon, client


def nearly_full(home: StateHome, path: str, spare: int) -> None:
    """Write a file that ends `spare` bytes below the limit."""
    line = "filler " * 9 + "\n"
    text = line * (MB // len(line))
    home.note(path, text[: MB - spare - 1] + "\n")


def test_facts_and_notes_that_continue_in_a_next_file_are_found(
    limited: tuple[DaemonProcess, Client],
) -> None:
    daemon, client = limited
    home = daemon.home
    nearly_full(home, "memory/facts.md", 200)
    nearly_full(home, "memory/2026-11-24.md", 60)
    facts = {
        word: client.memory_store(f"The {word} is in the shed") for word in ("lantern", "kettle", "anvil")
    }
    notes = {
        word: client.append_note(f"The {word} was repaired.", date="2026-11-24", key=word)
        for word in ("bicycle", "gutter", "chimney")
    }
    assert {reply.path for reply in facts.values()} == {"memory/facts.md", "memory/facts-2.md"}
    assert {reply.path for reply in notes.values()} == {"memory/2026-11-24.md", "memory/2026-11-24-2.md"}
    client.index()
    paths = {word: reply.path for word, reply in facts.items()}
    paths |= {word: reply.path for word, reply in notes.items()}
    for word, path in paths.items():
        hit = client.search(word).hits[0]
        assert (hit.path, word in hit.snippet) == (path, True)
    assert not client.append_note("The gutter was repaired.", date="2026-11-24", key="gutter").appended
    assert client.memory_recall("anvil").facts[0].path == "memory/facts-2.md"
    assert client.memory_forget(id=facts["anvil"].id).forgotten is not None
    assert not client.search("anvil").hits


def test_note_beyond_the_limits_is_refused_by_name(limited: tuple[DaemonProcess, Client]) -> None:
    daemon, client = limited
    home = daemon.home
    for path in ("memory/facts.md", "memory/2026-11-23.md", "memory/2026-11-24.md"):
        nearly_full(home, path, 20)
    with pytest.raises(NoteUnwritableError, match="`max_agent_mb`"):
        client.memory_store("The lantern is in the shed")
    with pytest.raises(NoteUnwritableError, match="`max_agent_mb`"):
        client.append_note("The gutter was repaired. " * 4, date="2026-11-24")
    assert not (home.workspace() / "memory/facts-2.md").exists()


def test_facts_are_found_however_many_newer_notes_exist(limited: tuple[DaemonProcess, Client]) -> None:
    daemon, client = limited
    home = daemon.home
    client.memory_store("The lantern is in the shed")
    for number in range(15):
        home.note(f"memory/note-{number}.md", f"note number {number}\n")
    assert client.search("lantern").hits[0].path == "memory/facts.md"
    assert any(problem.code == "memory_beyond_limits" for problem in client.status().agents[0].problems)


def test_file_beyond_the_limit_is_searched_up_to_it(limited: tuple[DaemonProcess, Client]) -> None:
    daemon, client = limited
    home = daemon.home
    lines = [f"word{number} stands here, möglicherweise\n" for number in range(FILE_WORDS // 4)]
    text = "".join(lines)
    assert len(text.encode()) > MB
    big = home.note("memory/big.md", text)
    inside = text.encode()[:MB].decode(errors="ignore").rpartition("\n")[0].count("\n")

    client.index()
    first, last = client.search("word7").hits[0], client.search(f"word{inside}").hits[0]
    assert f"word{inside} stands here" in last.snippet
    assert last.snippet in text
    assert first.start_line <= 8 <= first.end_line
    assert last.end_line == inside + 1
    assert not client.search(f"word{inside + 1}").hits
    got = client.get("memory/big.md", from_line=inside + 1)
    assert (got.text.rstrip("\n"), got.lines, got.total_lines) == (lines[inside].rstrip("\n"), 1, inside + 1)

    said = f"indexed up to 1.05 MB of {size(len(text.encode()))}"
    status = client.status().agents[0]
    assert [(each.path, each.reason.split(";")[0]) for each in status.skipped] == [("memory/big.md", said)]
    assert status.files_pending == 0
    listed = client.files()
    assert [row.path for row in listed.files] == ["memory/big.md"]
    assert said in listed.skipped[0].reason
    findings = json.loads(daemon.memctl("doctor", "--json").stdout)["findings"]
    assert any(said in finding["found"] for finding in findings)

    # When the file changes, then deleted text is not found, and new text within the limit is.
    big.write_text(text.replace("word7 ", "gooseberry ", 1))
    assert not [hit for hit in client.search("word7").hits if "word7 " in hit.snippet]
    client.index()
    assert "gooseberry" in client.search("gooseberry").hits[0].snippet
    with big.open("a") as file:
        file.write("raspberry\n")
    client.index()
    assert not client.search("raspberry").hits
    big.write_text("raspberry\n")
    client.index()
    assert client.search("raspberry").hits
    assert client.status().agents[0].skipped == []
