"""Any kind of standard error: the daemon answers, and ends on request."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memd_client import Client
from memd_client.errors import AgentUnknownError, MemdError
from tests.support.mcp_session import HELLO, INITIALIZED
from tests.support.standard_error import (
    CLOSED_STREAMS,
    daemon,
    full_pipe,
    full_socket,
    full_terminal,
    mcp_server,
)
from tests.support.state_homes import KEYWORD_ONLY, StateHome
from tests.support.system_faults import fill_up, small_disk

READY_S = 120.0
EXIT_S = 120.0
"""Far longer than an exit takes; a daemon that blocks on its log never ends."""

REQUESTS = 1500
"""Each logs about 100 bytes at level debug, so all exceed a pipe of 64 KiB."""


@pytest.fixture
def home() -> Iterator[StateHome]:
    settings = KEYWORD_ONLY
    with StateHome(settings) as made:
        made.note("MEMORY.md", "# Lease\n\nThe lease ends in May.\n")
        (made.root / "memd.toml").write_text('log_level = "debug"\n')
        yield made


def wait_ready(home: StateHome, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + READY_S
    while True:
        try:
            with Client(home.socket, autostart=False) as client:
                client.hello()
                return
        except MemdError:
            assert process.poll() is None, f"the daemon ended with {process.returncode}"
            assert time.monotonic() < deadline, "the daemon is not ready"
            threading.Event().wait(0.05)


def fill_the_log(home: StateHome) -> None:
    """Log more than a pipe or socket without a reader can buffer."""
    for _ in range(REQUESTS):
        with Client(home.socket, autostart=False) as client:
            client.hello()


def assert_serves_and_ends(home: StateHome, process: subprocess.Popen[bytes]) -> None:
    wait_ready(home, process)
    fill_the_log(home)
    with Client(home.socket, autostart=False) as client:
        assert [hit.path for hit in client.search("lease").hits] == ["MEMORY.md"]
        with pytest.raises(AgentUnknownError):
            client.search("lease", agent="nobody")
    process.send_signal(signal.SIGTERM)
    assert process.wait(EXIT_S) == 0
    assert not home.socket.exists()


@pytest.mark.parametrize("make", [full_pipe, full_socket, full_terminal])
def test_standard_error_without_a_reader_blocks_nothing(
    home: StateHome, make: Callable[[], tuple[int, Callable[[], None]]]
) -> None:
    stderr, close = make()
    try:
        with daemon(home, stderr) as process:
            assert_serves_and_ends(home, process)
    finally:
        os.close(stderr)
        close()


def test_closed_reader_of_standard_error_costs_only_the_log(home: StateHome) -> None:
    read, write = os.pipe()
    with daemon(home, write) as process:
        os.close(write)
        wait_ready(home, process)
        os.close(read)
        assert_serves_and_ends(home, process)


def test_full_disk_under_the_log_costs_only_the_log(home: StateHome, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    with small_disk(disk, "1m"), (disk / "daemon.log").open("ab") as log:
        fill_up(disk)
        with daemon(home, log.fileno()) as process:
            assert_serves_and_ends(home, process)


def test_closed_standard_descriptors_are_dev_null_in_the_daemon(home: StateHome) -> None:
    with daemon(home, subprocess.DEVNULL, CLOSED_STREAMS) as process:
        wait_ready(home, process)
        opened = [os.readlink(f"/proc/{process.pid}/fd/{number}") for number in range(3)]
        assert opened == ["/dev/null"] * 3
        assert_serves_and_ends(home, process)


OPENS_AND_COMPLAINS = """
import os, sys
from memd.cli import main
name = sys.argv[1]
def run(arguments, session):
    for _ in range(3):
        os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(2, b"a word of a library")
    print("a warning", file=sys.stderr)
    raise RuntimeError("a traceback")
main.run = run
main.main()
"""


def test_memctl_without_standard_descriptors_writes_into_no_file_it_opens(tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    done = subprocess.run(
        [sys.executable, "-c", CLOSED_STREAMS, "-c", OPENS_AND_COMPLAINS, str(opened)],
        check=False,
        timeout=120,
    )

    assert done.returncode == 1
    assert opened.read_bytes() == b""


def test_client_without_standard_descriptors_starts_a_daemon(home: StateHome) -> None:
    program = (
        "import sys; from memd_client import Client; Client(sys.argv[1], autostart=True).search('lease')"
    )
    done = subprocess.run(
        [sys.executable, "-c", CLOSED_STREAMS, "-c", program, str(home.socket)],
        env={**os.environ, **home.environ()},
        check=False,
        timeout=READY_S,
    )

    assert done.returncode == 0
    with Client(home.socket, autostart=False) as client:
        pid = client.status().pid
    try:
        assert os.readlink(f"/proc/{pid}/fd/2") == str(home.socket.with_name("memd.log"))
    finally:
        os.kill(pid, signal.SIGTERM)


def test_mcp_server_with_an_unread_standard_error_answers_and_ends(home: StateHome) -> None:
    tools = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    said = b"".join(json.dumps(each).encode() + b"\n" for each in (HELLO, INITIALIZED, tools))
    stderr, close = full_pipe()
    try:
        with mcp_server(home, stderr, READY_S) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write(b"this is no JSON\n" * 3 + said)
            server.stdin.flush()
            answers = [json.loads(server.stdout.readline()) for _ in range(2)]
            server.stdin.close()
            code = server.wait(EXIT_S)
    finally:
        os.close(stderr)
        close()

    assert [answer["id"] for answer in answers] == [0, 1]
    assert code == 0
