"""Vectors of texts that are not chunks are cached and survive a restart."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from memd.vector_search.active_provider import ActiveProvider
from memd.vector_search.kept_vectors import embed_kept, keep_vector
from memd_client.errors import ProviderUnreachableError
from tests.support.fake_provider import FakeProvider
from tests.support.vector_fixture import TEXTS, FakeChooser, VectorFixture, run_fast, vector_fixture

FACTS = ["I prefer dark mode", "Anna lives in Lisbon"]


def side_of(fixture: VectorFixture) -> ActiveProvider:
    assert fixture.vectors.target is not None
    return fixture.vectors.target


def test_kept_vectors_are_reused_after_a_restart(tmp_path: Path) -> None:
    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(FakeProvider())) as fixture:
            await fixture.publish("memory/a.md", TEXTS)
            await fixture.until_whole()
            first = await embed_kept(fixture.index, side_of(fixture), FACTS[:1], fixture.clock)
        later = FakeProvider()
        async with vector_fixture(tmp_path, FakeChooser(later)) as fixture:
            both = await embed_kept(fixture.index, side_of(fixture), FACTS, fixture.clock)
            again = await embed_kept(fixture.index, side_of(fixture), FACTS[::-1], fixture.clock)

            assert later.texts == FACTS[1:]
            assert np.array_equal(first[0], both[0])
            assert np.array_equal(again, both[::-1])
            assert fixture.vectors.vector_cache.count == len(TEXTS)  # kept vectors are not searched

    run_fast(body)


def test_a_vector_from_a_client_is_used_unchanged(tmp_path: Path) -> None:
    async def body() -> None:
        provider = FakeProvider()
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture:
            await fixture.publish("memory/a.md", TEXTS)
            await fixture.until_whole()
            row = np.arange(1, 9, dtype=np.float32)

            assert await keep_vector(fixture.index, side_of(fixture), FACTS[0], row, fixture.clock)
            before = list(provider.texts)
            found = await embed_kept(fixture.index, side_of(fixture), FACTS[:1], fixture.clock)

            assert provider.texts == before
            assert np.allclose(found[0], row / np.linalg.norm(row))

    run_fast(body)


def test_an_invalid_vector_is_not_stored(tmp_path: Path) -> None:
    async def body() -> None:
        async with vector_fixture(tmp_path, FakeChooser(FakeProvider())) as fixture:
            await fixture.publish("memory/a.md", TEXTS)
            await fixture.until_whole()
            for row in (np.zeros(8), np.full(8, np.nan), np.ones(5)):
                kept = await keep_vector(
                    fixture.index, side_of(fixture), FACTS[0], row.astype(np.float32), fixture.clock
                )
                assert not kept

    run_fast(body)


def test_without_vectors_in_the_index_none_is_kept_but_texts_are_embedded(
    tmp_path: Path,
) -> None:
    async def body() -> None:
        provider = FakeProvider()
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture:
            rows = await embed_kept(fixture.index, side_of(fixture), FACTS, fixture.clock)

            assert rows.shape == (2, 8)
            assert await fixture.active() is None

    run_fast(body)


def test_a_failing_provider_affects_only_texts_without_kept_vectors(tmp_path: Path) -> None:
    async def body() -> None:
        provider = FakeProvider()
        async with vector_fixture(tmp_path, FakeChooser(provider)) as fixture:
            await fixture.publish("memory/a.md", TEXTS)
            await fixture.until_whole()
            await embed_kept(fixture.index, side_of(fixture), FACTS[:1], fixture.clock)
            provider.problem = ProviderUnreachableError("nobody answers")

            assert (await embed_kept(fixture.index, side_of(fixture), FACTS[:1], fixture.clock)).shape == (
                1,
                8,
            )

    run_fast(body)
