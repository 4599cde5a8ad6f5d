"""Start, stop, kill and restart: one daemon at a time, a clean end, no lost state."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from memd_client.discovery import EXIT_ALREADY_RUNNING
from memd_client.errors import DaemonUnreachableError
from memd_client.messages import AgentStatus, StatusReply
from tests.support.daemon import DaemonProcess
from tests.support.edits import Edit, EditedMemory, differences
from tests.support.models import minilm_path
from tests.support.state_homes import KEYWORD_ONLY, StateHome


def test_second_daemon_exits_and_reports_the_first() -> None:
    with StateHome(KEYWORD_ONLY) as home, DaemonProcess(home) as first:
        second = DaemonProcess(home)
        second.start(wait=False)
        assert second.wait_exit() == EXIT_ALREADY_RUNNING
        assert str(first.pid) in second.log_tail()
        with first.client() as client:
            assert client.hello().pid == first.pid


def test_sigterm_ends_cleanly_and_removes_the_socket() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "apples\n")
        daemon = DaemonProcess(home).start()
        with daemon.client() as client:
            client.search("apples")
        assert daemon.stop() == 0
        assert not home.socket.exists()
        names = sorted(path.name for path in (home.state / "memory").iterdir())
        assert names == ["main.memd.sqlite", "recalls.jsonl"]
        with pytest.raises(DaemonUnreachableError):
            daemon.client().status()


def test_next_daemon_after_kill_9_answers_from_the_existing_index() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        for number in range(50):
            home.note(f"memory/{number}.md", f"apples number {number}\n")
        daemon = DaemonProcess(home).start()
        with daemon.client() as client:
            client.index()
        daemon.kill()
        assert home.socket.exists()  # a stale socket, which must not prevent the start
        with DaemonProcess(home) as again, again.client() as client:
            reply = client.index().agents[0]
            assert (reply.files, reply.files_changed) == (50, 0)
            assert client.search("apples").hits


def test_socket_and_its_directory_are_private_to_the_user() -> None:
    with StateHome(KEYWORD_ONLY) as home, DaemonProcess(home):
        assert os.stat(home.socket.parent).st_mode & 0o077 == 0
        assert os.stat(home.state / "memory" / "main.memd.sqlite").st_mode & 0o077 == 0


def test_client_reconnects_to_the_next_daemon() -> None:
    with StateHome(KEYWORD_ONLY) as home:
        home.note("MEMORY.md", "apples\n")
        daemon = DaemonProcess(home).start()
        with daemon.client() as client:
            assert client.search("apples").hits
            daemon.kill()
            daemon.start()
            assert client.search("apples").hits
        daemon.stop()


WORDS = "apple river stone cloud garden window bread paper horse light winter music".split()


def settings(**more: Any) -> dict[str, Any]:
    """Return settings without file events: only searches and `index` sync."""
    sync = {"watch": False, "onSearch": False}
    return {"agents": {"defaults": {"memorySearch": {"provider": "none", "sync": sync, **more}}}}


MINILM = settings(provider="local", local={"modelPath": "minilm"})


def first(status: StatusReply) -> AgentStatus:
    """Return the status of the one agent."""
    return status.agents[0]


def test_notes_written_while_no_daemon_ran_are_indexed_or_pending() -> None:
    with StateHome(settings()) as home:
        memory = EditedMemory(home.workspace())
        for number in range(20):
            memory.do(Edit("write", f"memory/before/{number}.md"))
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
        for number in range(300):
            memory.do(Edit("write", f"memory/meanwhile/{number}.md"))
        memory.do(Edit("delete", "memory/before/3.md"))
        memory.do(Edit("swap_words_and_time", "memory/before/4.md"))
        with DaemonProcess(home) as daemon, daemon.client() as client:
            status = first(client.status())
            # 319 in the end. The sum may lack files that were indexed between the two counts.
            assert status.files_pending == 0 or status.files + status.files_pending >= 300
            daemon.wait_for(lambda status: first(status).files_pending == 0)
            assert differences(client, memory) == []
            assert first(client.status()).files == 319


def test_first_search_after_a_restart_excludes_notes_deleted_meanwhile() -> None:
    with StateHome(settings()) as home:
        memory = EditedMemory(home.workspace())
        for number in range(200):
            memory.do(Edit("write", f"memory/{number}.md"))
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
        gone = memory.words[7]
        memory.do(Edit("delete", "memory/7.md"))
        for number in range(100, 200):
            memory.do(Edit("replace", f"memory/{number}.md"))
        with DaemonProcess(home) as daemon, daemon.client() as client:
            assert client.search(gone).hits == []
            reply = client.search(memory.words[150])  # its file holds another word now
            assert reply.hits == []


def test_missing_model_is_reported_the_same_before_and_after_a_restart() -> None:
    with StateHome(settings(provider="local", local={"modelPath": "/nowhere/model.gguf"})) as home:
        home.note("MEMORY.md", "The gateway listens on port 8443.\n")
        told = []
        for _ in range(2):
            with DaemonProcess(home) as daemon, daemon.client() as client:
                daemon.wait_for(lambda status: first(status).files == 1)
                reply = client.search("gateway port")
                assert reply.hits
                assert reply.degraded is not None
                status = first(client.status())
                told.append((reply.degraded.code, reply.pending, status.files_pending, status.chunks_pending))
        assert told[0] == told[1]


@pytest.mark.model
@pytest.mark.parametrize("end", ["kill", pytest.param("stop", marks=pytest.mark.long)])
def test_pending_vectors_stay_pending_over_a_restart_and_none_is_computed_twice(end: str) -> None:
    minilm_path()
    chance = random.Random(1)
    with StateHome(MINILM) as home:
        (home.root / "memd.toml").write_text(
            "model_threads = 1\n"
        )  # two threads would wait for each other on a busy machine
        for number in range(160):
            words = " ".join(chance.choices(WORDS, k=30))
            home.note(f"memory/{number:03d}.md", f"Entry {number}: {words}\n")
        daemon = DaemonProcess(home).start()
        begun = first(
            daemon.wait_for(lambda status: first(status).vectors >= 40 and first(status).files == 160)
        )
        assert begun.chunks_pending > 0
        getattr(daemon, end)()
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=300) as client:
            after = first(client.status())
            assert after.vectors >= begun.vectors
            assert 0 < after.chunks_pending <= begun.chunks_pending
            assert after.vectors + after.chunks_pending >= after.chunks
            assert after.oldest_pending_ms >= begun.oldest_pending_ms
            reply = client.search("entry")
            assert reply.pending.chunks > 0
            assert reply.pending.oldest_ms >= begun.oldest_pending_ms
            done = client.index().agents[0]
            assert done.embedded <= after.chunks_pending
            whole = first(client.status())
            assert (whole.vectors, whole.chunks_pending) == (whole.chunks, 0)
