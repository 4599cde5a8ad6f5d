"""Switches of model, provider or address: old vectors answer during the switch."""

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
"""Number of notes, and of distinct ones: thirty are copies of others."""

WAIT_TIMEOUT_S = 120.0


def wait(condition: Callable[[], object]) -> None:
    """Wait for a state of a daemon."""
    deadline = time.monotonic() + WAIT_TIMEOUT_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)  # noqa: TID251 - the daemon's pauses are in real time here


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
        configure_model(home, server, "alpha")
        yield home


def configure_model(home: StateHome, server: ProviderServer, model: str, **remote: Any) -> None:
    """Write settings with a model."""
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


def take_embedded(server: ProviderServer) -> Counter[str]:
    """Return how often each document was sent, and reset the counts."""
    found = Counter({text: count for text, count in server.texts_embedded.items() if "note" in text})
    server.texts_embedded.clear()
    return found


def agent_status(daemon: DaemonProcess) -> AgentStatus:
    """Return the status of the one agent."""
    with daemon.client() as client:
        return client.status().agents[0]


class ContinuousSearch:
    """A context manager: a client that searches without a pause."""

    def __init__(self, daemon: DaemonProcess) -> None:
        self.replies: list[SearchReply] = []
        self._daemon = daemon
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> ContinuousSearch:
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


def answering_provider(reply: SearchReply) -> tuple[str, str]:
    """Return the provider and mode of a reply."""
    return reply.provider, reply.mode


@pytest.mark.long
def test_model_switch_under_load_is_atomic_and_embeds_nothing_twice(
    home: StateHome, server: ProviderServer
) -> None:
    # given an index filled by one model
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        assert client.index().agents[0].embedded == DISTINCT
        before = agent_status(daemon)
    counts = take_embedded(server)
    assert (len(counts), set(counts.values())) == (DISTINCT, {1})

    # when the settings name another model, a slow one, during searches
    configure_model(home, server, "beta")
    server.latency_s = 0.3
    with DaemonProcess(home) as daemon:
        with ContinuousSearch(daemon) as asker:
            filling = agent_status(daemon).filling
            wait(lambda: agent_status(daemon).filling is None)
            enough = len(asker.replies) + 20
            wait(lambda: len(asker.replies) >= enough)
        after = agent_status(daemon)

    # then every search had hits and named its vector space, and there was one switch
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
    # and each chunk was embedded once in each space
    counts = take_embedded(server)
    assert (len(counts), set(counts.values())) == (DISTINCT, {1})
    assert after.vectors == before.vectors == DISTINCT


@pytest.mark.long
def test_returning_to_a_model_or_moving_its_provider_embeds_nothing(
    home: StateHome, server: ProviderServer
) -> None:
    for model in ("alpha", "beta"):
        configure_model(home, server, model)
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
            client.index()
            assert client.search("harbour").model == model
    server.texts_embedded.clear()
    # when the settings name the first model again
    configure_model(home, server, "alpha")
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        client.index()
        reply = client.search("lamps of the harbour")
        assert (reply.model, reply.mode, reply.filling) == ("alpha", "hybrid", None)
    assert take_embedded(server) == Counter()
    # and when the same model has another address, key and header
    with serve_provider("compatible", key="sk-another-key-of-the-same-people", dims=48) as moved:
        moved.models = {"alpha"}
        configure_model(home, moved, "alpha", headers={"X-Team": "harbour"})
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
            client.index()
            assert client.search("where are the lamps").mode == "hybrid"
        assert take_embedded(moved) == Counter()
        assert moved.calls == 1  # the query


@pytest.mark.long
def test_forced_index_embeds_everything_again_while_the_old_vectors_answer(
    home: StateHome, server: ProviderServer
) -> None:
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        client.index()
        server.texts_embedded.clear()
        server.latency_s = 0.2
        with ContinuousSearch(daemon) as asker:
            assert client.index(force=True).agents[0].embedded == DISTINCT
    assert {reply.mode for reply in asker.replies} == {"hybrid"}
    assert all(reply.hits for reply in asker.replies)
    assert set(take_embedded(server).values()) == {1}


def test_fallback_answers_while_the_provider_is_out_of_credit_and_is_reported(
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
            wait(
                lambda: answering_provider(client.search("the lamps of the harbour")) == ("ollama", "hybrid")
            )
            reply = client.search("which of the lamps are the harbour's")
            assert (reply.provider, reply.mode, reply.degraded) == ("ollama", "hybrid", None)
            assert reply.fallback is not None
            assert (reply.fallback.provider, reply.fallback.code) == ("openai", "provider_quota_exhausted")
            account = next(row for row in client.status().accounts if row.provider == "openai")
            assert (account.state, account.code) == ("paused", "provider_quota_exhausted")
        # and after a restart the fallback answers without a call to the provider
        calls = server.calls
        with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
            wait(lambda: client.search("harbour lamps").mode in ("hybrid", "keyword"))
            client.search("some lamps of a harbour")
            wait(lambda: client.search("the lamps").provider == "ollama")
        assert server.calls == calls
