"""A remote provider asks with manners: in turn, in small requests, and within the budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import trio
import trio.testing

from memd.embedding.remote.providers.api import ApiReply
from memd.embedding.remote.providers.ollama import OllamaApi
from memd.embedding.remote.providers.openai import OpenAIApi
from memd.embedding.remote.remote import RemoteProvider
from memd.embedding.space import VectorSpace
from memd.text.tokens import estimate_tokens
from memd_client.errors import (
    DimensionsChangedError,
    ProviderQuotaError,
    ShuttingDownError,
    TokenBudgetError,
)
from tests.support.provider_faults import Fault
from tests.support.provider_server import KEY
from tests.unit.embedding.asking import ONE, SMALL, World, run, until


class SilentApi(OpenAIApi):
    """Counts no tokens, as some compatible servers."""

    def parse(self, body: bytes, count: int) -> ApiReply:
        """Return the vectors alone."""
        return replace(super().parse(body, count), tokens=None)


# --- batches and turns ------------------------------------------------------------------------------


def test_any_number_of_texts_comes_back_in_order_by_small_requests_few_at_once() -> None:
    async def test(world: World) -> None:
        texts = [f"text {number}" for number in range(30)]
        world.server.latency_s = 0.01
        found = await world.provider().embed_batch(texts)
        assert found.shape == (30, 32)
        for row, text in zip(found, texts, strict=True):
            assert np.allclose(row, world.server.vector(text), atol=1e-6)

    server = run(test)
    assert max(len(call.texts) for call in server.requests) <= SMALL.max_texts
    assert 1 < server.busiest <= SMALL.concurrency


def test_all_who_share_an_account_share_its_turns() -> None:
    async def test(world: World) -> None:
        world.server.latency_s = 0.01
        async with trio.open_nursery() as nursery:
            for agent in range(3):
                nursery.start_soon(world.provider().embed_batch, [f"{agent} {text}" for text in range(12)])

    assert run(test).busiest <= SMALL.concurrency


def test_a_question_does_not_wait_behind_batches() -> None:
    async def test(world: World) -> None:
        provider = world.provider()
        world.server.fault = Fault("hang", marker="slow")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(provider.embed_batch, [f"slow {number}" for number in range(40)])
            await until(lambda: len(world.server.requests) == SMALL.concurrency)
            assert (await provider.embed_query("quick")).shape == (32,)
            world.server.fault = None

    run(test)


def test_where_only_one_request_is_taken_a_question_is_the_next_and_none_fails() -> None:
    async def test(world: World) -> None:
        provider = world.provider()
        world.server.one_at_a_time, world.server.latency_s = True, 0.02
        async with trio.open_nursery() as nursery:
            nursery.start_soon(provider.embed_batch, [f"text {number}" for number in range(20)])
            await until(lambda: len(world.server.requests) == 1)
            for number in range(3):
                nursery.start_soon(provider.embed_query, f"question {number}")
        assert world.pauses == []
        kinds = ["question" if texts[0].startswith("question") else "text" for texts in world.asked]
        assert kinds == ["text"] + ["question"] * 3 + ["text"] * 4

    run(test, "ollama", limits=ONE)


def test_blank_and_broken_texts_are_sent_as_something_a_provider_takes() -> None:
    async def test(world: World) -> None:
        provider = world.provider()
        found = await provider.embed_batch(["", " \n\t ", "lone \ud800 half"])
        await provider.embed_query("")
        assert world.asked == [[".", ".", "lone ? half"], ["."]]
        assert np.allclose(np.linalg.norm(found, axis=1), 1.0)

    run(test)


def test_prefixes_of_the_space_stand_before_the_texts() -> None:
    async def test(world: World) -> None:
        space = VectorSpace("ollama", "nomic-embed-text", "search_query: ", "search_document: ")
        provider = RemoteProvider(
            OllamaApi(world.endpoint),
            space,
            http=world.http,
            account=world.account,
            limits=SMALL,
            metered=False,
        )
        await provider.embed_batch(["a"])
        await provider.embed_query("b")
        assert world.asked == [["search_document: a"], ["search_query: b"]]

    run(test, "ollama")


# --- what is stored and counted ---------------------------------------------------------------------


def test_vectors_of_two_sizes_for_one_batch_are_an_error_that_names_both() -> None:
    async def test(world: World) -> None:
        provider = world.provider(limits=replace(SMALL, max_texts=1, concurrency=1))
        answer = world.server.answer

        def grow(*args: Any) -> Any:
            reply = answer(*args)
            world.server.dims = 48
            return reply

        world.server.answer = grow  # type: ignore[assignment, method-assign]
        with pytest.raises(DimensionsChangedError, match=r"^openai .* 32 and of 48 "):
            await provider.embed_batch(["a", "b", "c", "d"])
        assert world.account.retry_in_s() == 0

    run(test)


def test_tokens_are_booked_as_the_provider_counts_them_and_by_estimate_where_it_does_not() -> None:
    async def test(world: World) -> None:
        provider = world.provider()
        reply = await provider.embed_batch(["some words", "some more words"])
        assert reply.shape == (2, 32)
        counted = world.accounts.tokens_today
        assert counted > 0
        silent = RemoteProvider(
            SilentApi(world.endpoint),
            provider.space,
            http=world.http,
            account=world.account,
            limits=SMALL,
            metered=True,
        )
        await silent.embed_query("four tokens, about")
        assert world.accounts.tokens_today == counted + estimate_tokens("four tokens, about")

    run(test)


def test_texts_beyond_the_budget_are_refused_before_the_first_of_them_is_bought() -> None:
    async def test(world: World) -> None:
        provider = world.provider()
        with pytest.raises(TokenBudgetError):
            await provider.embed_batch(["x" * 400] * 12)
        assert world.asked == []
        assert provider.limits == SMALL
        await provider.embed_batch(["x" * 400] * 4)
        left = world.account.tokens_left
        assert left is not None
        assert provider.limits == replace(SMALL, max_tokens=min(left, SMALL.max_tokens))
        assert left < SMALL.max_tokens

    run(test, budget=1100)


def test_the_first_failure_of_several_requests_is_the_error_and_ends_the_others() -> None:
    async def test(world: World) -> None:
        world.server.fault = Fault("quota", marker="text 3")
        world.server.latency_s = 0.1  # of what goes well: a refusal comes first, however busy the machine is
        with pytest.raises(ProviderQuotaError):
            await world.provider().embed_batch([f"text {number}" for number in range(30)])
        assert len(world.asked) <= 4
        world.clock.move(1800)
        world.server.fault = None
        await world.provider().embed_batch(["again"])
        assert "2 free" in repr(world.account.turns)

    run(test)


# --- the rest of the protocol -----------------------------------------------------------------------


def test_close_ends_what_is_under_way_by_name_and_refuses_everything_afterwards() -> None:
    async def test(world: World) -> None:
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
            await until(lambda: len(world.server.requests) == 3)
            assert repr(provider).endswith("2 requests under way>")
            await provider.aclose()
            await provider.aclose()
        assert len(ended) == 2
        with pytest.raises(ShuttingDownError):
            await provider.embed_batch([])
        assert world.account.retry_in_s() == 0
        world.server.fault = None
        await world.provider().embed_query("another agent's provider goes on")

    run(test)


def test_it_names_itself_and_its_recipe_holds_no_secret() -> None:
    async def test(world: World) -> None:
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

    run(test, base_url="https://user:pass-word@host.example:8443/v1", dims=32)
