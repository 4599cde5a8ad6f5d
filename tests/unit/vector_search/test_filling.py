"""Vectors behind the text: what is refused, renewed, failed over, and never bought twice."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio

from memd.sync.vectors.fill import LOOK_AHEAD_BATCHES
from memd_client.errors import MemdError, ModelChildError, ProviderFailedError, ProviderReplyError
from tests.support.fake_provider import FakeProvider
from tests.support.meanings import TEXTS, FakeChooser, meaning_of, run, until


def test_refused_text_is_left_to_its_words_and_everything_else_is_embedded(tmp_path: Path) -> None:
    provider = FakeProvider()
    provider.refused = {TEXTS[7]}

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene:
            await scene.publish("memory/a.md", TEXTS)
            await scene.until_whole()
            assert scene.meaning.vector_cache.count == len(TEXTS) - 1
            assert scene.meaning.degraded() is None
            provider.refused = set()
            await scene.meaning.renew()
            await until(lambda: scene.meaning.vector_cache.count == len(TEXTS))

    run(body)


def test_renewed_vectors_replace_the_old_ones_which_answer_meanwhile(tmp_path: Path) -> None:
    provider = FakeProvider()

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene:
            await scene.publish("memory/a.md", TEXTS)
            await scene.until_whole()
            provider.gate = trio.Event()
            scene.clock.now_ms += 1
            await scene.meaning.renew()
            assert scene.meaning.chunks_pending == len(TEXTS)
            assert scene.meaning.vector_cache.count == len(TEXTS)
            provider.gate.set()
            await scene.until_whole()
            assert scene.meaning.vector_cache.count == len(TEXTS)
            assert len(provider.texts) == 2 * len(TEXTS)

    run(body)


def test_renewing_takes_over_another_size_of_vectors(tmp_path: Path) -> None:
    provider = FakeProvider(dims=8)

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene:
            await scene.publish("memory/a.md", TEXTS)
            await scene.until_whole()
            await scene.vector_of("a question", 2.0)
            provider.dims = 16
            await scene.publish("memory/b.md", ["of another size"])
            await until(lambda: scene.meaning.degraded() is not None)
            degraded = scene.meaning.degraded()
            assert degraded is not None
            assert degraded.code == "dimensions_changed"
            scene.clock.now_ms += 1
            await scene.meaning.renew()
            await scene.until_whole()
            assert (scene.meaning.vector_cache.count, scene.meaning.vector_cache.dims) == (len(TEXTS) + 1, 16)
            assert (await scene.vector_of("a question", 2.0)).shape == (16,)

    run(body)


def test_failing_provider_is_not_asked_before_it_may_be(tmp_path: Path) -> None:
    provider = FakeProvider()
    provider.problem = ProviderFailedError("out of order")
    provider.pause_s = 1800.0

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene:
            await scene.publish("memory/a.md", ["one"])
            await until(lambda: scene.meaning.degraded() is not None)
            asked = len(provider.texts)
            assert scene.meaning.fill is not None
            with trio.fail_after(60):
                await scene.meaning.fill.settle()  # it hears at once that nothing comes
            await trio.sleep(30)
            assert len(provider.texts) == asked
            provider.problem, provider.pause_s = None, 0.0
            await scene.until_whole()

    run(body)


@pytest.mark.parametrize("error", [ProviderFailedError, ProviderReplyError, ModelChildError])
def test_text_the_provider_fails_over_is_found_and_everything_else_is_embedded(
    tmp_path: Path, error: type[MemdError]
) -> None:
    provider = FakeProvider()
    provider.poison, provider.poisoned = TEXTS[11], error("it crashed")

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene:
            await scene.publish("memory/a.md", TEXTS)
            await scene.until_whole()
            assert scene.meaning.vector_cache.count == len(TEXTS) - 1
            assert scene.meaning.degraded() is None
            await scene.publish("memory/b.md", ["another text"])
            await scene.until_whole()

    run(body)


def test_outage_is_blamed_on_no_text(tmp_path: Path) -> None:
    provider = FakeProvider()
    provider.problem = ProviderFailedError("out of order")

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene:
            await scene.publish("memory/a.md", TEXTS[:1])
            await trio.sleep(40)
            provider.problem = None
            await scene.until_whole()
            assert scene.meaning.vector_cache.count == 1

    run(body)


def test_vectors_that_cannot_be_stored_are_not_bought_over_and_over(tmp_path: Path) -> None:
    provider = FakeProvider(dims=8)

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene:
            await scene.publish("memory/a.md", TEXTS[:1])
            await scene.until_whole()
            provider.dims, provider.texts = 16, []
            for number in range(10):
                await scene.publish(f"memory/{number}.md", [f"a new text {number}"])
                await trio.sleep(1)
            assert len([text for text in provider.texts if text == "a new text 0"]) <= 5

    run(body)


def test_texts_that_go_before_they_are_looked_at_are_neither_bought_nor_awaited(tmp_path: Path) -> None:
    provider = FakeProvider()
    texts = [f"note number {number}" for number in range(LOOK_AHEAD_BATCHES * provider.limits.max_texts + 10)]
    stay = texts[:-10]

    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene:
            gate = provider.gate = trio.Event()
            await scene.publish("memory/a.md", texts)
            await until(lambda: gate.statistics().tasks_waiting)
            await scene.publish("memory/a.md", stay)
            gate.set()
            await scene.until_whole()
            assert scene.meaning.vector_cache.count == len(stay)
            assert sorted(provider.texts) == sorted(stay)

    run(body)
