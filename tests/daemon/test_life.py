"""One daemon per user, and what is left after any end."""

from __future__ import annotations

import os

import pytest

from memd_client.discovery import EXIT_ALREADY_RUNNING
from memd_client.errors import DaemonUnreachableError
from tests.support.daemon import DaemonProcess
from tests.support.homes import StateHome

NONE = {"agents": {"defaults": {"memorySearch": {"provider": "none"}}}}


def test_a_second_daemon_exits_and_names_the_first() -> None:
    with StateHome(NONE) as home, DaemonProcess(home) as first:
        second = DaemonProcess(home)
        second.start(wait=False)
        assert second.wait_exit() == EXIT_ALREADY_RUNNING
        assert str(first.pid) in second.log_tail()
        with first.client() as client:
            assert client.hello().pid == first.pid


def test_sigterm_ends_cleanly_and_removes_the_socket() -> None:
    with StateHome(NONE) as home:
        home.note("MEMORY.md", "apples\n")
        daemon = DaemonProcess(home).start()
        with daemon.client() as client:
            client.search("apples")
        assert daemon.stop() == 0
        assert not home.socket.exists()
        assert sorted(path.name for path in (home.state / "memory").iterdir()) == ["main.memd.sqlite"]
        with pytest.raises(DaemonUnreachableError):
            daemon.client().status()


def test_after_kill_9_the_next_daemon_answers_from_what_was_there() -> None:
    with StateHome(NONE) as home:
        for number in range(50):
            home.note(f"memory/{number}.md", f"apples number {number}\n")
        daemon = DaemonProcess(home).start()
        with daemon.client() as client:
            client.index()
        daemon.kill()
        assert home.socket.exists()  # the leftover that must not hinder
        with DaemonProcess(home) as again, again.client() as client:
            reply = client.index().agents[0]
            assert (reply.files, reply.files_changed) == (50, 0)
            assert client.search("apples").hits


def test_the_socket_and_its_directory_are_the_owners_alone() -> None:
    with StateHome(NONE) as home, DaemonProcess(home):
        assert os.stat(home.socket.parent).st_mode & 0o077 == 0
        assert os.stat(home.state / "memory" / "main.memd.sqlite").st_mode & 0o077 == 0


def test_a_client_reconnects_to_the_next_daemon() -> None:
    with StateHome(NONE) as home:
        home.note("MEMORY.md", "apples\n")
        daemon = DaemonProcess(home).start()
        with daemon.client() as client:
            assert client.search("apples").hits
            daemon.kill()
            daemon.start()
            assert client.search("apples").hits
        daemon.stop()
