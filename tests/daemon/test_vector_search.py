"""Vector search with a real model in a real worker process, and crashes of it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from memd_client import Client
from memd_client.messages import ModelStatus, SearchReply, StatusReply
from tests.support.daemon import DaemonProcess
from tests.support.models import minilm_path
from tests.support.state_homes import StateHome

pytestmark = pytest.mark.model

MINILM = {"agents": {"defaults": {"memorySearch": {"provider": "local", "local": {"modelPath": "minilm"}}}}}

NOTES = {
    "memory/2026-01-05.md": "The invoice for the hosting company is due on the last Friday of the month.\n",
    "memory/2026-01-06.md": "Our cat was ill and the vet gave her new medicine.\n",
    "memory/2026-01-07.md": "The web server returns error 502 when the upstream pool is empty.\n",
    "memory/2026-01-08.md": "Martine wants the report to use shades of blue.\n",
}


@contextmanager
def noted() -> Iterator[StateHome]:
    """Yield a home with the notes."""
    minilm_path()
    with StateHome(MINILM) as home:
        for path, text in NOTES.items():
            home.note(path, text)
        yield home


@pytest.fixture
def home() -> Iterator[StateHome]:
    with noted() as home:
        yield home


@pytest.fixture(scope="module")
def read_only_client() -> Iterator[Client]:
    """A client of a daemon that several tests share; none changes its notes."""
    with noted() as home, DaemonProcess(home) as daemon, daemon.client() as client:
        indexed = client.index().agents[0]
        assert indexed.embedded + indexed.reused == len(NOTES)
        yield client


def _model(status: StatusReply) -> ModelStatus:
    return status.models[0]


def test_paraphrase_without_a_common_word_is_the_first_hit(read_only_client: Client) -> None:
    reply = read_only_client.search("when do we have to pay our provider")
    assert reply.mode == "hybrid"
    assert reply.degraded is None
    assert reply.hits[0].path == "memory/2026-01-05.md"
    assert read_only_client.search("the sick pet").hits[0].path == "memory/2026-01-06.md"


@pytest.mark.long
def test_three_vector_search_paths_give_the_same_hits(home: StateHome) -> None:
    def hits(extra: dict[str, object], budget: int) -> tuple[str, list[tuple[str, float]]]:
        search = {**MINILM["agents"]["defaults"]["memorySearch"], **extra}
        home.configure({"agents": {"defaults": {"memorySearch": search}}})
        (home.root / "memd.toml").write_text(f"vector_ram_mb = {budget}\n")
        with DaemonProcess(home) as daemon, daemon.client() as client:
            client.index()
            reply = client.search("paying bills")
            assert reply.mode == "hybrid"
            path = client.status().agents[0].vector_path
            return path, [(hit.path, hit.score) for hit in reply.hits]

    warm = hits({}, 512)
    vec = hits({}, 0)
    scan = hits({"store": {"vector": {"enabled": False}}}, 0)
    assert [warm[0], vec[0], scan[0]] == ["memory", "sqlite-vec", "scan"]
    assert warm[1] == vec[1] == scan[1]


def test_extension_that_fails_to_load_costs_no_result_and_is_reported(home: StateHome) -> None:
    search = {
        **MINILM["agents"]["defaults"]["memorySearch"],
        "store": {"vector": {"extensionPath": "/nowhere/vec0.so"}},
    }
    home.configure({"agents": {"defaults": {"memorySearch": search}}})
    (home.root / "memd.toml").write_text("vector_ram_mb = 0\n")
    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
        reply = client.search("when do we have to pay our provider")
        assert (reply.mode, reply.hits[0].path) == ("hybrid", "memory/2026-01-05.md")
        status = client.status()
        assert status.sqlite_vec.startswith("not loaded")
        assert status.agents[0].vector_path == "scan"
        assert "sqlite-vec" in status.agents[0].vector_path_reason


def test_no_chunk_is_embedded_twice(home: StateHome) -> None:
    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
    with DaemonProcess(home) as daemon, daemon.client() as client:
        home.note("memory/2026-01-06.md", NOTES["memory/2026-01-05.md"])
        reply = client.index().agents[0]
        assert reply.embedded == 0
        assert not [
            model for model in client.status().models if model.pid
        ]  # not loaded when all vectors exist


def test_killed_model_worker_costs_no_reply_and_restarts(home: StateHome) -> None:
    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
        client.search("warm the model")
        for turn in range(3):
            pid = None
            while pid is None:  # a child that was killed while it loaded is started by the next query
                client.search(f"start the model before turn {turn} {time.monotonic()}")
                pid = _model(client.status()).pid
            os.kill(pid, signal.SIGKILL)
            reply = client.search(f"a new question number {turn} about the pet")
            assert reply.hits
            assert reply.mode in ("hybrid", "keyword")
            if reply.mode == "keyword":
                assert reply.degraded is not None


def test_hanging_model_worker_costs_no_reply(home: StateHome) -> None:
    with DaemonProcess(home) as daemon, daemon.client() as client:
        client.index()
        client.search("warm the model")
        pid = _model(client.status()).pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        reply = client.search("error 502 upstream")
        assert reply.hits[0].path == "memory/2026-01-07.md"
        assert reply.mode == "keyword"
        assert reply.degraded is not None
        daemon.wait_for(lambda status: _model(status).pid not in (None, pid) or _model(status).pid is None)


@pytest.mark.long
def test_killed_model_worker_while_indexing_loses_no_vector(home: StateHome) -> None:
    for number in range(70):
        home.note(
            f"memory/bulk/{number:03d}.md",
            f"Entry {number}: " + f"the quick brown fox of {number} " * 40 + "\n",
        )
    with DaemonProcess(home) as daemon:
        killed: list[int] = []
        stop = threading.Event()

        def kill_worker() -> None:
            with daemon.client() as watcher:
                while not stop.wait(1.0) and len(killed) < 3:
                    pid = next((model.pid for model in watcher.status().models if model.pid), None)
                    if pid is not None:
                        os.kill(pid, signal.SIGKILL)
                        killed.append(pid)

        thread = threading.Thread(target=kill_worker)
        thread.start()
        try:
            with daemon.client(timeout_s=300) as client:
                client.index()
                done = daemon.wait_for(lambda status: status.agents[0].chunks_pending == 0, 120)
        finally:
            stop.set()
            thread.join()
        assert killed
        assert done.agents[0].vectors == done.agents[0].chunks


def test_search_answers_during_the_first_indexing(home: StateHome) -> None:
    for number in range(60):
        home.note(f"memory/bulk/{number:03d}.md", f"Entry {number}: " + "lorem ipsum dolor " * 60 + "\n")
    with DaemonProcess(home) as daemon, daemon.client() as client:
        replies: list[SearchReply] = [client.search(f"error 502 upstream pool {turn}") for turn in range(10)]
        whole = [reply for reply in replies if not reply.partial]
        assert whole
        assert all(reply.hits[0].path == "memory/2026-01-07.md" for reply in whole)


def test_embed_returns_unit_vectors_of_the_loaded_model(read_only_client: Client) -> None:
    reply = read_only_client.embed(["one", "two"])
    matrix = np.frombuffer(reply.vectors, "<f4").reshape(reply.count, reply.dims)
    assert matrix.shape == (2, 384)
    assert np.allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-5)


def test_deep_status_probes_every_part(read_only_client: Client) -> None:
    checks = read_only_client.status(deep=True).agents[0].checks
    assert {check.name for check in checks} == {"embeddings", "keyword index", "vectors", "files"}
    assert all(check.ok for check in checks), checks


def test_model_worker_ends_with_a_killed_daemon(home: StateHome) -> None:
    daemon = DaemonProcess(home).start()
    with daemon.client() as client:
        client.index()
        client.search("warm")
        pid = _model(client.status()).pid
    assert pid is not None
    daemon.kill()
    deadline = threading.Event()
    for _ in range(100):
        if not os.path.exists(f"/proc/{pid}"):
            return
        deadline.wait(0.05)
    raise AssertionError("the model child outlived its daemon")
