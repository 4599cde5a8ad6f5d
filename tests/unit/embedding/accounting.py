"""Accounts at made-up providers, for tests of what they allow and remember."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from memd.embedding.provider import BatchLimits
from memd.embedding.remote.accounts import Account, Accounts
from memd.embedding.remote.providers.api import Endpoint
from memd.embedding.secret import Secret
from memd_client.errors import ProviderFailedError, ProviderQuotaError, ProviderUnreachableError
from tests.support.remotes import MovableClock

LIMITS = BatchLimits(max_texts=10, max_tokens=1000, max_text_tokens=100, concurrency=2)
URL = "https://user:pass-word@api.example/v1"
KEY = "sk-a-key-nobody-may-see"
DOWN = ProviderUnreachableError("nobody answers")
NO_CREDIT = ProviderQuotaError("openai answered 429 (insufficient_quota)")


def endpoint(key: str | None = KEY, url: str = URL, provider: str = "openai", model: str = "m") -> Endpoint:
    return Endpoint(provider, model, url, Secret(key) if key else None)


def accounts(clock: MovableClock | None = None, budget: int = 0, path: Path | None = None) -> Accounts:
    return Accounts(path, clock or MovableClock(), budget)


def spend(account: Account, tokens: int, *, estimate: int | None = None, metered: bool = True) -> None:
    account.begin(tokens if estimate is None else estimate, metered=metered, model="m").succeeded(tokens)


def fail(account: Account, error: ProviderFailedError, model: str = "m") -> None:
    account.begin(1, metered=True, model=model).failed(error)


@asynccontextmanager
async def running(path: Path, clock: MovableClock, budget: int = 0) -> AsyncIterator[Accounts]:
    """Accounts as a daemon has them from its start to its end."""
    found = accounts(clock, budget, path)
    async with trio.open_nursery() as nursery:
        with trio.fail_after(10):
            await nursery.start(found.run)
        yield found
        nursery.cancel_scope.cancel()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for something the disk does; trio's clock may stand still."""
    limit = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < limit, "it never came"
        await trio.lowlevel.checkpoint()
