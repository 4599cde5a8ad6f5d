"""Tests of query vectors shared by agents; failures are not shared."""

from __future__ import annotations

from contextlib import suppress

import pytest
import trio
import trio.testing
from trio.testing import wait_all_tasks_blocked

from memd.embedding.provider import FloatArray
from memd.embedding.query_vectors import MAX_SHARED_QUERIES, QueryVectorCache, SharedQueryVectors
from memd_client.errors import MemdError, ProviderAuthError, ProviderUnreachableError
from tests.support.fake_provider import FakeProvider


async def _ask_at_once(
    shared: SharedQueryVectors, providers: list[FakeProvider], query: str
) -> list[MemdError | None]:
    """Have agents embed a query concurrently, one per provider; return their results."""
    met: dict[int, MemdError | None] = {}
    gate = trio.Event()

    async def ask(number: int, provider: FakeProvider) -> None:
        try:
            await QueryVectorCache(60, shared).vector_of(query, provider, 60, nursery)
            met[number] = None
        except MemdError as error:
            met[number] = error

    async with trio.open_nursery() as nursery:
        for number, provider in enumerate(providers):
            provider.query_gate = gate
            nursery.start_soon(ask, number, provider)
            await wait_all_tasks_blocked()
        gate.set()
    return [met[number] for number in range(len(providers))]


def test_agents_with_one_vector_space_embed_a_query_once() -> None:
    providers = [FakeProvider(), FakeProvider(), FakeProvider()]

    assert trio.run(_ask_at_once, SharedQueryVectors(), providers, "q") == [None, None, None]

    assert [each.queries for each in providers] == [["q"], [], []]


def test_agents_with_other_spaces_or_addresses_embed_separately() -> None:
    providers = [FakeProvider(), FakeProvider(model="other"), FakeProvider()]
    providers[2].recipe["base_url"] = "http://elsewhere"

    trio.run(_ask_at_once, SharedQueryVectors(), providers, "q")

    assert [each.queries for each in providers] == [["q"], ["q"], ["q"]]


def test_a_failure_is_not_shared() -> None:
    providers = [FakeProvider(), FakeProvider(), FakeProvider()]
    providers[0].problem = ProviderAuthError("the key is refused")

    met = trio.run(_ask_at_once, SharedQueryVectors(), providers, "q")

    assert [None if error is None else error.code for error in met] == ["provider_auth", None, None]


def test_paused_provider_shares_no_vector() -> None:
    providers = [FakeProvider(), FakeProvider()]
    providers[1].pause_s, providers[1].problem = 30.0, ProviderAuthError("the key is refused")

    met = trio.run(_ask_at_once, SharedQueryVectors(), providers, "q")

    assert [None if error is None else error.code for error in met] == [None, "provider_auth"]


async def test_later_agent_reuses_the_vector_until_it_is_forgotten() -> None:
    shared, providers = SharedQueryVectors(), [FakeProvider() for _ in range(4)]

    async with trio.open_nursery() as nursery:
        agents = [QueryVectorCache(60, shared) for _ in providers]
        for agent, provider in list(zip(agents, providers, strict=True))[:2]:
            await agent.vector_of("q", provider, 60, nursery)
        agents[0].forget()
        await agents[2].vector_of("q", providers[2], 60, nursery)
        for number in range(MAX_SHARED_QUERIES):
            await agents[2].vector_of(f"q{number}", providers[2], 60, nursery)
        await agents[3].vector_of("q", providers[3], 60, nursery)

    assert [each.queries.count("q") for each in providers] == [1, 0, 1, 1]


async def test_no_agent_waits_for_a_provider_that_hangs_until_it_answers(
    autojump_clock: trio.testing.MockClock,
) -> None:
    shared, provider, neighbour = SharedQueryVectors(), FakeProvider(), FakeProvider()
    provider.query_gate = neighbour.query_gate = gate = trio.Event()

    async def waits_s(agent: QueryVectorCache, asked: FakeProvider, query: str) -> float:
        began = trio.current_time()
        with suppress(ProviderUnreachableError):
            await agent.vector_of(query, asked, 60, nursery)
        return trio.current_time() - began

    async with trio.open_nursery() as nursery:
        first, second = QueryVectorCache(2, shared), QueryVectorCache(2, shared)
        assert await waits_s(first, provider, "one") == 2
        assert [await waits_s(first, provider, "two"), await waits_s(second, neighbour, "three")] == [0, 0]
        await wait_all_tasks_blocked()
        assert neighbour.queries == ["three"]  # the call that finds out whether it answers again
        gate.set()
        await wait_all_tasks_blocked()
        assert (await second.vector_of("four", neighbour, 60, nursery)).size == provider.dims


async def test_many_texts_that_take_long_do_not_stop_queries(autojump_clock: trio.testing.MockClock) -> None:
    provider, gate = FakeProvider(), trio.Event()

    async def embed() -> FloatArray:
        await gate.wait()
        return await provider.embed_batch(["one", "two"])

    async with trio.open_nursery() as nursery:
        agent = QueryVectorCache(2)
        key = (provider.space.id, "embed document", "one", "two")
        with pytest.raises(ProviderUnreachableError):
            await agent.wait_for(key, provider, embed, 60, nursery)
        assert (await agent.vector_of("q", provider, 60, nursery)).size == provider.dims
        gate.set()
