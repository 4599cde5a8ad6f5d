"""Remote providers over a loopback server, put together as the daemon does it; time moves as the test says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from memd.embedding.remote.accounts import Account, Accounts
from memd.embedding.remote.catalog import KNOWN, limits_of
from memd.embedding.remote.providers.api import EmbeddingApi, Endpoint
from memd.embedding.remote.providers.compatible import CompatibleApi
from memd.embedding.remote.providers.gemini import GeminiApi
from memd.embedding.remote.providers.http import Http
from memd.embedding.remote.providers.mistral import MistralApi
from memd.embedding.remote.providers.ollama import OllamaApi
from memd.embedding.remote.providers.openai import OpenAIApi
from memd.embedding.remote.providers.voyage import VoyageApi
from memd.embedding.remote.remote import RemoteProvider
from memd.embedding.secret import Secret
from memd.embedding.space import VectorSpace
from tests.support.provider_server import ProviderServer

START_MS = 1_799_971_200_000
"""A midnight (UTC)."""

APIS: dict[str, type[EmbeddingApi]] = {
    "openai": OpenAIApi,
    "gemini": GeminiApi,
    "voyage": VoyageApi,
    "mistral": MistralApi,
    "ollama": OllamaApi,
    "compatible": CompatibleApi,
}


class MovableClock:
    """Wall time that stands still until it is moved."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def __repr__(self) -> str:
        return f"<MovableClock {self.now_ms}>"

    def move(self, seconds: float) -> None:
        """Let so many seconds pass."""
        self.now_ms += round(seconds * 1000)

    async def pause(self, seconds: float) -> None:
        """Sleep as `trio.sleep` would, by this clock: at once."""
        self.move(seconds)
        await trio.lowlevel.checkpoint()


def endpoint_of(server: ProviderServer, **changes: Any) -> Endpoint:
    """Return how a server is spoken to."""
    key = Secret(server.key) if server.key is not None else None
    plain: dict[str, Any] = {
        "provider": server.dialect,
        "model": server.facts.model,
        "base_url": server.url,
        "key": key,
    }
    return Endpoint(**{**plain, **changes})


def provider_over(
    endpoint: Endpoint, dialect: str, http: Http, account: Account, clock: MovableClock, **options: Any
) -> RemoteProvider:
    """Return a provider that pauses by a clock of the test's."""
    known = KNOWN[dialect]
    return RemoteProvider(
        APIS[dialect](endpoint),  # type: ignore[call-arg]
        VectorSpace(endpoint.provider, endpoint.model, dims=endpoint.dims),
        **{
            "http": http,
            "account": account,
            "limits": limits_of(known, endpoint.model),
            "metered": known.metered,
            "pause": clock.pause,
            "random": lambda: 0.0,
            **options,
        },
    )


@asynccontextmanager
async def remote(
    server: ProviderServer,
    clock: MovableClock | None = None,
    path: Path | None = None,
    dims: int | None = None,
    **options: Any,
) -> AsyncIterator[RemoteProvider]:
    """Run a provider inside the block, with connections and accounts of its own as after a start of the daemon."""
    clock = clock or MovableClock()
    http, accounts = Http(), Accounts(path, clock, 0)
    endpoint = endpoint_of(server, dims=dims)
    async with trio.open_nursery() as nursery:
        await nursery.start(accounts.run)
        account = accounts.of(endpoint, KNOWN[server.dialect].limits)
        provider = provider_over(endpoint, server.dialect, http, account, clock, **options)
        try:
            yield provider
        finally:
            with trio.CancelScope(shield=True):
                await provider.aclose()
                await http.aclose()
            nursery.cancel_scope.cancel()
