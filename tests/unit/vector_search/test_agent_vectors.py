"""Which vectors answer while providers change, fail and come back."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from memd.vector_search.agent_vectors import PROBE_EVERY_MS
from memd.vector_search.provider_chooser import FALLBACK_AFTER_MS
from memd_client.errors import (
    DeadlineExceededError,
    MemdError,
    ProviderQuotaError,
    ProviderUnavailableError,
    ProviderUnreachableError,
)
from tests.support.fake_provider import FakeProvider
from tests.support.meanings import TEXTS, FakeChooser, HandClock, meaning_of, run, until


async def fill(folder: Path, provider: FakeProvider) -> None:
    """Have a provider fill an index, and stop."""
    async with meaning_of(folder, FakeChooser(provider)) as scene:
        await scene.publish("memory/a.md", TEXTS)
        await scene.until_whole()


def test_old_space_answers_until_the_new_one_is_whole_then_there_is_one_switch(tmp_path: Path) -> None:
    old, new = FakeProvider(model="old"), FakeProvider(dims=12, model="new")

    async def body() -> None:
        await fill(tmp_path, FakeProvider(model="old"))
        new.gate = trio.Event()
        chooser = FakeChooser(new)
        chooser.earlier["old"] = old
        async with meaning_of(tmp_path, chooser) as scene:
            meaning = scene.meaning
            assert meaning.answering is not None
            assert meaning.answering.provider is old
            assert meaning.chunks_pending == 0
            filling = meaning.filling()
            assert filling is not None
            assert (filling.model, filling.done, filling.total) == ("new", 0, len(TEXTS))
            assert filling.tokens > 0
            assert (await scene.vector_of("a question", 1.0)).shape == (old.dims,)
            assert await scene.active() == old.space.id
            new.gate.set()
            await scene.until_whole()
            assert meaning.filling() is None
            assert await scene.active() == new.space.id
            assert (await scene.vector_of("a question", 1.0)).shape == (new.dims,)
            assert meaning.vector_cache.count == len(TEXTS)
            assert old.closed
            assert sorted(new.texts) == sorted(TEXTS)
            assert old.texts == []
        assert chooser.rebuilt == [{"provider": "fake", "model": "old"}]

    run(body)


def test_going_back_to_an_earlier_model_embeds_nothing(tmp_path: Path) -> None:
    async def body() -> None:
        await fill(tmp_path, FakeProvider(model="old"))
        await fill(tmp_path, FakeProvider(model="new"))
        back = FakeProvider(model="old")
        async with meaning_of(tmp_path, FakeChooser(back)) as scene:
            await scene.until_whole()
            assert await scene.active() == back.space.id
            assert scene.meaning.vector_cache.count == len(TEXTS)
        assert back.texts == []

    run(body)


def test_new_space_answers_with_what_it_has_where_the_old_provider_is_gone(tmp_path: Path) -> None:
    new = FakeProvider(model="new")

    async def body() -> None:
        await fill(tmp_path, FakeProvider(model="old"))
        new.gate = trio.Event()
        async with meaning_of(tmp_path, FakeChooser(new)) as scene:
            assert scene.meaning.is_followed
            assert scene.meaning.vector_cache.count == 0
            assert scene.meaning.chunks_pending == len(TEXTS)
            new.gate.set()
            await scene.until_whole()
            assert await scene.active() == new.space.id
            assert scene.meaning.vector_cache.count == len(TEXTS)

    run(body)


def test_new_space_answers_when_the_old_provider_fails_in_the_middle(tmp_path: Path) -> None:
    old, new = FakeProvider(model="old"), FakeProvider(model="new")

    async def body() -> None:
        await fill(tmp_path, FakeProvider(model="old"))
        new.gate = trio.Event()
        chooser = FakeChooser(new)
        chooser.earlier["old"] = old
        async with meaning_of(tmp_path, chooser) as scene:
            old.problem = ProviderQuotaError("no credit")
            with pytest.raises(ProviderQuotaError):
                await scene.vector_of("a question", 1.0)
            await until(lambda: scene.meaning.is_followed)
            assert old.closed
            new.gate.set()
            await scene.until_whole()

    run(body)


def test_text_that_comes_during_a_switch_is_pending_until_the_switch(tmp_path: Path) -> None:
    old, new = FakeProvider(model="old"), FakeProvider(model="new")

    async def body() -> None:
        await fill(tmp_path, FakeProvider(model="old"))
        new.gate = trio.Event()
        chooser = FakeChooser(new)
        chooser.earlier["old"] = old
        async with meaning_of(tmp_path, chooser) as scene:
            await scene.publish("memory/b.md", ["a new text"])
            assert scene.meaning.chunks_pending == 1
            new.gate.set()
            await scene.until_whole()
            assert scene.meaning.vector_cache.count == len(TEXTS) + 1

    run(body)


def test_fallback_is_used_at_once_for_a_failure_that_lasts_and_left_on_recovery(tmp_path: Path) -> None:
    primary, spare = FakeProvider(model="primary"), FakeProvider(dims=12, model="spare")
    clock = HandClock()

    async def body() -> None:
        await fill(tmp_path, FakeProvider(model="primary"))
        chooser = FakeChooser(primary)
        chooser.fallbacks["local"] = spare
        async with meaning_of(tmp_path, chooser, clock=clock, fallback="local") as scene:
            meaning = scene.meaning
            primary.problem = ProviderQuotaError("no credit")
            with pytest.raises(ProviderQuotaError):
                await scene.vector_of("a question", 1.0)
            since = clock.now_ms
            await until(lambda: meaning.target is meaning.spare)
            await scene.until_whole()
            told = meaning.fallback
            assert told is not None
            assert (told.provider, told.code, told.reason, told.since_ms) == (
                "fake",
                "provider_quota_exhausted",
                "no credit",
                since,
            )
            assert (await scene.vector_of("a question", 1.0)).shape == (spare.dims,)
            assert meaning.degraded() is None
            await scene.publish("memory/b.md", ["written meanwhile"])
            await until(lambda: "written meanwhile" in spare.texts)
            primary.problem = None
            clock.now_ms += PROBE_EVERY_MS
            await until(lambda: meaning.target is meaning.primary)
            await scene.until_whole()
            assert meaning.fallback is None
            assert (await scene.vector_of("a question", 1.0)).shape == (primary.dims,)
            assert spare.closed
            assert primary.texts == ["written meanwhile"]

    run(body)


def test_fallback_waits_for_a_failure_that_may_pass(tmp_path: Path) -> None:
    primary, spare = FakeProvider(model="primary"), FakeProvider(model="spare")
    clock = HandClock()

    async def body() -> None:
        await fill(tmp_path, FakeProvider(model="primary"))
        chooser = FakeChooser(primary)
        chooser.fallbacks["local"] = spare
        async with meaning_of(tmp_path, chooser, clock=clock, fallback="local") as scene:
            primary.problem = ProviderUnreachableError("no route")
            with pytest.raises(ProviderUnreachableError):
                await scene.vector_of("a question", 1.0)
            clock.now_ms += FALLBACK_AFTER_MS - 1
            await trio.sleep(6)  # on the fast clock: it was looked at meanwhile
            assert scene.meaning.fallback is None
            assert spare.texts == []
            clock.now_ms += 1
            await until(lambda: scene.meaning.fallback is not None)

    run(body)


def test_primary_that_cannot_be_made_is_tried_again_and_replaces_its_fallback(tmp_path: Path) -> None:
    primary, spare = FakeProvider(model="primary"), FakeProvider(model="spare")
    clock = HandClock()

    async def body() -> None:
        chooser = FakeChooser(ProviderUnavailableError("no key"))
        chooser.fallbacks["local"] = spare
        async with meaning_of(tmp_path, chooser, clock=clock, fallback="local") as scene:
            await scene.publish("memory/a.md", TEXTS)
            await scene.until_whole()
            assert scene.meaning.fallback is not None
            assert scene.meaning.fallback.code == "provider_unavailable"
            primary.gate = trio.Event()
            chooser.wanted = primary
            clock.now_ms += 60_000
            await until(lambda: scene.meaning.target is scene.meaning.primary)
            assert scene.told_fallback() is None
            assert await scene.active() == spare.space.id
            assert (await scene.vector_of("a question", 1.0)).shape == (spare.dims,)
            primary.gate.set()
            await scene.until_whole()
            assert await scene.active() == primary.space.id
            assert spare.closed

    run(body)


def test_search_in_a_hurry_says_nothing_about_the_provider_and_its_vector_is_kept(tmp_path: Path) -> None:
    provider = FakeProvider()

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene:
            provider.query_gate = trio.Event()
            with pytest.raises(DeadlineExceededError):
                await scene.vector_of("a question", 0.5)
            assert scene.meaning.degraded() is None
            provider.query_gate.set()
            await until(lambda: scene.find_vector("a question") is not None)
            assert provider.queries == ["a question"]

    run(body)


def test_question_asked_by_many_is_embedded_once(tmp_path: Path) -> None:
    provider = FakeProvider()

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene, trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(scene.vector_of, "a question", 2.0)
        assert provider.queries == ["a question"]

    run(body)


def test_slow_provider_keeps_only_the_first_questions_waiting(tmp_path: Path) -> None:
    provider = FakeProvider()

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene:
            provider.query_gate = trio.Event()
            with pytest.raises(ProviderUnreachableError):
                await scene.vector_of("first", 9.0)
            with pytest.raises(ProviderUnreachableError):
                await scene.vector_of("second", 9.0)
            assert provider.queries == ["first"]
            degraded = scene.meaning.degraded()
            assert degraded is not None
            assert degraded.code == "provider_unreachable"
            provider.query_gate.set()
            await until(lambda: scene.find_vector("first") is not None)
            await scene.vector_of("second", 2.0)
            assert scene.meaning.degraded() is None

    run(body)


def test_failure_of_one_question_reaches_everybody_who_asked_it_as_an_error_of_its_own(
    tmp_path: Path,
) -> None:
    provider = FakeProvider()
    provider.problem = ProviderQuotaError("no credit")
    errors: list[MemdError] = []

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene:

            async def ask() -> None:
                try:
                    await scene.vector_of("a question", 2.0)
                except ProviderQuotaError as error:
                    errors.append(error)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(ask)
                nursery.start_soon(ask)

    run(body)
    assert len(errors) == 2
    assert errors[0] is not errors[1]


def test_fallback_that_cannot_be_made_is_no_secret(tmp_path: Path) -> None:
    primary, clock = FakeProvider(model="primary"), HandClock()
    primary.problem = ProviderQuotaError("no credit")

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(primary), clock=clock, fallback="local") as scene:
            with pytest.raises(ProviderQuotaError):
                await scene.vector_of("a question", 1.0)
            await until(lambda: scene.meaning.spare_problem is not None)
            degraded = scene.meaning.degraded()
            assert degraded is not None
            assert degraded.code == "provider_quota_exhausted"

    run(body)


def test_wrong_vector_is_refused_to_everybody_who_asked_the_same(tmp_path: Path) -> None:
    provider = FakeProvider(dims=8)
    errors: list[MemdError] = []

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene:
            await scene.publish("memory/a.md", TEXTS)
            await scene.until_whole()
            provider.dims = 16

            async def ask() -> None:
                try:
                    await scene.vector_of("a question", 2.0)
                except MemdError as error:
                    errors.append(error)

            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(ask)

    run(body)
    assert [error.code for error in errors] == ["dimensions_changed"] * 3
