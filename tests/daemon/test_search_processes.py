"""While very many ask at once, processes search beside the daemon: nobody notices but by answers that come sooner."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memd_client import Client, MemdError
from memd_client.messages import SearchReply, StatusReply
from tests.support.daemon import DaemonProcess
from tests.support.homes import StateHome
from tests.support.models import children_of, is_running, minilm_path

pytestmark = pytest.mark.model

MINILM = {"agents": {"defaults": {"memorySearch": {"provider": "local", "local": {"modelPath": "minilm"}}}}}

CLIENTS = 60
NOTES = 12
LEAST_IN_PROCESSES = 0.6
"""Share of a crowd's answers that threads of the daemon must leave to processes."""

QUESTIONS = [
    "which gateway listens on the port",
    "who paid the invoice",
    "medicine of the cat",
    "shades of blue",
]


@contextmanager
def serving(daemon_settings: str = "") -> Iterator[DaemonProcess]:
    """Yield a daemon of a few notes, whose questions it knows already."""
    minilm_path()
    with StateHome(MINILM) as home:
        for number in range(NOTES):
            lines = [f"Entry {number}.{line}: {QUESTIONS[line % 4]}, noted." for line in range(8)]
            home.note(f"memory/{number:03d}.md", f"# Note {number}\n\n" + "\n\n".join(lines) + "\n")
        (home.root / "memd.toml").write_text(daemon_settings)
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
            client.index()
            for question in QUESTIONS:
                client.search(question)
            yield daemon


class Crowd:
    """Clients that ask on and on inside the block."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self._daemon = daemon
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(number,)) for number in range(CLIENTS)]
        self.failed: list[str] = []
        self.answers: list[tuple[str, SearchReply]] = []

    def _ask(self, number: int) -> None:
        with self._daemon.client(timeout_s=60, autostart=False) as client:
            while not self._over.is_set():
                question = QUESTIONS[number % len(QUESTIONS)]
                try:
                    self.answers.append((question, client.search(question)))
                except MemdError as error:
                    self.failed.append(error.wire_code)
                    return

    def __enter__(self) -> Crowd:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()


def has_searchers(status: StatusReply) -> bool:
    """Return whether processes search beside the daemon."""
    return status.memory.searchers > 0


def found_in_processes(client: Client) -> float:
    """Return how many searches processes found the hits of, up to now."""
    [figure] = [each for each in client.metrics().metrics if each.name == "memd_searches_in_processes_total"]
    return sum(sample.value for sample in figure.samples)


def searchers_of(daemon: DaemonProcess) -> list[int]:
    """Return the processes that search beside a daemon."""
    children = children_of(daemon.pid)
    return [pid for pid in children if b"memd.searchers" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def test_a_crowd_is_answered_by_processes_as_by_the_daemon() -> None:
    with serving() as daemon, daemon.client(timeout_s=60) as client:
        alone = {question: client.search(question) for question in QUESTIONS}
        with Crowd(daemon) as crowd:
            status = daemon.wait_for(has_searchers)
            assert status.memory.searchers_bytes > 0
            # when a note is written while they answer
            before = len(crowd.answers)
            daemon.home.note(
                "memory/999.md", "# New\n\nThe gateway listens on port 9999 and that is the newest.\n"
            )
            fresh = client.search("gateway port 9999 newest")
            # and one of them is killed
            [victim, *_] = searchers_of(daemon)
            os.kill(victim, signal.SIGKILL)
            daemon.wait_for(lambda status: not has_searchers(status))
            after = len(crowd.answers)
            daemon.wait_for(lambda _: len(crowd.answers) > after + CLIENTS)
        events = [event["event"] for event in daemon.events()]

    assert crowd.failed == []
    assert fresh.hits[0].path == "memory/999.md"
    assert all(reply.mode == "hybrid" and reply.degraded is None for _, reply in crowd.answers)
    for question, reply in crowd.answers[:before]:
        assert reply.hits == alone[question].hits
    assert {"search.processes_started", "search.process_lost"} <= set(events)


@pytest.mark.parametrize("edits", [8, pytest.param(120, marks=pytest.mark.long)])
def test_after_every_edit_among_a_crowd_a_search_tells_what_is_on_disk(edits: int) -> None:
    with serving() as daemon, daemon.client(timeout_s=60) as client, Crowd(daemon) as crowd:
        daemon.wait_for(has_searchers)
        for edit in range(edits):
            # given a question whose vector is known, so that any process may answer it
            question = f"{QUESTIONS[edit % len(QUESTIONS)]} marker{edit}word"
            client.search(question)
            # when a note that answers it comes, it is found; when it is gone, it is not
            note = daemon.home.note(
                f"memory/edit-{edit % 3}.md", f"# Edit\n\nHere stands marker{edit}word.\n"
            )
            found = client.search(question)
            assert [hit.path for hit in found.hits if f"marker{edit}word" in hit.snippet] == [
                f"memory/edit-{edit % 3}.md"
            ]
            note.unlink()
            assert not any("marker" in hit.snippet for hit in client.search(question).hits)
        status = client.status()
    assert crowd.failed == []
    assert has_searchers(status)


def test_amid_a_crowd_and_edits_processes_find_most_hits() -> None:
    with serving() as daemon, daemon.client(timeout_s=60) as client, Crowd(daemon) as crowd:
        daemon.wait_for(has_searchers)
        # when a note changes again and again, so that most searches wait for it and are finished after it
        before = len(crowd.answers), found_in_processes(client)
        for edit in range(40):
            daemon.home.note("memory/edit.md", f"# Edit\n\nHere stands marker{edit}word.\n")
            asked = len(crowd.answers)
            daemon.wait_for(lambda _, asked=asked: len(crowd.answers) > asked + CLIENTS // 2)
        answers, found = len(crowd.answers) - before[0], found_in_processes(client) - before[1]
    assert crowd.failed == []
    assert found > answers * LEAST_IN_PROCESSES


def test_the_daemons_processes_end_with_it() -> None:
    with serving() as daemon, Crowd(daemon):
        daemon.wait_for(has_searchers)
        pids = searchers_of(daemon)
        daemon.kill()
    assert pids
    for pid in pids:
        assert any(not is_running(pid) or threading.Event().wait(0.05) for _ in range(200))


def test_the_settings_can_have_none() -> None:
    with serving("search_processes = 0\n") as daemon, Crowd(daemon) as crowd:
        daemon.wait_for(lambda _: len(crowd.answers) > CLIENTS * 8)
        assert searchers_of(daemon) == []
    assert crowd.failed == []
