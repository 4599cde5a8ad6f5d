"""Which vectors answer while providers change, fail and recover."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from memd.vector_search.transitions import FALLBACK_AFTER_MS, PROBE_INTERVAL_MS
from memd_client.errors import (
    DeadlineExceededError,
    MemdError,
    ProviderQuotaError,
    ProviderUnavailableError,
    ProviderUnreachableError,
)
from tests.support.fake_provider import FakeProvider
from tests.support.vector_fixture import TEXTS, FakeChooser, ManualClock, run_fast, vector_fixture, wait_for


async def fill(folder: Path, provider: FakeProvider) -> None:
    """Fill an index with a provider's vectors."""
    async with vector_fixture(folder, FakeChooser(provider)) as fixture:
        await fixture.publish("memory/a.md", TEXTS)
        await fixture.until_whole()


def test_the_old_space_answers_until_the_new_one_is_complete(tmp_path: Path) -> None:
    old, new = FakeProvider(model="old"), FakeProvider(dims=12, model="new")

    async def body() -> None:
        await fill(tmp_path, FakeProvider(model="old"))
        new.gate = trio.Event()
        chooser = FakeChooser(new)
        chooser.earlier["old"] = old
        async with vector_fixture(tmp_path, chooser) as fixture:
            vectors = fixture.vectors
            assert vectors.answering is not None
            assert vectors.answering.provider is old
            assert vectors.chunks_pending == 0
            filling = vectors.filling()
            assert filling is not None
            assert (filling.model, filling.done, filling.total) == ("new", 0, len(TEXTS))
            assert filling.tokens > 0
            assert (await fixture.vector_of("a query", 1.0)).shape == (old.dims,)
            assert await fixture.active() == old.space.id
            new.gate.set()
            await fixture.until_whole()
            assert vectors.filling() is None
            assert await fixture.active() == new.space.id
            assert (await fixture.vector_of("a query", 1.0)).shape == (new.dims,)
            assert vectors.vector_cache.count == len(TEXTS)
            assert old.closed
            assert sorted(new.texts) == sorted(TEXTS)
            assert old.texts == []
        assert chooser.rebuilt == [{"provider": "fake", "model": "old"}]

    run_fast(body)


def test_returning_to_an_earlier_model_reuses_its_vectors(tmp_path: Path) -> None:
    async def body() -> None:
        await fill(tmp_path, FakeProvider(model="old"))
        await fill(tmp_path, FakeProvider(model="new"))
        back = FakeProvider(model="old")
        async with vector_fixture(tmp_path, FakeChooser(back)) as fixture:
            await fixture.until_whole()
            assert await fixture.active() == back.space.id
            assert fixture.vectors.vector_cache.count == len(TEXTS)
        assert back.texts == []

    run_fast(body)


def test_an_incomplete_space_answers_if_the_old_provider_is_unavailable(tmp_path: Path) -> None:
    new = FakeProvider(model="new")

    async def body() -> None:
        await fill(tmp_path, FakeProvider(model="old"))
        new.gate = trio.Event()
        async with vector_fixture(tmp_path, FakeChooser(new)) as fixture:
            assert fixture.vectors.is_followed
            assert fixture.vectors.vector_cache.count == 0
            assert fixture.vectors.chunks_pending == len(TEXTS)
            new.gate.set()
            await fixture.until_whole()
            assert await fixture.active() == new.space.id
            assert fixture.vectors.vector_cache.count == len(TEXTS)

    run_fast(body)


def test_an_incomplete_space_answers_if_the_old_provider_fails(tmp_path: Path) -> None:
    old, new = FakeProvider(model="old"), FakeProvider(model="new")

    async def body() -> None:
        await fill(tmp_path, FakeProvider(model="old"))
        new.gate = trio.Event()
        chooser = FakeChooser(new)
        chooser.earlier["old"] = old
        async with vector_fixture(tmp_path, chooser) as fixture:
            old.problem = ProviderQuotaError("no credit")
            with pytest.raises(ProviderQuotaError):
                await fixture.vector_of("a query", 1.0)
            await wait_for(lambda: fixture.vectors.is_followed)
            assert old.closed
            new.gate.set()
            await fixture.until_whole()

    run_fast(body)


def test_text_added_while_a_space_fills_is_pending_until_the_switch(tmp_path: Path) -> None:
    old, new = FakeProvider(model="old"), FakeProvider(model="new")

    async def body() -> None:
        await fill(tmp_path, FakeProvider(model="old"))
        new.gate = trio.Event()
        chooser = FakeChooser(new)
        chooser.earlier["old"] = old
        async with vector_fixture(tmp_path, chooser) as fixture:
            await fixture.publish("memory/b.md", ["a new text"])
            assert fixture.vectors.chunks_pending == 1
            new.gate.set()
            await fixture.until_whole()
            assert fixture.vectors.vector_cache.count == len(TEXTS) + 1

    run_fast(body)


def test_the_fallback_is_used_at_once_for_a_permanent_failure_until_recovery(tmp_path: Path) -> None:
    primary, spare = FakeProvider(model="primary"), FakeProvider(dims=12, model="spare")
    clock = ManualClock()

    async def body() -> None:
        await fill(tmp_path, FakeProvider(model="primary"))
        chooser = FakeChooser(primary)
        chooser.fallbacks["local"] = spare
        async with vector_fixture(tmp_path, chooser, clock=clock, fallback="local") as fixture:
            vectors = fixture.vectors
            primary.problem = ProviderQuotaError("no credit")
            with pytest.raises(ProviderQuotaError):
                await fixture.vector_of("a query", 1.0)
            since = clock.now_ms
            await wait_for(lambda: vectors.target is vectors.standby)
            await fixture.until_whole()
            told = vectors.fallback
            assert told is not None
            assert (told.provider, told.code, told.reason, told.since_ms) == (
                "fake",
                "provider_quota_exhausted",
                "no credit",
                since,
            )
            assert (await fixture.vector_of("a query", 1.0)).shape == (spare.dims,)
            assert vectors.degraded() is None
            await fixture.publish("memory/b.md", ["written meanwhile"])
            await wait_for(lambda: "written meanwhile" in spare.texts)
            primary.problem = None
            clock.now_ms += PROBE_INTERVAL_MS
            await wait_for(lambda: vectors.target is vectors.primary)
            await fixture.until_whole()
            assert vectors.fallback is None
            assert (await fixture.vector_of("a query", 1.0)).shape == (primary.dims,)
            assert spare.closed
            assert primary.texts == ["written meanwhile"]

    run_fast(body)


def test_the_fallback_is_used_late_for_a_temporary_failure(tmp_path: Path) -> None:
    primary, spare = FakeProvider(model="primary"), FakeProvider(model="spare")
    clock = ManualClock()

    async def body() -> None:
        await fill(tmp_path, FakeProvider(model="primary"))
        chooser = FakeChooser(primary)
        chooser.fallbacks["local"] = spare
        async with vector_fixture(tmp_path, chooser, clock=clock, fallback="local") as fixture:
            primary.problem = ProviderUnreachableError("no route")
            with pytest.raises(ProviderUnreachableError):
                await fixture.vector_of("a query", 1.0)
            clock.now_ms += FALLBACK_AFTER_MS - 1
            await trio.sleep(6)  # on the fast clock: longer than the check interval
            assert fixture.vectors.fallback is None
            assert spare.texts == []
            clock.now_ms += 1
            await wait_for(lambda: fixture.vectors.fallback is not None)

    run_fast(body)


def test_an_unavailable_primary_is_retried_and_replaces_its_fallback(tmp_path: Path) -> None:
    primary, spare = FakeProvider(model="primary"), FakeProvider(model="spare")
    clock = ManualClock()

    async def body() -> None:
        chooser = FakeChooser(ProviderUnavailableError("no key"))
        chooser.fallbacks["local"] = spare
        async with vector_fixture(tmp_path, chooser, clock=clock, fallback="local") as fixture:
            await fixture.publish("memory/a.md", TEXTS)
            await fixture.until_whole()
            assert fixture.vectors.fallback is not None
            assert fixture.vectors.fallback.code == "provider_unavailable"
            primary.gate = trio.Event()
            chooser.wanted = primary
            clock.now_ms += 60_000
            await wait_for(lambda: fixture.vectors.target is fixture.vectors.primary)
            assert fixture.reported_fallback() is None
            assert await fixture.active() == spare.space.id
            assert (await fixture.vector_of("a query", 1.0)).shape == (spare.dims,)
            primary.gate.set()
            await fixture.until_whole()
            assert await fixture.active() == primary.space.id
            assert spare.closed

    run_fast(body)


@pytest.mark.parametrize(
    ("provider", "fallback", "is_used"),
    [
        ("openai", "local", True),
        ("openai", "openai", False),
        ("auto", "local", False),  # `auto` has tried it
        ("openai", "none", False),
        ("none", "local", False),
    ],
)
def test_an_unavailable_primary_is_replaced_by_another_provider(
    tmp_path: Path, provider: str, fallback: str, is_used: bool
) -> None:
    spare = FakeProvider(model="spare")

    async def body() -> None:
        chooser = FakeChooser(ProviderUnavailableError("no key"))
        chooser.fallbacks["local"] = spare
        async with vector_fixture(tmp_path, chooser, provider=provider, fallback=fallback) as fixture:
            vectors = fixture.vectors
            assert (vectors.standby is not None) is is_used
            assert vectors.fallback_problem is None
            assert (vectors.problem is None) is (provider == "none")
            assert vectors.is_keyword_only is (provider == "auto")

    run_fast(body)


def test_a_failed_fallback_keeps_the_first_reason(tmp_path: Path) -> None:
    async def body() -> None:
        chooser = FakeChooser(ProviderUnavailableError("no key"))
        async with vector_fixture(tmp_path, chooser, fallback="local") as fixture:
            degraded = fixture.vectors.degraded()
            assert degraded is not None
            assert degraded.reason == "no key"
            assert str(fixture.vectors.fallback_problem) == "no local"

    run_fast(body)


def test_a_search_deadline_does_not_affect_provider_health(tmp_path: Path) -> None:
    provider = FakeProvider()

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture:
            provider.query_gate = trio.Event()
            with pytest.raises(DeadlineExceededError):
                await fixture.vector_of("a query", 0.5)
            assert fixture.vectors.degraded() is None
            provider.query_gate.set()
            await wait_for(lambda: fixture.find_vector("a query") is not None)
            assert provider.queries == ["a query"]

    run_fast(body)


def test_concurrent_equal_queries_are_embedded_once(tmp_path: Path) -> None:
    provider = FakeProvider()

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture, trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(fixture.vector_of, "a query", 2.0)
        assert provider.queries == ["a query"]

    run_fast(body)


def test_a_slow_provider_delays_only_the_first_queries(tmp_path: Path) -> None:
    provider = FakeProvider()

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture:
            provider.query_gate = trio.Event()
            with pytest.raises(ProviderUnreachableError):
                await fixture.vector_of("first", 9.0)
            with pytest.raises(ProviderUnreachableError):
                await fixture.vector_of("second", 9.0)
            assert provider.queries == ["first"]
            degraded = fixture.vectors.degraded()
            assert degraded is not None
            assert degraded.code == "provider_unreachable"
            provider.query_gate.set()
            await wait_for(lambda: fixture.find_vector("first") is not None)
            await fixture.vector_of("second", 2.0)
            assert fixture.vectors.degraded() is None

    run_fast(body)


def test_an_embedding_failure_is_raised_separately_in_each_equal_query(
    tmp_path: Path,
) -> None:
    provider = FakeProvider()
    provider.problem = ProviderQuotaError("no credit")
    errors: list[MemdError] = []

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture:

            async def ask() -> None:
                try:
                    await fixture.vector_of("a query", 2.0)
                except ProviderQuotaError as error:
                    errors.append(error)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask)
                nursery.start_soon(ask)

    run_fast(body)
    assert len(errors) == 2
    assert errors[0] is not errors[1]


def test_an_unavailable_fallback_is_reported(tmp_path: Path) -> None:
    primary, clock = FakeProvider(model="primary"), ManualClock()
    primary.problem = ProviderQuotaError("no credit")

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(primary), clock=clock, fallback="local") as fixture:
            with pytest.raises(ProviderQuotaError):
                await fixture.vector_of("a query", 1.0)
            await wait_for(lambda: fixture.vectors.fallback_problem is not None)
            degraded = fixture.vectors.degraded()
            assert degraded is not None
            assert degraded.code == "provider_quota_exhausted"

    run_fast(body)


def test_a_vector_of_wrong_dimensions_is_refused_for_all_equal_queries(tmp_path: Path) -> None:
    provider = FakeProvider(dims=8)
    errors: list[MemdError] = []

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture:
            await fixture.publish("memory/a.md", TEXTS)
            await fixture.until_whole()
            provider.dims = 16

            async def ask() -> None:
                try:
                    await fixture.vector_of("a query", 2.0)
                except MemdError as error:
                    errors.append(error)

            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(ask)

    run_fast(body)
    assert [error.code for error in errors] == ["dimensions_changed"] * 3
