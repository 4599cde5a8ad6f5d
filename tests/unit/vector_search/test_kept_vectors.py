"""Vectors of texts that are no chunks are kept in the agent's cache, and found there after a restart."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from memd.vector_search.active_provider import ActiveProvider
from memd.vector_search.kept_vectors import embed_kept, keep_vector
from memd_client.errors import ProviderUnreachableError
from tests.support.fake_provider import FakeProvider
from tests.support.meanings import TEXTS, FakeChooser, Scene, meaning_of, run

FACTS = ["I prefer dark mode", "Anna lives in Lisbon"]


def side_of(scene: Scene) -> ActiveProvider:
    assert scene.meaning.target is not None
    return scene.meaning.target


def test_what_was_embedded_once_is_not_embedded_again_after_a_restart(tmp_path: Path) -> None:
    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(FakeProvider())) as scene:
            await scene.publish("memory/a.md", TEXTS)
            await scene.until_whole()
            first = await embed_kept(scene.index, side_of(scene), FACTS[:1], scene.clock)
        later = FakeProvider()
        async with meaning_of(tmp_path, FakeChooser(later)) as scene:
            both = await embed_kept(scene.index, side_of(scene), FACTS, scene.clock)
            again = await embed_kept(scene.index, side_of(scene), FACTS[::-1], scene.clock)

            assert later.texts == FACTS[1:]
            assert np.array_equal(first[0], both[0])
            assert np.array_equal(again, both[::-1])
            assert scene.meaning.vector_cache.count == len(TEXTS)  # search compares with none of them

    run(body)


def test_a_vector_from_elsewhere_is_used_as_it_is(tmp_path: Path) -> None:
    async def body() -> None:
        provider = FakeProvider()
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene:
            await scene.publish("memory/a.md", TEXTS)
            await scene.until_whole()
            row = np.arange(1, 9, dtype=np.float32)

            assert await keep_vector(scene.index, side_of(scene), FACTS[0], row, scene.clock)
            before = list(provider.texts)
            found = await embed_kept(scene.index, side_of(scene), FACTS[:1], scene.clock)

            assert provider.texts == before
            assert np.allclose(found[0], row / np.linalg.norm(row))

    run(body)


def test_a_vector_that_can_not_be_one_is_left(tmp_path: Path) -> None:
    async def body() -> None:
        async with meaning_of(tmp_path, FakeChooser(FakeProvider())) as scene:
            await scene.publish("memory/a.md", TEXTS)
            await scene.until_whole()
            for row in (np.zeros(8), np.full(8, np.nan), np.ones(5)):
                kept = await keep_vector(
                    scene.index, side_of(scene), FACTS[0], row.astype(np.float32), scene.clock
                )
                assert not kept

    run(body)


def test_before_the_index_has_vectors_none_is_kept_and_texts_are_embedded_all_the_same(
    tmp_path: Path,
) -> None:
    async def body() -> None:
        provider = FakeProvider()
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene:
            rows = await embed_kept(scene.index, side_of(scene), FACTS, scene.clock)

            assert rows.shape == (2, 8)
            assert await scene.active() is None

    run(body)


def test_a_failing_provider_costs_what_is_not_kept_alone(tmp_path: Path) -> None:
    async def body() -> None:
        provider = FakeProvider()
        async with meaning_of(tmp_path, FakeChooser(provider)) as scene:
            await scene.publish("memory/a.md", TEXTS)
            await scene.until_whole()
            await embed_kept(scene.index, side_of(scene), FACTS[:1], scene.clock)
            provider.problem = ProviderUnreachableError("nobody answers")

            assert (await embed_kept(scene.index, side_of(scene), FACTS[:1], scene.clock)).shape == (1, 8)

    run(body)
