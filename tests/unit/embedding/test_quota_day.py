"""A provider that says to wait is left alone as long, over restarts and whoever asks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path

import pytest
import trio

from memd.embedding.remote.remote import RemoteProvider
from memd_client.errors import ProviderFailedError, ProviderQuotaError, ProviderRateLimitedError
from tests.support.provider_errors import DialectName
from tests.support.provider_faults import Fault
from tests.support.provider_server import ProviderServer, serving
from tests.support.remotes import MovableClock, remote

WINDOW_S = 30 * 60
"""How long an account without quota is left alone."""

STEP_S = 60
"""How often the daemon of this test wants something: a question and a batch each time."""

DIALECTS: tuple[DialectName, ...] = ("openai", "gemini", "voyage", "mistral", "ollama", "compatible")
METERED: tuple[DialectName, ...] = ("openai", "gemini", "voyage", "mistral", "compatible")


async def fails(ask: Callable[[], Awaitable[object]]) -> ProviderFailedError:
    """Return the error a call ends with."""
    with pytest.raises(ProviderFailedError) as raised:
        await ask()
    return raised.value


async def ask_both(provider: RemoteProvider) -> list[ProviderFailedError]:
    """Ask for a question and for a batch, and return the errors."""
    return [
        await fails(lambda: provider.embed_query("where is the invoice")),
        await fails(lambda: provider.embed_batch(["the cat is ill", "an invoice is due"])),
    ]


async def live_a_day(server: ProviderServer, path: Path) -> list[float]:
    """Live a day of an account without quota, with a restart each hour; return when the provider was called."""
    clock = MovableClock()
    start_ms, calls_s = clock.now_ms, list[float]()
    for _ in range(24):
        async with remote(server, clock, path) as provider:
            for _ in range(3600 // STEP_S):
                seen = server.calls
                errors = await ask_both(provider)
                assert {type(error) for error in errors} == {ProviderQuotaError}
                calls_s += [(clock.now_ms - start_ms) / 1000] * (server.calls - seen)
                clock.move(STEP_S)
    return calls_s


@pytest.mark.parametrize("dialect", METERED)
def test_an_account_without_quota_is_asked_once_a_window_for_a_day_of_restarts(
    dialect: DialectName, tmp_path: Path
) -> None:
    with serving(dialect, dims=32) as server:
        # given an account whose quota is used up
        server.fault = Fault("quota")
        # when questions and batches come each minute for a day, and the daemon restarts each hour
        calls_s = trio.run(live_a_day, server, tmp_path / "accounts.json")
        # then it is called once a window and never more
        gaps = [later - earlier for earlier, later in pairwise(calls_s)]
        assert min(gaps) >= WINDOW_S
        assert 40 <= len(calls_s) <= 24 * 3600 // WINDOW_S
        assert server.complaints == []


def test_an_account_that_has_quota_again_is_used_after_the_window(tmp_path: Path) -> None:
    async def test(server: ProviderServer) -> None:
        clock = MovableClock()
        async with remote(server, clock, tmp_path / "accounts.json") as provider:
            server.fault = Fault("quota")
            await ask_both(provider)
        server.fault = None
        async with remote(server, clock, tmp_path / "accounts.json") as provider:
            clock.move(WINDOW_S - 1)
            assert isinstance(await fails(lambda: provider.embed_query("early")), ProviderQuotaError)
            clock.move(1)
            await provider.embed_query("in time")
            await provider.embed_batch(["more", "of", "it"])

    with serving("openai", dims=32) as server:
        trio.run(test, server)
        assert server.texts_embedded == {"in time": 1, "more": 1, "of": 1, "it": 1}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_pause_of_40_seconds_is_kept_to_the_second(dialect: DialectName, tmp_path: Path) -> None:
    async def test(server: ProviderServer) -> None:
        clock = MovableClock()
        # given a provider that asks for a pause of 40 seconds
        server.fault = Fault("rate_limited", retry_after=40)
        path = tmp_path / "accounts.json"
        async with remote(server, clock, path) as provider:
            errors = await ask_both(provider)
            assert {type(error) for error in errors} == {ProviderRateLimitedError}
            assert server.calls == 1
            # when less than that has passed, it isn't called
            for _ in range(39):
                clock.move(1)
                await ask_both(provider)
            assert server.calls == 1
            assert provider.retry_in_s() == pytest.approx(1)
        # not even by a daemon that was started anew
        async with remote(server, clock, path) as provider:
            clock.move(0.9)
            await ask_both(provider)
            assert server.calls == 1
            # then, when it has passed, once, and then not for another 40 seconds
            clock.move(0.1)
            await ask_both(provider)
            assert server.calls == 2
            clock.move(39)
            await ask_both(provider)
            assert server.calls == 2
            # and all is well when it is
            clock.move(1)
            server.fault = None
            assert (await provider.embed_query("at last")).shape == (32,)
            assert server.calls == 3

    with serving(dialect, dims=32) as server:
        trio.run(test, server)


def test_many_who_ask_at_once_make_one_call_when_the_window_ends(tmp_path: Path) -> None:
    async def test(server: ProviderServer) -> None:
        clock = MovableClock()
        server.fault = Fault("quota")
        async with remote(server, clock, tmp_path / "accounts.json") as provider:
            await ask_both(provider)
            seen = server.calls
            clock.move(WINDOW_S)

            async def ask(number: int) -> None:
                await fails(lambda: provider.embed_query(f"question {number}"))

            async with trio.open_nursery() as nursery:
                for number in range(20):
                    nursery.start_soon(ask, number)
            assert server.calls == seen + 1

    with serving("openai", dims=32) as server:
        trio.run(test, server)
