"""A loopback server and what a remote provider needs beside it, for tests of how it is asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import trio

from memd.embedding.provider import BatchLimits
from memd.embedding.remote.account import Account
from memd.embedding.remote.accounts import Accounts
from memd.embedding.remote.providers.http import Http
from memd.embedding.remote.remote import RemoteProvider
from tests.support.provider_errors import DialectName
from tests.support.provider_server import ProviderServer, serving
from tests.support.remotes import MovableClock, endpoint_of, provider_over

SMALL = BatchLimits(max_texts=4, max_tokens=1000, max_text_tokens=500, concurrency=2)
ONE = replace(SMALL, concurrency=1)


class World:
    """A server, and a provider that is put together as the daemon does it."""

    def __init__(
        self, server: ProviderServer, budget: int = 0, limits: BatchLimits = SMALL, **changes: Any
    ) -> None:
        self.server = server
        self.limits = limits
        self.http = Http()
        self.clock = MovableClock()
        self.pauses: list[float] = []
        self.accounts = Accounts(None, self.clock, budget)
        self.endpoint = replace(endpoint_of(server), **changes)
        self.account: Account = self.accounts.of(self.endpoint, limits)

    def provider(self, **options: Any) -> RemoteProvider:
        """Return a provider; what it pauses is noted, and passes at once."""
        found = {"limits": self.limits, "pause": self.pause, **options}
        return provider_over(self.endpoint, self.server.dialect, self.http, self.account, self.clock, **found)

    async def pause(self, seconds: float) -> None:
        """Let time pass."""
        self.pauses.append(seconds)
        await self.clock.pause(seconds)

    @property
    def asked(self) -> list[list[str]]:
        """The texts of each request."""
        return [call.texts for call in self.server.requests]


def run(
    test: Callable[[World], Awaitable[None]],
    dialect: DialectName = "openai",
    clock: trio.abc.Clock | None = None,
    **options: Any,
) -> ProviderServer:
    """Run a test against a server, and return the server for a look at what it saw."""

    async def body() -> None:
        world = World(server, **options)
        try:
            with trio.fail_after(60):
                await test(world)
        finally:
            with trio.CancelScope(shield=True):
                await world.http.aclose()

    with serving(dialect, dims=32) as server:
        trio.run(body, clock=clock)
    assert server.complaints == []
    return server


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something the server sees."""
    with trio.fail_after(30):
        while not holds():  # noqa: ASYNC110 - the server lives in threads
            await trio.sleep(0.002)
