"""I/O errors of the disk under a running daemon: reported, survived, cleared."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

import pytest

from memd_client.errors import (
    AgentReloadingError,
    IndexCorruptError,
    IndexIOError,
    IndexLostError,
    MemdError,
)
from tests.support.daemon import DaemonProcess
from tests.support.sockets import wait_until
from tests.support.state_homes import UNWATCHED, StateHome
from tests.support.system_faults import FailingIO

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD is Linux's")

NOTES = 400


@pytest.fixture
def home() -> Iterator[StateHome]:
    with StateHome(UNWATCHED) as home:
        for number in range(NOTES):
            home.note(f"memory/{number:03}.md", f"entry {number} of apples\n\n" + f"word{number} " * 80)
        yield home


def codes(daemon: DaemonProcess) -> list[str]:
    with daemon.client() as client:
        return [problem.code for problem in client.status().agents[0].problems]


def finds(daemon: DaemonProcess, word: str) -> bool:
    with daemon.client() as client:
        try:
            return bool(client.search(word, deadline_ms=5_000).hits)
        except MemdError:
            return False


def test_write_errors_keep_the_index_searchable_and_are_caught_up(home: StateHome) -> None:
    disk = FailingIO(home.root)
    with DaemonProcess(home, disk.environ) as daemon, daemon.client() as client:
        client.index()
        disk.fail("writes")
        home.note("memory/new.md", "written while the disk failed: quince\n")
        # then indexed notes are found, and the fault is reported
        assert client.search("word7", deadline_ms=5_000).hits[0].path == "memory/007.md"
        wait_until(lambda: "index_io" in codes(daemon))
        # and it clears without a request
        disk.mend()
        wait_until(lambda: not codes(daemon))
        assert finds(daemon, "quince")


def test_read_errors_give_no_wrong_reply_and_clear(home: StateHome) -> None:
    disk = FailingIO(home.root)
    with DaemonProcess(home, disk.environ) as daemon, daemon.client() as client:
        client.index()
    inode = (home.state / "memory" / "main.memd.sqlite").stat().st_ino
    with DaemonProcess(home, disk.environ) as daemon:
        disk.fail("reads")
        with daemon.client() as client:
            for number in range(0, NOTES, 40):
                with contextlib.suppress(
                    IndexIOError, IndexLostError, IndexCorruptError, AgentReloadingError
                ):
                    reply = client.search(f"word{number}", deadline_ms=20_000)
                    assert [hit.path for hit in reply.hits][:1] == [f"memory/{number:03}.md"]
            disk.mend()
            wait_until(lambda: finds(daemon, "word399"))
            wait_until(lambda: not codes(daemon))
    # and the file is the same: no rebuild, no lost vector
    memory = home.state / "memory"
    assert {file.name for file in memory.iterdir()} <= {"main.memd.sqlite", "recalls.jsonl"}
    assert (memory / "main.memd.sqlite").stat().st_ino == inode
