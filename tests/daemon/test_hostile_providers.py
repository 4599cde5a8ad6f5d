"""Providers that repeat keys and headers in every encoding, and count absurd numbers, under one daemon."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import Any

import pytest

from memd_client import Client
from tests.support.daemon import DaemonProcess
from tests.support.encodings import ENCODINGS, echo_of, forms_of
from tests.support.homes import StateHome
from tests.support.provider_dialects import Asked
from tests.support.provider_errors import Reply, json_reply
from tests.support.provider_server import KEY, ProviderServer, serving

TENANT = "tenant-4f7a91c2-blue"
NAMES = ("authorization", "x-tenant")
STATUSES = (302, 400, 401, 429, 500)


def configure(home: StateHome, servers: dict[str, ProviderServer]) -> None:
    """Give each server an agent with a note; all have the key and a header of the user's own."""
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


def all_said(client: Client, agents: dict[str, ProviderServer]) -> list[str]:
    """Return the text of every reply that may repeat a provider."""
    said = [repr(client.status()), repr(client.status(deep=True)), repr(client.metrics())]
    said += [repr(client.search(f"her vet and {agent}", agent=agent)) for agent in agents]
    return said


def test_what_providers_repeat_of_keys_and_headers_is_said_and_written_nowhere() -> None:
    with StateHome() as home, ExitStack() as stack:
        # given providers that repeat the key and a header, each in another encoding
        servers: dict[str, ProviderServer] = {}
        for at, encode in enumerate(ENCODINGS.values()):
            server = stack.enter_context(serving("compatible", key=None, dims=8))
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
                    said += all_said(client, servers)
                daemon.stop()
                daemon.start()
            said.append(daemon.log_tail(1_000_000))
        assert all(server.calls for server in servers.values())
        assert "answered 401: it refuses the key" in said[0]
        # then no reply, log line or file shows either in any encoding
        for path in home.root.rglob("*"):
            if path.is_file() and path.name != "openclaw.json":
                said.append(path.read_bytes().decode("latin-1"))
        for form in forms_of(KEY) | forms_of(TENANT):
            assert not [text[:2000] for text in said if form in text.casefold()], form


@pytest.mark.parametrize("number", [9 * 10**18, -(10**30), 1e308], ids=["huge", "negative", "float"])
def test_status_and_metrics_are_answered_whatever_tokens_a_provider_counts(number: Any) -> None:
    def rewrite(asked: Asked, reply: Reply) -> Reply:
        return json_reply({**json.loads(reply.body), "usage": {"total_tokens": number}})

    with StateHome() as home, serving("compatible", key=None, dims=8) as server:
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
