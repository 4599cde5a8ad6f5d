"""Another model, another provider, another address: the old vectors answer until the new ones are whole."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memd_client.messages import AgentStatus, SearchReply
from tests.support.daemon import DaemonProcess
from tests.support.provider_server import ProviderServer, serve_provider
from tests.support.state_homes import StateHome

NOTES = 150
DISTINCT = 120
"""Notes, and the different texts among them: thirty are copies of others."""

PATIENCE_S = 60.0


def wait(condition: Callable[[], object]) -> None:
    """Wait for a state of a daemon."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)  # noqa: TID251 - the daemon's own pauses are in real time here


@pytest.fixture
def server() -> Iterator[ProviderServer]:
    with serve_provider("compatible", dims=48) as server:
        server.models = {"alpha", "beta"}
        yield server


@pytest.fixture
def home(server: ProviderServer) -> Iterator[StateHome]:
    with StateHome() as home:
        for number in range(NOTES):
            home.note(f"memory/{number:03}.md", f"note {number % DISTINCT} about the harbour and its lamps\n")
        use(home, server, "alpha")
        yield home


def use(home: StateHome, server: ProviderServer, model: str, **remote: Any) -> None:
    """Have the settings name a model."""
    entry = {"baseUrl": server.url, "apiKey": server.key, **remote}
    search = {
        "provider": "acme",
        "model": model,
        "sync": {"watch": False},
        "query": {"maxResults": 3},
    }
    home.configure(
        {
            "agents": {"defaults": {"memorySearch": search}},
            "models": {"providers": {"acme": {**entry, "api": "openai-completions", "models": []}}},
        }
    )


def embedded(server: ProviderServer) -> Counter[str]:
    """Return how often each document was sent, and forget it."""
    found = Counter({text: count for text, count in server.texts_embedded.items() if "note" in text})
    server.texts_embedded.clear()
    return found


def status(daemon: DaemonProcess) -> AgentStatus:
    """Return what the one agent reports."""
    with daemon.client() as client:
        return client.status().agents[0]


class Asker:
    """Somebody who searches without a pause."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self.replies: list[SearchReply] = []
        self._daemon = daemon
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Asker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _ask(self) -> None:
        with self._daemon.client(timeout_s=30) as client:
            number = 0
            while not self._stop.is_set():
                number += 1
                self.replies.append(client.search(f"lamps of the harbour {number}", deadline_ms=5_000))


def answers_with(reply: SearchReply) -> tuple[str, str]:
    """Return whose vectors answered, and how."""
    return reply.provider, reply.mode


@pytest.mark.long
def test_model_is_switched_under_load_with_one_change_of_space_and_nothing_embedded_twice(
    home: StateHome, server: ProviderServer
) -> None:
    # given an index filled by one model
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        assert client.index().agents[0].embedded == DISTINCT
        before = status(daemon)
    counts = embedded(server)
    assert (len(counts), set(counts.values())) == (DISTINCT, {1})

    # when the settings name another one, which takes its time, while somebody searches all along
    use(home, server, "beta")
    server.latency_s = 0.3
    with DaemonProcess(home) as daemon:
        with Asker(daemon) as asker:
            filling = status(daemon).filling
            wait(lambda: status(daemon).filling is None)
            enough = len(asker.replies) + 20
            wait(lambda: len(asker.replies) >= enough)
        after = status(daemon)

    # then every search had hits and said whose vectors found them, and there was one switch
    assert filling is not None
    assert (filling.provider, filling.model, filling.total) == ("acme", "beta", DISTINCT)
    assert filling.tokens > 0
    assert all(reply.hits for reply in asker.replies)
    assert {reply.mode for reply in asker.replies} == {"hybrid"}
    models = [reply.model for reply in asker.replies]
    assert set(models) == {"alpha", "beta"}
    assert models == sorted(models)
    spaces = {reply.model: reply.space for reply in asker.replies}
    assert spaces == {"alpha": before.space, "beta": after.space}
    # and each text was embedded once in each space
    counts = embedded(server)
    assert (len(counts), set(counts.values())) == (DISTINCT, {1})
    assert after.vectors == before.vectors == DISTINCT


@pytest.mark.long
def test_going_back_and_moving_the_provider_embed_nothing(home: StateHome, server: ProviderServer) -> None:
    for model in ("alpha", "beta"):
        use(home, server, model)
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
            client.index()
            assert client.search("harbour").model == model
    server.texts_embedded.clear()
    # when the settings name the first model again
    use(home, server, "alpha")
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        client.index()
        reply = client.search("lamps of the harbour")
        assert (reply.model, reply.mode, reply.filling) == ("alpha", "hybrid", None)
    assert embedded(server) == Counter()
    # and when another address, another key and another header lead to it
    with serve_provider("compatible", key="sk-another-key-of-the-same-people", dims=48) as moved:
        moved.models = {"alpha"}
        use(home, moved, "alpha", headers={"X-Team": "harbour"})
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
            client.index()
            assert client.search("where are the lamps").mode == "hybrid"
        assert embedded(moved) == Counter()
        assert moved.calls == 1  # the question


@pytest.mark.long
def test_forced_index_embeds_everything_anew_while_the_old_vectors_answer(
    home: StateHome, server: ProviderServer
) -> None:
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        client.index()
        server.texts_embedded.clear()
        server.latency_s = 0.2
        with Asker(daemon) as asker:
            assert client.index(force=True).agents[0].embedded == DISTINCT
    assert {reply.mode for reply in asker.replies} == {"hybrid"}
    assert all(reply.hits for reply in asker.replies)
    assert set(embedded(server).values()) == {1}


def test_fallback_answers_while_the_provider_is_out_of_credit_and_says_so(
    home: StateHome, server: ProviderServer
) -> None:
    with serve_provider("ollama", dims=32) as spare:
        search = {
            "provider": "openai",
            "remote": {"baseUrl": server.url, "apiKey": server.key},
            "model": "alpha",
            "fallback": "ollama",
            "sync": {"watch": False},
        }
        entry = {"baseUrl": spare.url, "api": "ollama", "models": []}
        home.configure(
            {
                "agents": {"defaults": {"memorySearch": search}},
                "models": {"providers": {"ollama": entry}},
            }
        )
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
            client.index()
            assert client.search("lamps of the harbour").provider == "openai"
            server.fault = "quota"
            reply = client.search("which harbour has lamps")
            assert (reply.mode, reply.degraded and reply.degraded.code) == (
                "keyword",
                "provider_quota_exhausted",
            )
            wait(lambda: answers_with(client.search("the lamps of the harbour")) == ("ollama", "hybrid"))
            reply = client.search("which of the lamps are the harbour's")
            assert (reply.provider, reply.mode, reply.degraded) == ("ollama", "hybrid", None)
            assert reply.fallback is not None
            assert (reply.fallback.provider, reply.fallback.code) == ("openai", "provider_quota_exhausted")
            account = next(row for row in client.status().accounts if row.provider == "openai")
            assert (account.state, account.code) == ("paused", "provider_quota_exhausted")
        # and a restart asks the provider nothing, and goes on with the fallback
        calls = server.calls
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
            wait(lambda: client.search("harbour lamps").mode in ("hybrid", "keyword"))
            client.search("some lamps of a harbour")
            wait(lambda: client.search("the lamps").provider == "ollama")
        assert server.calls == calls
