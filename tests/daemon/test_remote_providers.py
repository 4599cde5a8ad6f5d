"""Remote providers of one daemon: failure, recovery, and secrets in their replies."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from memd_client import Client
from memd_client.errors import ProviderUnreachableError
from memd_client.messages import SearchReply
from tests.support.daemon import DaemonProcess
from tests.support.encodings import ENCODINGS, echo_of, forms_of
from tests.support.provider_dialects import HttpRequest
from tests.support.provider_errors import DialectName, ProviderReply, json_reply
from tests.support.provider_faults import Fault
from tests.support.provider_server import KEY, ProviderServer, serve_provider
from tests.support.sockets import wait_until
from tests.support.state_homes import StateHome

TENANT = "tenant-4f7a91c2-blue"
NAMES = ("authorization", "x-tenant")
STATUSES = (302, 400, 401, 429, 500)


def configure(home: StateHome, servers: dict[str, ProviderServer]) -> None:
    """Give each server an agent with a note; set the key and a custom header for all."""
    agents = [
        {
            "id": agent,
            "workspace": f"{home.state}/workspace-{agent}",
            "memorySearch": {
                "provider": "openai",
                "model": server.facts.model,
                "sync": {"watch": False},
                "remote": {"baseUrl": server.url, "apiKey": KEY, "headers": {"X-Tenant": TENANT}},
            },
        }
        for agent, server in servers.items()
    ]
    home.configure({"agents": {"list": agents}})
    for agent in servers:
        home.note("memory/2026-01-06.md", "Our cat was ill and the vet gave her new medicine.\n", agent)


def reply_texts(client: Client, agents: dict[str, ProviderServer]) -> list[str]:
    """Return all replies that may quote a provider."""
    said = [repr(client.status()), repr(client.status(deep=True)), repr(client.metrics())]
    said += [repr(client.search(f"her vet and {agent}", agent=agent)) for agent in agents]
    return said


def test_secrets_quoted_by_providers_appear_in_no_reply_log_or_file() -> None:
    with StateHome() as home, ExitStack() as stack:
        # given providers that quote the key and a header, each in another encoding
        servers: dict[str, ProviderServer] = {}
        for at, encode in enumerate(ENCODINGS.values()):
            server = stack.enter_context(serve_provider("compatible", key=None, dims=8))
            server.rewrite = echo_of(encode, *NAMES, status=STATUSES[at % len(STATUSES)])
            servers[f"agent{at}"] = server
        configure(home, servers)
        # when their agents search and sync, over a restart
        with DaemonProcess(home) as daemon:
            said: list[str] = []
            for _ in range(2):
                with daemon.client(timeout_s=60) as client:
                    for agent in servers:
                        client.index(agent=agent)
                    said += reply_texts(client, servers)
                daemon.stop()
                daemon.start()
            said.append(daemon.log_tail(1_000_000))
        assert all(server.calls for server in servers.values())
        assert "answered 401: it refuses the key" in said[0]
        # then no reply, log line or file holds either in any encoding
        for path in home.root.rglob("*"):
            if path.is_file() and path.name != "openclaw.json":
                said.append(path.read_bytes().decode("latin-1"))
        for form in forms_of(KEY) | forms_of(TENANT):
            assert not [text[:2000] for text in said if form in text.casefold()], form


@pytest.mark.parametrize("number", [9 * 10**18, -(10**30), 1e308], ids=["huge", "negative", "float"])
def test_status_and_metrics_work_with_any_token_count_of_a_provider(number: Any) -> None:
    def rewrite(asked: HttpRequest, reply: ProviderReply) -> ProviderReply:
        return json_reply({**json.loads(reply.body), "usage": {"total_tokens": number}})

    with StateHome() as home, serve_provider("compatible", key=None, dims=8) as server:
        server.rewrite = rewrite
        configure(home, {"agent": server})
        with DaemonProcess(home) as daemon:
            with daemon.client(timeout_s=60) as client:
                client.index()
                for at in range(4):
                    reply = client.search(f"the ill cat {at}")
                    assert reply.mode == "hybrid", (reply.degraded, server.complaints)
                assert 0 < client.status(deep=True).accounts[0].tokens_today < 1_000
                assert client.metrics().metrics
            daemon.stop()
            daemon.start()
            with daemon.client(timeout_s=60) as client:
                assert 0 <= client.status().tokens_today < 1_000


DIALECTS: tuple[DialectName, ...] = ("openai", "gemini", "voyage", "mistral", "ollama", "compatible")
NOTES = {
    "memory/2026-01-05.md": "The invoice for the hosting company is due on the last Friday of the month.\n",
    "memory/2026-01-06.md": "Our cat was ill and the vet gave her new medicine.\n",
}
DEADLINE_MS = 5_000


def settings_of(server: ProviderServer) -> dict[str, Any]:
    """Return `memorySearch` for a server; a compatible one is in `models.providers`."""
    quick = {"sync": {"watch": False}}
    if server.dialect == "compatible":
        return {**quick, "provider": "acme", "model": server.facts.model}
    remote = {"baseUrl": server.url} | ({"apiKey": server.key} if server.key is not None else {})
    return {**quick, "provider": server.dialect, "remote": remote}


@pytest.fixture
def servers() -> Iterator[dict[DialectName, ProviderServer]]:
    with ExitStack() as stack:
        yield {dialect: stack.enter_context(serve_provider(dialect, dims=64)) for dialect in DIALECTS}


@pytest.fixture
def home(servers: dict[DialectName, ProviderServer]) -> Iterator[StateHome]:
    with StateHome() as home:
        agents = [
            {"id": name, "workspace": f"{home.state}/workspace-{name}", "memorySearch": settings_of(server)}
            for name, server in servers.items()
        ]
        entry = {"baseUrl": servers["compatible"].url, "apiKey": KEY, "api": "openai-completions"}
        providers = {"acme": {**entry, "models": []}}
        home.configure({"agents": {"list": agents}, "models": {"providers": providers}})
        for agent in DIALECTS:
            for path, text in NOTES.items():
                home.note(path, text, agent)
        yield home


def search_checked(client: Client, agent: str, query: str) -> SearchReply:
    """Search with a deadline and check the best hit."""
    reply = client.search(query, agent=agent, deadline_ms=DEADLINE_MS)
    assert reply.hits[0].path == "memory/2026-01-06.md", (agent, reply)
    return reply


def degraded_code(reply: SearchReply) -> str | None:
    """Return the code of a degraded reply, else None."""
    return reply.degraded.code if reply.degraded is not None else None


def wait_for_vector_search(client: Client, agent: str, query: str) -> None:
    """Search with new queries until a reply is hybrid."""
    numbers = count()

    def is_back() -> bool:
        reply = search_checked(client, agent, f"{query} {next(numbers)}")
        assert (reply.mode == "hybrid") == (reply.degraded is None), reply
        return reply.mode == "hybrid"

    wait_until(is_back)


@pytest.mark.long
def test_all_providers_fail_and_recover_without_a_restart(
    home: StateHome, servers: dict[DialectName, ProviderServer]
) -> None:
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        # given an agent for each provider, with all vectors stored
        client.index()
        for agent in DIALECTS:
            assert search_checked(client, agent, "the ill cat").mode == "hybrid", agent
        # when every provider fails for a while
        for server in servers.values():
            server.fault = Fault("server_error")
        for agent in DIALECTS:
            reply = search_checked(client, agent, "the cat and her vet")
            # then keyword search answers with the reason
            assert (reply.mode, degraded_code(reply)) == ("keyword", "provider_failed"), agent
        for server in servers.values():
            server.fault = None
        # and vector search is back after the next call to the provider
        for agent in DIALECTS:
            wait_for_vector_search(client, agent, "a vet for the cat")
        for server in servers.values():
            assert server.complaints == []
            documents = [times for text, times in server.texts_embedded.items() if "." in text]
            assert documents == [1, 1], server


def written_files(daemon: DaemonProcess, home: StateHome) -> Iterator[tuple[Path, bytes]]:
    """Yield every file below the state directory but the settings, and the log."""
    for path in home.root.rglob("*"):
        if path.is_file() and path.name != "openclaw.json":
            yield path, path.read_bytes()


def test_refused_key_is_not_retried_after_a_restart_and_written_nowhere(
    home: StateHome, servers: dict[DialectName, ProviderServer]
) -> None:
    keyed = [agent for agent in DIALECTS if servers[agent].key is not None]
    with DaemonProcess(home) as daemon:
        with daemon.client(timeout_s=60) as client:
            client.index()
            # given providers that refuse the key
            for agent in keyed:
                servers[agent].fault = Fault("unauthorized")
                assert (
                    degraded_code(search_checked(client, agent, "the cat and her vet")) == "provider_auth"
                ), agent
            calls = {agent: servers[agent].calls for agent in keyed}
            status = client.status()
            paused = {
                account.provider: account.code for account in status.accounts if account.state == "paused"
            }
            assert set(paused.values()) == {"provider_auth"}
            assert len(paused) == len(keyed)
            replies = [
                repr(status),
                *(repr(search_checked(client, agent, "her medicine")) for agent in keyed),
            ]
        # when the daemon restarts
        daemon.stop()
        daemon.start()
        with daemon.client(timeout_s=60) as client:
            for agent in keyed:
                reply = search_checked(client, agent, "the vet and the cat")
                # then it makes no further call and reports the same code
                assert degraded_code(reply) == "provider_auth", agent
                replies.append(repr(reply))
        assert {agent: servers[agent].calls for agent in keyed} == calls
        # and the key is in no file or reply
        assert not [text for text in replies if KEY in text]
        assert not [path for path, data in written_files(daemon, home) if KEY.encode() in data]


def test_a_provider_that_hangs_is_called_once_by_all_requests_until_it_answers(
    home: StateHome, servers: dict[DialectName, ProviderServer]
) -> None:
    agent, server = "openai", servers["openai"]
    (home.root / "memd.toml").write_text("query_embed_timeout_ms = 500\n")
    with DaemonProcess(home) as daemon, daemon.client(timeout_s=60) as client:
        # given a fact that has a vector, and a provider that hangs from now on
        client.index(agent=agent)
        assert client.memory_store("I prefer dark mode", agent=agent).compared == "vectors"
        calls, server.fault = server.calls, Fault("hang")
        # when requests of every kind come
        stored = client.memory_store("Anna lives in Lisbon", agent=agent)
        assert (stored.stored, stored.compared, stored.reason) == (True, "words", "provider_unreachable")
        assert not client.memory_store("I prefer dark mode!", agent=agent).stored
        assert client.memory_recall("who lives in Lisbon", agent=agent).compared == "words"
        assert client.facts_for_prompt("fly to Lisbon", agent=agent, force=True).facts
        assert client.memory_forget(query="my cat of Lisbon", agent=agent).candidates is not None
        assert search_checked(client, agent, "the vet of the cat").mode == "keyword"
        with pytest.raises(ProviderUnreachableError):
            client.embed(["a text"], agent=agent)
        # then the first has made a call, which goes on, and no other has
        assert server.calls == calls + 1
        # and vectors are back once the provider answers
        server.fault = None
        wait_for_vector_search(client, agent, "a vet for the cat")
        assert client.memory_store("My sister has a boat", agent=agent).compared == "vectors"
