"""A remote provider tries again where that helps, and stops where it doesn't; whoever is cancelled blames nobody."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from memd.embedding.remote.providers.http import Patience
from memd.system.units import about
from memd.text.tokens import estimate_tokens
from memd_client.errors import (
    ProviderFailedError,
    ProviderQuotaError,
    ProviderRateLimitedError,
    ProviderReplyError,
    ProviderUnreachableError,
)
from tests.support.provider_faults import Fault, FaultKind
from tests.unit.embedding.asking import ONE, World, run, until

# --- tries ------------------------------------------------------------------------------------------


def test_what_passes_by_itself_is_tried_three_times_with_growing_pauses_and_is_no_failure() -> None:
    async def test(world: World) -> None:
        world.server.fault = Fault("server_error", times=2)
        await world.provider().embed_batch(["a", "b"])
        assert world.pauses == [0.5, 1.0]
        assert world.account.status().code == ""
        assert world.account.status().calls_today == 3

    assert run(test).texts_embedded == {"a": 1, "b": 1}


def test_after_three_tries_the_account_pauses_and_the_trial_is_one_call() -> None:
    async def test(world: World) -> None:
        provider = world.provider()
        world.server.fault = Fault("server_error")
        for calls, window in ((3, 2), (4, 4), (5, 8)):
            with pytest.raises(ProviderFailedError, match="500"):
                await provider.embed_batch(["a"])
            assert len(world.asked) == calls
            assert provider.retry_in_s() == window
            with pytest.raises(ProviderFailedError, match=f"asked again in {about(window * 1000)}"):
                await provider.embed_query("refused without being asked")
            assert len(world.asked) == calls
            world.clock.move(window)
        world.server.fault = None
        await provider.embed_batch(["a"])
        assert provider.retry_in_s() == 0

    run(test)


def test_a_question_is_tried_twice() -> None:
    async def test(world: World) -> None:
        world.server.fault = Fault("overloaded")
        with pytest.raises(ProviderFailedError):
            await world.provider().embed_query("a")
        assert len(world.asked) == 2

    run(test)


@pytest.mark.parametrize(
    ("fault", "error"),
    [("quota", ProviderQuotaError), ("truncated", ProviderReplyError), ("zero", ProviderReplyError)],
)
def test_what_is_hopeless_or_paid_for_is_not_tried_again_at_once(
    fault: FaultKind, error: type[ProviderFailedError]
) -> None:
    async def test(world: World) -> None:
        world.server.fault = Fault(fault)
        with pytest.raises(error):
            await world.provider().embed_batch(["some words"])
        assert len(world.asked) == 1
        paid = estimate_tokens("some words") if error is ProviderReplyError else 0
        assert world.accounts.tokens_today == paid

    run(test)


def test_a_short_pause_the_provider_names_is_kept_by_every_lane() -> None:
    async def test(world: World) -> None:
        world.server.fault = Fault("rate_limited", times=1, retry_after=5)
        seen: list[float] = []

        async def pause(seconds: float) -> None:
            seen.append(seconds)
            # meanwhile another agent's batch waits as long, and a question isn't asked at all
            await other.embed_batch(["b"])
            with pytest.raises(ProviderRateLimitedError):
                await other.embed_query("c")
            world.clock.move(seconds)

        async def wait(seconds: float) -> None:
            seen.append(seconds)

        other = world.provider(pause=wait)
        provider = world.provider(pause=pause)
        await provider.embed_batch(["a"])
        assert seen == [5, 5]

    run(test)


def test_a_question_is_not_held_up_by_a_pause_the_provider_names() -> None:
    async def test(world: World) -> None:
        world.server.fault = Fault("rate_limited", retry_after=3)
        with pytest.raises(ProviderRateLimitedError):
            await world.provider().embed_query("a")
        assert len(world.asked) == 1
        assert world.account.retry_in_s() == 3

    run(test)


def test_a_lane_that_waits_for_its_next_try_gives_up_when_another_finds_the_account_closed() -> None:
    async def test(world: World) -> None:
        async def pause(seconds: float) -> None:
            world.account.begin(1, metered=True).failed(ProviderQuotaError("no credit"))

        world.server.fault = Fault("server_error")
        with pytest.raises(ProviderQuotaError):
            await world.provider(pause=pause).embed_batch(["a"])
        assert len(world.asked) == 1

    run(test)


# --- deadlines and cancellation ---------------------------------------------------------------------


def test_a_provider_that_hangs_is_unreachable_after_the_deadline_and_that_counts() -> None:
    async def test(world: World) -> None:
        world.server.fault = Fault("hang")
        provider = world.provider(query_timeout_s=0.2, batch_patience=Patience(total_s=0.1))
        with pytest.raises(ProviderUnreachableError):
            await provider.embed_query("a")
        assert world.account.retry_in_s() == 2
        world.clock.move(2)
        with pytest.raises(ProviderUnreachableError):
            await provider.embed_batch(["b"])
        assert world.account.retry_in_s() == 4
        world.server.fault = None

    run(test)


def test_a_call_that_is_cancelled_is_nobodys_failure_and_gives_turn_and_trial_back() -> None:
    async def test(world: World) -> None:
        provider = world.provider()
        world.server.fault = Fault("server_error")
        with pytest.raises(ProviderFailedError):
            await provider.embed_batch(["a"])
        world.clock.move(2)
        world.server.fault = Fault("hang")
        for number in range(3):
            with trio.CancelScope() as scope:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(provider.embed_query if number % 2 else provider.embed_batch, "b")
                    await until(lambda seen=4 + number: len(world.server.requests) == seen)  # type: ignore[misc]
                    scope.cancel()
            assert provider.retry_in_s() == 0
        world.server.fault = None
        await provider.embed_batch(["c"])
        assert "2 free" in repr(world.account.turns)
        assert world.account.status().code == ""

    run(test)


def test_a_question_that_gets_no_turn_is_not_the_providers_failure() -> None:
    async def test(world: World) -> None:
        provider = world.provider(query_timeout_s=5.0)
        async with world.account.turns.take("document"):
            with pytest.raises(ProviderUnreachableError, match="no turn"):
                await provider.embed_query("a")
        assert world.account.retry_in_s() == 0
        assert "1 free" in repr(world.account.turns)

    run(test, "ollama", trio.testing.MockClock(autojump_threshold=0), limits=ONE)
