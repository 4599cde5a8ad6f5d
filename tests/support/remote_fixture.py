"""Remote providers and accounts, with or without a loopback server, created as the daemon does."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import trio

from memd.embedding.provider import BatchLimits
from memd.embedding.remote.account import Account
from memd.embedding.remote.accounts import Accounts
from memd.embedding.remote.catalog import KNOWN, limits_of
from memd.embedding.remote.endpoint import Endpoint
from memd.embedding.remote.http import HttpClient
from memd.embedding.remote.providers.api import EmbeddingApi
from memd.embedding.remote.providers.table import APIS
from memd.embedding.remote.remote import RemoteProvider
from memd.embedding.secret import Secret
from memd.embedding.space import VectorSpace
from memd_client.errors import ProviderFailedError, ProviderQuotaError, ProviderUnreachableError
from tests.support.provider_errors import DialectName
from tests.support.provider_server import ProviderServer, serve_provider

START_MS = 1_799_971_200_000
"""A midnight (UTC)."""


class MovableClock:
    """Wall time that moves only by `move`."""

    def __init__(self, now_ms: int = START_MS) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def __repr__(self) -> str:
        return f"<MovableClock {self.now_ms}>"

    def move(self, seconds: float) -> None:
        """Move the clock forward."""
        self.now_ms += round(seconds * 1000)

    async def pause(self, seconds: float) -> None:
        """Move the clock forward without sleeping."""
        self.move(seconds)
        await trio.lowlevel.checkpoint()


def endpoint_of(server: ProviderServer, **changes: Any) -> Endpoint:
    """Return the endpoint of a server."""
    key = Secret(server.key) if server.key is not None else None
    plain: dict[str, Any] = {
        "provider": server.dialect,
        "model": server.facts.model,
        "base_url": server.url,
        "key": key,
    }
    return Endpoint(**{**plain, **changes})


def provider_over(
    endpoint: Endpoint, dialect: str, http: HttpClient, account: Account, clock: MovableClock, **options: Any
) -> RemoteProvider:
    """Return a provider that pauses on the test's clock."""
    known = KNOWN[dialect]
    return RemoteProvider(
        APIS[dialect](endpoint),
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
    """Run a provider inside the block, with its own connections and accounts."""
    clock = clock or MovableClock()
    http, accounts = HttpClient(), Accounts(path, clock, 0)
    endpoint = endpoint_of(server, dims=dims)
    async with trio.open_nursery() as nursery:
        await nursery.start(accounts.run)
        account = accounts.account_for(endpoint, KNOWN[server.dialect].limits)
        provider = provider_over(endpoint, server.dialect, http, account, clock, **options)
        try:
            yield provider
        finally:
            with trio.CancelScope(shield=True):
                await provider.aclose()
                await http.aclose()
            nursery.cancel_scope.cancel()


ACCOUNT_LIMITS = BatchLimits(max_texts=10, max_tokens=1000, max_text_tokens=100, concurrency=2)
ACCOUNT_URL = "https://user:pass-word@api.example/v1"
ACCOUNT_KEY = "sk-a-key-nobody-may-see"
DOWN = ProviderUnreachableError("nobody answers")
NO_CREDIT = ProviderQuotaError("openai answered 429 (insufficient_quota)")


def endpoint(
    key: str | None = ACCOUNT_KEY, url: str = ACCOUNT_URL, provider: str = "openai", model: str = "m"
) -> Endpoint:
    return Endpoint(provider, model, url, Secret(key) if key else None)


def accounts(clock: MovableClock | None = None, budget: int = 0, path: Path | None = None) -> Accounts:
    return Accounts(path, clock or MovableClock(), budget)


def spend(account: Account, tokens: int, *, estimate: int | None = None, metered: bool = True) -> None:
    account.begin(tokens if estimate is None else estimate, metered=metered, model="m").record_success(tokens)


def fail(account: Account, error: ProviderFailedError, model: str = "m") -> None:
    account.begin(1, metered=True, model=model).record_failure(error)


@asynccontextmanager
async def running(path: Path, clock: MovableClock, budget: int = 0) -> AsyncIterator[Accounts]:
    """Run accounts inside the block."""
    found = accounts(clock, budget, path)
    async with trio.open_nursery() as nursery:
        with trio.fail_after(120):
            await nursery.start(found.run)
        yield found
        nursery.cancel_scope.cancel()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for a state of the disk, independent of trio's clock."""
    limit = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < limit, "it never came"
        await trio.lowlevel.checkpoint()


SECRET_KEY = "sk-proj-0123456789abcdefghijklmn"


def adapter(name: str, **fields: Any) -> EmbeddingApi:
    """Return an API adapter; `fields` are those of its endpoint."""
    facts = {"model": "a-model", "base_url": "https://host.test/v1", "key": Secret(SECRET_KEY), **fields}
    return APIS[name](Endpoint(name, **facts))


SMALL_LIMITS = BatchLimits(max_texts=4, max_tokens=1000, max_text_tokens=500, concurrency=2)
ONE_AT_A_TIME = msgspec.structs.replace(SMALL_LIMITS, concurrency=1)


class RemoteFixture:
    """A server, and a provider created as the daemon does."""

    def __init__(
        self, server: ProviderServer, budget: int = 0, limits: BatchLimits = SMALL_LIMITS, **changes: Any
    ) -> None:
        self.server = server
        self.limits = limits
        self.http = HttpClient()
        self.clock = MovableClock()
        self.pauses: list[float] = []
        self.accounts = Accounts(None, self.clock, budget)
        self.endpoint = replace(endpoint_of(server), **changes)
        self.account: Account = self.accounts.account_for(self.endpoint, limits)

    def provider(self, **options: Any) -> RemoteProvider:
        """Return a provider whose pauses are recorded and skipped."""
        found = {"limits": self.limits, "pause": self.pause, **options}
        return provider_over(self.endpoint, self.server.dialect, self.http, self.account, self.clock, **found)

    async def pause(self, seconds: float) -> None:
        """Record a pause and move the clock."""
        self.pauses.append(seconds)
        await self.clock.pause(seconds)

    @property
    def asked(self) -> list[list[str]]:
        """The texts of each request."""
        return [call.texts for call in self.server.requests]


@asynccontextmanager
async def connected(dialect: DialectName = "openai", **options: Any) -> AsyncIterator[RemoteFixture]:
    """Run a server with a provider's dependencies; every request must match the provider's documentation."""
    with serve_provider(dialect, dims=32) as server:
        world = RemoteFixture(server, **options)
        try:
            with trio.fail_after(120):
                yield world
        finally:
            with trio.CancelScope(shield=True):
                await world.http.aclose()
    assert server.complaints == []


async def until_seen(holds: Callable[[], bool]) -> None:
    """Wait for a state of the server."""
    with trio.fail_after(120):
        while not holds():  # noqa: ASYNC110 - the server lives in threads
            await trio.sleep(0.002)
