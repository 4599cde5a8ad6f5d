"""Filling a vector space: refused texts, renewal, failures, and no repeated requests."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from memd.sync.vectors.fill import LOOK_AHEAD_BATCHES
from memd_client.errors import MemdError, ModelChildError, ProviderFailedError, ProviderReplyError
from tests.support.fake_provider import FakeProvider
from tests.support.vector_fixture import TEXTS, FakeChooser, run_fast, vector_fixture, wait_for


def test_a_refused_text_has_no_vector_and_all_others_are_embedded(tmp_path: Path) -> None:
    provider = FakeProvider()
    provider.refused = {TEXTS[7]}

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture:
            await fixture.publish("memory/a.md", TEXTS)
            await fixture.until_whole()
            assert fixture.vectors.vector_cache.count == len(TEXTS) - 1
            assert fixture.vectors.degraded() is None
            provider.refused = set()
            await fixture.vectors.renew()
            await wait_for(lambda: fixture.vectors.vector_cache.count == len(TEXTS))

    run_fast(body)


def test_old_vectors_answer_until_renewed_ones_replace_them(tmp_path: Path) -> None:
    provider = FakeProvider()

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture:
            await fixture.publish("memory/a.md", TEXTS)
            await fixture.until_whole()
            provider.gate = trio.Event()
            fixture.clock.now_ms += 1
            await fixture.vectors.renew()
            assert fixture.vectors.chunks_pending == len(TEXTS)
            assert fixture.vectors.vector_cache.count == len(TEXTS)
            provider.gate.set()
            await fixture.until_whole()
            assert fixture.vectors.vector_cache.count == len(TEXTS)
            assert len(provider.texts) == 2 * len(TEXTS)

    run_fast(body)


def test_renewing_accepts_other_dimensions(tmp_path: Path) -> None:
    provider = FakeProvider(dims=8)

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture:
            await fixture.publish("memory/a.md", TEXTS)
            await fixture.until_whole()
            await fixture.vector_of("a query", 2.0)
            provider.dims = 16
            await fixture.publish("memory/b.md", ["of another size"])
            await wait_for(lambda: fixture.vectors.degraded() is not None)
            degraded = fixture.vectors.degraded()
            assert degraded is not None
            assert degraded.code == "dimensions_changed"
            fixture.clock.now_ms += 1
            await fixture.vectors.renew()
            await fixture.until_whole()
            assert (fixture.vectors.vector_cache.count, fixture.vectors.vector_cache.dims) == (
                len(TEXTS) + 1,
                16,
            )
            assert (await fixture.vector_of("a query", 2.0)).shape == (16,)

    run_fast(body)


def test_a_failing_provider_is_not_called_during_its_back_off(tmp_path: Path) -> None:
    provider = FakeProvider()
    provider.problem = ProviderFailedError("out of order")
    provider.pause_s = 1800.0

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture:
            await fixture.publish("memory/a.md", ["one"])
            await wait_for(lambda: fixture.vectors.degraded() is not None)
            asked = len(provider.texts)
            assert fixture.vectors.fill is not None
            with trio.fail_after(120):
                await fixture.vectors.fill.settle()  # returns at once: the provider is in its back-off
            await trio.sleep(30)
            assert len(provider.texts) == asked
            provider.problem, provider.pause_s = None, 0.0
            await fixture.until_whole()

    run_fast(body)


@pytest.mark.parametrize("error", [ProviderFailedError, ProviderReplyError, ModelChildError])
def test_a_text_that_breaks_the_provider_is_isolated_and_all_others_are_embedded(
    tmp_path: Path, error: type[MemdError]
) -> None:
    provider = FakeProvider()
    provider.poison, provider.poisoned = TEXTS[11], error("it crashed")

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture:
            await fixture.publish("memory/a.md", TEXTS)
            await fixture.until_whole()
            assert fixture.vectors.vector_cache.count == len(TEXTS) - 1
            assert fixture.vectors.degraded() is None
            await fixture.publish("memory/b.md", ["another text"])
            await fixture.until_whole()

    run_fast(body)


def test_an_outage_marks_no_text_as_refused(tmp_path: Path) -> None:
    provider = FakeProvider()
    provider.problem = ProviderFailedError("out of order")

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture:
            await fixture.publish("memory/a.md", TEXTS[:1])
            await trio.sleep(40)
            provider.problem = None
            await fixture.until_whole()
            assert fixture.vectors.vector_cache.count == 1

    run_fast(body)


def test_vectors_that_fail_to_store_are_not_requested_repeatedly(tmp_path: Path) -> None:
    provider = FakeProvider(dims=8)

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture:
            await fixture.publish("memory/a.md", TEXTS[:1])
            await fixture.until_whole()
            provider.dims, provider.texts = 16, []
            for number in range(10):
                await fixture.publish(f"memory/{number}.md", [f"a new text {number}"])
                await trio.sleep(1)
            assert len([text for text in provider.texts if text == "a new text 0"]) <= 5

    run_fast(body)


def test_deleted_texts_are_neither_embedded_nor_awaited(tmp_path: Path) -> None:
    provider = FakeProvider()
    texts = [f"note number {number}" for number in range(LOOK_AHEAD_BATCHES * provider.limits.max_texts + 10)]
    stay = texts[:-10]

    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture:
            gate = provider.gate = trio.Event()
            await fixture.publish("memory/a.md", texts)
            await wait_for(lambda: gate.statistics().tasks_waiting)
            await fixture.publish("memory/a.md", stay)
            gate.set()
            await fixture.until_whole()
            assert fixture.vectors.vector_cache.count == len(stay)
            assert sorted(provider.texts) == sorted(stay)

    run_fast(body)
