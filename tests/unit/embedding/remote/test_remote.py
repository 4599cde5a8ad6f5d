"""Tests of remote providers: slots, budget, retries, deadlines, cancellation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest
import trio
import trio.testing
from msgspec.structs import replace

from memd.embedding.remote.endpoint import Timeouts
from memd.embedding.remote.providers.api import ApiReply
from memd.embedding.remote.providers.ollama import OllamaApi
from memd.embedding.remote.providers.openai import FIELDS, OpenAIApi
from memd.embedding.remote.remote import RemoteProvider
from memd.embedding.space import VectorSpace
from memd.system.units import about
from memd.text.tokens import estimate_tokens
from memd_client.errors import (
    DimensionsChangedError,
    ProviderFailedError,
    ProviderQuotaError,
    ProviderRateLimitedError,
    ProviderReplyError,
    ProviderUnreachableError,
    ShuttingDownError,
    TokenBudgetError,
)
from tests.support.provider_faults import Fault, FaultKind
from tests.support.provider_server import KEY
from tests.support.remote_fixture import ONE_AT_A_TIME, SMALL_LIMITS, connected, until_seen


class SilentApi(OpenAIApi):
    """An interface that counts no tokens, as some compatible servers."""

    def parse(self, body: bytes, count: int) -> ApiReply:
        """Return the vectors without a token count."""
        return replace(super().parse(body, count), tokens=None)


# --- batches and slots ------------------------------------------------------------------------------


async def test_any_number_of_texts_is_embedded_in_order_by_limited_requests() -> None:
    async with connected() as world:
        texts = [f"text {number}" for number in range(30)]
        world.server.latency_s = 0.01
        found = await world.provider().embed_batch(texts)
        assert found.shape == (30, 32)
        for row, text in zip(found, texts, strict=True):
            assert np.allclose(row, world.server.vector(text), atol=1e-6)
        server = world.server
        assert max(len(call.texts) for call in server.requests) <= SMALL_LIMITS.max_texts
        assert 1 < server.busiest <= SMALL_LIMITS.concurrency


async def test_providers_of_an_account_share_its_slots() -> None:
    async with connected() as world:
        world.server.latency_s = 0.01
        async with trio.open_nursery() as nursery:
            for agent in range(3):
                nursery.start_soon(world.provider().embed_batch, [f"{agent} {text}" for text in range(12)])
        assert world.server.busiest <= SMALL_LIMITS.concurrency


async def test_query_does_not_wait_for_batches() -> None:
    async with connected() as world:
        provider = world.provider()
        world.server.fault = Fault("hang", marker="slow")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(provider.embed_batch, [f"slow {number}" for number in range(40)])
            await until_seen(lambda: len(world.server.requests) == SMALL_LIMITS.concurrency)
            assert (await provider.embed_query("quick")).shape == (32,)
            world.server.fault = None


async def test_query_is_next_at_a_sequential_provider() -> None:
    async with connected("ollama", limits=ONE_AT_A_TIME) as world:
        provider = world.provider()
        world.server.one_at_a_time, world.server.latency_s = True, 0.02
        async with trio.open_nursery() as nursery:
            nursery.start_soon(provider.embed_batch, [f"text {number}" for number in range(20)])
            await until_seen(lambda: len(world.server.requests) == 1)
            for number in range(3):
                nursery.start_soon(provider.embed_query, f"query {number}")
        assert world.pauses == []
        kinds = ["query" if texts[0].startswith("query") else "text" for texts in world.asked]
        assert kinds == ["text"] + ["query"] * 3 + ["text"] * 4


async def test_blank_and_unencodable_texts_are_replaced() -> None:
    async with connected() as world:
        provider = world.provider()
        found = await provider.embed_batch(["", " \n\t ", "lone \ud800 half"])
        await provider.embed_query("")
        assert world.asked == [[".", ".", "lone ? half"], ["."]]
        assert np.allclose(np.linalg.norm(found, axis=1), 1.0)


async def test_prefixes_of_the_space_precede_the_texts() -> None:
    async with connected("ollama") as world:
        space = VectorSpace("ollama", "nomic-embed-text", "search_query: ", "search_document: ")
        provider = RemoteProvider(
            OllamaApi(world.endpoint),
            space,
            http=world.http,
            account=world.account,
            limits=SMALL_LIMITS,
            metered=False,
        )
        await provider.embed_batch(["a"])
        await provider.embed_query("b")
        assert world.asked == [["search_document: a"], ["search_query: b"]]


# --- checks and counts ------------------------------------------------------------------------------


async def test_vectors_of_two_sizes_in_a_batch_are_an_error() -> None:
    async with connected() as world:
        provider = world.provider(limits=replace(SMALL_LIMITS, max_texts=1, concurrency=1))
        answer = world.server.answer

        def grow(*args: Any) -> Any:
            reply = answer(*args)
            world.server.dims = 48
            return reply

        world.server.answer = grow  # type: ignore[assignment, method-assign]
        with pytest.raises(DimensionsChangedError, match=r"^openai .* 32 and of 48 "):
            await provider.embed_batch(["a", "b", "c", "d"])
        assert world.account.retry_in_s() == 0


async def test_tokens_are_counted_by_the_provider_or_estimated() -> None:
    async with connected() as world:
        provider = world.provider()
        reply = await provider.embed_batch(["some words", "some more words"])
        assert reply.shape == (2, 32)
        counted = world.accounts.tokens_today
        assert counted > 0
        silent = RemoteProvider(
            SilentApi(world.endpoint, FIELDS["openai"]),
            provider.space,
            http=world.http,
            account=world.account,
            limits=SMALL_LIMITS,
            metered=True,
        )
        await silent.embed_query("four tokens, about")
        assert world.accounts.tokens_today == counted + estimate_tokens("four tokens, about")


async def test_texts_beyond_the_budget_are_refused_before_any_request() -> None:
    async with connected(budget=1100) as world:
        provider = world.provider()
        with pytest.raises(TokenBudgetError):
            await provider.embed_batch(["x" * 400] * 12)
        assert world.asked == []
        assert provider.limits == SMALL_LIMITS
        await provider.embed_batch(["x" * 400] * 4)
        left = world.account.tokens_left
        assert left is not None
        assert provider.limits == replace(SMALL_LIMITS, max_tokens=min(left, SMALL_LIMITS.max_tokens))
        assert left < SMALL_LIMITS.max_tokens


async def test_first_failure_of_concurrent_requests_cancels_the_others() -> None:
    async with connected() as world:
        world.server.fault = Fault("quota", marker="text 3")
        world.server.latency_s = (
            0.1  # delays successful replies, so that the refusal comes first, however busy the machine is
        )
        with pytest.raises(ProviderQuotaError):
            await world.provider().embed_batch([f"text {number}" for number in range(30)])
        assert len(world.asked) <= 4
        world.clock.move(1800)
        world.server.fault = None
        await world.provider().embed_batch(["again"])
        assert "2 free" in repr(world.account.slots)


# --- other methods ----------------------------------------------------------------------------------


async def test_close_cancels_requests_and_later_calls_fail() -> None:
    async with connected() as world:
        provider = world.provider()
        world.server.fault = Fault("hang")
        ended: list[str] = []

        async def ask(call: Callable[[], Awaitable[object]]) -> None:
            with pytest.raises(ShuttingDownError):
                await call()
            ended.append(repr(provider))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, lambda: provider.embed_query("a"))
            nursery.start_soon(ask, lambda: provider.embed_batch([f"b {number}" for number in range(9)]))
            await until_seen(lambda: len(world.server.requests) == 3)
            assert repr(provider).endswith("2 requests under way>")
            await provider.aclose()
            await provider.aclose()
        assert len(ended) == 2
        with pytest.raises(ShuttingDownError):
            await provider.embed_batch([])
        assert world.account.retry_in_s() == 0
        world.server.fault = None
        await world.provider().embed_query("another agent's provider goes on")


async def test_provider_has_names_and_a_recipe_without_secrets() -> None:
    async with connected(base_url="https://user:pass-word@host.example:8443/v1", dims=32) as world:
        await trio.lowlevel.checkpoint()
        provider = world.provider()
        assert (provider.id, provider.model) == ("openai", "text-embedding-3-small")
        assert provider.recipe == {
            "provider": "openai",
            "model": "text-embedding-3-small",
            "base_url": "https://host.example:8443/v1",
            "dims": "32",
        }
        shown = f"{provider!r} {provider.recipe} {world.account!r} {world.accounts!r}"
        assert "pass-word" not in shown
        assert KEY not in shown
        assert provider.bulk is None


# --- retries ----------------------------------------------------------------------------------------


async def test_transient_errors_are_retried_twice_with_backoff() -> None:
    async with connected() as world:
        world.server.fault = Fault("server_error", times=2)
        await world.provider().embed_batch(["a", "b"])
        assert world.pauses == [0.5, 1.0]
        assert world.account.status().code == ""
        assert world.account.status().calls_today == 3
        assert world.server.texts_embedded == {"a": 1, "b": 1}


async def test_after_three_tries_the_account_pauses_and_the_trial_is_one_call() -> None:
    async with connected() as world:
        provider = world.provider()
        world.server.fault = Fault("server_error")
        for calls, window in ((3, 2), (4, 4), (5, 8)):
            with pytest.raises(ProviderFailedError, match="500"):
                await provider.embed_batch(["a"])
            assert len(world.asked) == calls
            assert provider.retry_in_s() == window
            with pytest.raises(ProviderFailedError, match=f"next try in {about(window * 1000)}"):
                await provider.embed_query("refused without being asked")
            assert len(world.asked) == calls
            world.clock.move(window)
        world.server.fault = None
        await provider.embed_batch(["a"])
        assert provider.retry_in_s() == 0


async def test_query_is_tried_twice() -> None:
    async with connected() as world:
        world.server.fault = Fault("overloaded")
        with pytest.raises(ProviderFailedError):
            await world.provider().embed_query("a")
        assert len(world.asked) == 2


@pytest.mark.parametrize(
    ("fault", "error"),
    [("quota", ProviderQuotaError), ("truncated", ProviderReplyError), ("zero", ProviderReplyError)],
)
async def test_permanent_and_paid_errors_are_not_retried(
    fault: FaultKind, error: type[ProviderFailedError]
) -> None:
    async with connected() as world:
        world.server.fault = Fault(fault)
        with pytest.raises(error):
            await world.provider().embed_batch(["some words"])
        assert len(world.asked) == 1
        paid = estimate_tokens("some words") if error is ProviderReplyError else 0
        assert world.accounts.tokens_today == paid


async def test_short_retry_after_delays_all_concurrent_requests() -> None:
    async with connected() as world:
        world.server.fault = Fault("rate_limited", times=1, retry_after=5)
        seen: list[float] = []

        async def pause(seconds: float) -> None:
            seen.append(seconds)
            # meanwhile another agent's batch waits as long, and a query fails at once
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


async def test_query_fails_instead_of_waiting_for_a_long_pause() -> None:
    async with connected() as world:
        world.server.fault = Fault("rate_limited", retry_after=3)
        with pytest.raises(ProviderRateLimitedError):
            await world.provider().embed_query("a")
        assert len(world.asked) == 1
        assert world.account.retry_in_s() == 3


async def test_waiting_retry_fails_when_the_circuit_breaker_opens() -> None:
    async with connected() as world:

        async def pause(seconds: float) -> None:
            world.account.begin(1, metered=True).record_failure(ProviderQuotaError("no credit"))

        world.server.fault = Fault("server_error")
        with pytest.raises(ProviderQuotaError):
            await world.provider(pause=pause).embed_batch(["a"])
        assert len(world.asked) == 1


# --- deadlines and cancellation ---------------------------------------------------------------------


async def test_hanging_provider_times_out_and_counts_as_failed() -> None:
    async with connected() as world:
        world.server.fault = Fault("hang")
        provider = world.provider(query_timeout_s=0.2, batch_timeouts=Timeouts(total_s=0.1))
        with pytest.raises(ProviderUnreachableError):
            await provider.embed_query("a")
        assert world.account.retry_in_s() == 2
        world.clock.move(2)
        with pytest.raises(ProviderUnreachableError):
            await provider.embed_batch(["b"])
        assert world.account.retry_in_s() == 4
        world.server.fault = None


async def test_cancelled_call_is_no_failure_and_frees_slot_and_trial() -> None:
    async with connected() as world:
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
                    await until_seen(lambda seen=4 + number: len(world.server.requests) == seen)  # type: ignore[misc]
                    scope.cancel()
            assert provider.retry_in_s() == 0
        world.server.fault = None
        await provider.embed_batch(["c"])
        assert "2 free" in repr(world.account.slots)
        assert world.account.status().code == ""


async def test_a_query_that_gets_no_slot_in_time_is_no_failure_of_the_provider() -> None:
    async with connected("ollama", limits=ONE_AT_A_TIME) as world:
        provider = world.provider(query_timeout_s=0.05)
        async with world.account.slots.slot("document"):
            with pytest.raises(ProviderUnreachableError, match="no free request slot"):
                await provider.embed_query("a")
        assert world.account.retry_in_s() == 0
        assert "1 free" in repr(world.account.slots)
