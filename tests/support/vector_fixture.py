"""Vector search of one agent in this process: a real index, and providers that tests control."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import numpy as np
import trio
from numpy.typing import NDArray
from trio.testing import MockClock

from memd.embedding.choose.choose import ProviderFactory
from memd.embedding.provider import EmbeddingProvider
from memd.index.cache import active_space
from memd.index.connection import IndexFile
from memd.index.files import IndexChange, publish_file
from memd.index.vectors.cache import MatrixBudget, VectorCache
from memd.settings.schema import MemorySearch
from memd.vector_search.agent_vectors import VectorSearchManager
from memd_client.errors import MemdError, ProviderUnavailableError
from memd_client.messages import Fallback
from tests.support.fake_provider import FakeProvider
from tests.support.indexes import EXTENSION, chunk, file_row

TEXTS = [f"note number {number}" for number in range(40)]

FAST = 20
"""Ratio of a test's clock to real time."""

WAIT_S = 120.0
"""Timeout of a state, on the test's clock."""


def run_fast(body: Callable[[], Awaitable[None]]) -> None:
    """Run a test on a fast clock."""
    trio.run(body, clock=MockClock(rate=FAST))


class ManualClock:
    """Wall time that a test sets."""

    def __init__(self) -> None:
        self.now_ms = 1_000_000

    def __call__(self) -> int:
        return self.now_ms


class FakeChooser:
    """Returns the providers that a test has prepared.

    `wanted` is the configured provider, or the MemdError that makes it unavailable. `fallbacks` are by name, `earlier`
    by model.
    """

    def __init__(self, wanted: FakeProvider | MemdError) -> None:
        self.wanted = wanted
        self.fallbacks: dict[str, FakeProvider] = {}
        self.earlier: dict[str, FakeProvider] = {}
        self.rebuilt: list[dict[str, str]] = []

    async def make(self, name: str, settings: MemorySearch, agent_id: str) -> EmbeddingProvider:
        """Return the configured provider or a fallback."""
        await trio.lowlevel.checkpoint()
        if name != settings.provider:
            if name not in self.fallbacks:
                raise ProviderUnavailableError(f"no {name}")
            return self.fallbacks[name]
        if isinstance(self.wanted, MemdError):
            raise self.wanted
        return self.wanted

    async def rebuild(
        self, recipe: Mapping[str, str], settings: MemorySearch, agent_id: str
    ) -> EmbeddingProvider | None:
        """Return an earlier provider."""
        await trio.lowlevel.checkpoint()
        self.rebuilt.append(dict(recipe))
        return self.earlier.get(recipe["model"])


class VectorFixture:
    """One agent's index and vectors."""

    def __init__(self, vectors: VectorSearchManager, index: IndexFile, clock: ManualClock) -> None:
        self.vectors = vectors
        self.index = index
        self.clock = clock

    async def publish(self, path: str, texts: Sequence[str]) -> None:
        """Publish a file of one-line chunks."""
        self.vectors.on_published(await self.commit(path, texts))

    async def commit(self, path: str, texts: Sequence[str]) -> IndexChange:
        """Write a file of one-line chunks into the index without notifying vector search."""
        chunks = [chunk(text, line) for line, text in enumerate(texts, 1)]
        row = file_row(path, mtime_ns=self.clock() * 1_000_000)
        return await self.index.write(lambda db: publish_file(db, row, chunks, self.clock()))

    async def vector_of(self, query: str, timeout_s: float) -> NDArray[np.float32]:
        """Return a query's vector in the answering space."""
        side = self.vectors.answering
        assert side is not None
        return await self.vectors.vector_of(side, query, timeout_s)

    def find_vector(self, query: str) -> NDArray[np.float32] | None:
        """Return a query's vector if it is cached."""
        side = self.vectors.answering
        assert side is not None
        return self.vectors.find_vector(side, query)

    def reported_fallback(self) -> Fallback | None:
        """Return the current fallback as reported in replies."""
        return self.vectors.fallback

    async def active(self) -> str | None:
        """Return the id of the answering space in the index."""
        space = await self.index.read(active_space)
        return None if space is None else space.id

    async def until_whole(self) -> None:
        """Wait until no vector is missing and the target answers."""
        await wait_for(lambda: self.vectors.is_followed and self.vectors.chunks_pending == 0)


async def wait_for(condition: object) -> None:
    """Wait for a condition."""
    assert callable(condition)
    with trio.fail_after(WAIT_S):
        while not condition():  # noqa: ASYNC110 - states of several objects, on a fast clock
            await trio.sleep(0.01)


@asynccontextmanager
async def vector_fixture(
    folder: Path,
    chooser: FakeChooser,
    *,
    clock: ManualClock | None = None,
    saves_power: Callable[[], bool] = lambda: False,
    **settings: object,
) -> AsyncIterator[VectorFixture]:
    """Run an agent's vector search inside the block; another block in the same folder is a restarted daemon."""
    clock = clock or ManualClock()
    chosen = MemorySearch(**{"provider": "fake", **settings})  # type: ignore[arg-type]
    index = await IndexFile.open(folder / "main.sqlite", extension=EXTENSION, clock=clock)
    warm = VectorCache(EXTENSION, MatrixBudget(64 << 20))
    vectors = VectorSearchManager(
        "main",
        chosen,
        index,
        warm,
        cast(ProviderFactory, chooser),
        openclaw_files=(),
        stored_space=lambda provider, model: model,
        query_timeout_s=2.0,
        unused_bytes=1 << 20,
        saves_power=saves_power,
        clock=clock,
    )
    try:
        async with trio.open_nursery() as nursery:
            await nursery.start(vectors.run)
            yield VectorFixture(vectors, index, clock)
            nursery.cancel_scope.cancel()
    finally:
        await index.close()
