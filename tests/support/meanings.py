"""Search by meaning of one agent in this process: a real index, providers that are told what to do."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import trio
from numpy.typing import NDArray
from trio.testing import MockClock

from memd.embedding.choose.choose import Selection
from memd.embedding.provider import EmbeddingProvider
from memd.index.cache import active_space
from memd.index.connection import IndexFile
from memd.index.files import Published, publish_file
from memd.index.vectors.cache import MatrixBudget, VectorCache
from memd.settings.schema import MemorySearch
from memd.vector_search.agent_vectors import VectorSearchManager
from memd_client.errors import MemdError, ProviderUnavailableError
from memd_client.messages import Fallback
from tests.support.fake_provider import FakeProvider
from tests.support.indexes import EXTENSION, chunk, file_row

TEXTS = [f"note number {number}" for number in range(40)]

FAST = 20
"""How much faster than the wall a test's waiting goes."""

WAIT_S = 60.0
"""Longest wait for a state, on the test's clock."""


def run(body: Callable[[], Awaitable[None]]) -> None:
    """Run a test on a fast clock."""
    trio.run(body, clock=MockClock(rate=FAST))


class HandClock:
    """Wall time that a test moves."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000

    def __call__(self) -> int:
        return self.now_ms


class FakeChooser:
    """Makes the providers a test has prepared.

    `wanted` is what the settings name; a MemdError in its place is why it can't be had. `fallbacks` are found by
    name, `earlier` by model.
    """

    def __init__(self, wanted: FakeProvider | MemdError) -> None:
        self.wanted = wanted
        self.fallbacks: dict[str, FakeProvider] = {}
        self.earlier: dict[str, FakeProvider] = {}
        self.rebuilt: list[dict[str, str]] = []

    async def choose(self, settings: MemorySearch, agent_id: str) -> Selection:
        """Return what is wanted, else the fallback."""
        await trio.lowlevel.checkpoint()
        if isinstance(self.wanted, FakeProvider):
            return Selection(settings.provider, self.wanted)
        fallback = self.fallbacks.get(settings.fallback)
        told = None if fallback is None else settings.provider
        return Selection(settings.provider, fallback, self.wanted, fell_back_from=told)

    async def make(self, name: str, settings: MemorySearch, agent_id: str) -> EmbeddingProvider:
        """Return a fallback."""
        await trio.lowlevel.checkpoint()
        if name not in self.fallbacks:
            raise ProviderUnavailableError(f"no {name}")
        return self.fallbacks[name]

    async def rebuild(
        self, recipe: Mapping[str, str], settings: MemorySearch, agent_id: str
    ) -> EmbeddingProvider | None:
        """Return an earlier provider."""
        await trio.lowlevel.checkpoint()
        self.rebuilt.append(dict(recipe))
        return self.earlier.get(recipe["model"])


class Scene:
    """One agent's index and meaning."""

    def __init__(self, meaning: VectorSearchManager, index: IndexFile, clock: HandClock) -> None:
        self.meaning = meaning
        self.index = index
        self.clock = clock

    async def publish(self, path: str, texts: Sequence[str]) -> None:
        """Publish a file of one-line chunks."""
        self.meaning.on_published(await self.commit(path, texts))

    async def commit(self, path: str, texts: Sequence[str]) -> Published:
        """Write a file of one-line chunks into the index, and tell nobody."""
        chunks = [chunk(text, line) for line, text in enumerate(texts, 1)]
        row = file_row(path, mtime_ns=self.clock() * 1_000_000)
        return await self.index.write(lambda db: publish_file(db, row, chunks, self.clock()))

    async def vector_of(self, query: str, timeout_s: float) -> NDArray[np.float32]:
        """Return a question's vector in the space that answers."""
        side = self.meaning.answering
        assert side is not None
        return await self.meaning.vector_of(side, query, timeout_s)

    def find_vector(self, query: str) -> NDArray[np.float32] | None:
        """Return a question's vector where it is known."""
        side = self.meaning.answering
        assert side is not None
        return self.meaning.find_vector(side, query)

    def told_fallback(self) -> Fallback | None:
        """Return what replies say of a fallback, as it is now."""
        return self.meaning.fallback

    async def active(self) -> str | None:
        """Return the space that answers, as the index has it."""
        space = await self.index.read(active_space)
        return None if space is None else space.id

    async def until_whole(self) -> None:
        """Wait until nothing is missing, and the target answers."""
        await until(lambda: self.meaning.is_followed and self.meaning.chunks_pending == 0)


async def until(condition: object) -> None:
    """Wait for a state of this process."""
    assert callable(condition)
    with trio.fail_after(WAIT_S):
        while not condition():  # noqa: ASYNC110 - states of several objects, on a fast clock
            await trio.sleep(0.01)


@asynccontextmanager
async def meaning_of(
    folder: Path,
    chooser: FakeChooser,
    *,
    clock: HandClock | None = None,
    saves_power: Callable[[], bool] = lambda: False,
    **settings: object,
) -> AsyncIterator[Scene]:
    """Run an agent's meaning inside the block; another block on the same folder is the daemon started anew."""
    clock = clock or HandClock()
    chosen = MemorySearch(**{"provider": "fake", **settings})  # type: ignore[arg-type]
    index = await IndexFile.open(
        folder / "main.sqlite", extension=EXTENSION, clock=clock, space_of=lambda provider, model: model
    )
    warm = VectorCache(EXTENSION, MatrixBudget(64 << 20))
    meaning = VectorSearchManager(
        "main",
        chosen,
        index,
        warm,
        chooser,
        openclaw_database=folder / "none.sqlite",
        query_timeout_s=2.0,
        unused_bytes=1 << 20,
        saves_power=saves_power,
        clock=clock,
    )
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(meaning.run)
            yield Scene(meaning, index, clock)
            nursery.cancel_scope.cancel()
    finally:
        await index.close()
