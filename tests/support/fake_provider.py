"""An embedding provider without a model: equal texts have equal unit vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import trio

from memd.embedding.provider import BatchLimits, FloatArray, encodable, unit_vector
from memd.embedding.space import VectorSpace
from memd_client.errors import MemdError, ShuttingDownError, TextRefusedError


class FakeProvider:
    """Records requests, and fails as configured.

    Texts and queries wait for `gate` and `query_gate` if set; texts in `refused` are refused, and batches that contain
    `poison` fail with `poisoned`.
    """

    id = "fake"

    def __init__(self, dims: int = 8, model: str = "fake-model") -> None:
        self.dims = dims
        self.model = model
        self.space = VectorSpace(self.id, model)
        self.queries: list[str] = []
        self.texts: list[str] = []
        self.problem: MemdError | None = None
        self.limits = BatchLimits(max_texts=16, max_tokens=100_000, max_text_tokens=8_000, concurrency=2)
        self.recipe = {"provider": self.id, "model": model}
        self.pause_s = 0.0
        self.gate: trio.Event | None = None
        self.query_gate: trio.Event | None = None
        self.refused: set[str] = set()
        self.poison = ""
        self.poisoned: MemdError | None = None
        self.closed = False

    def __repr__(self) -> str:
        return f"<FakeProvider {self.model} {'closed' if self.closed else 'open'}>"

    def retry_in_s(self) -> float:
        """Return the configured pause."""
        return self.pause_s

    async def warm_up(self) -> None:
        """Do nothing."""

    async def embed_query(self, text: str) -> FloatArray:
        """Return the unit vector of a query."""
        self.queries.append(text)
        if self.query_gate is not None:
            await self.query_gate.wait()
        return await self._embed(text)

    async def embed_batch(self, texts: Sequence[str]) -> FloatArray:
        """Return the unit vectors of some texts."""
        if self.gate is not None:
            await self.gate.wait()
        if self.refused.intersection(texts):
            raise TextRefusedError("the fake provider refuses a text")
        if self.poison in texts and self.poisoned is not None:
            raise self.poisoned
        self.texts += texts
        rows = [await self._embed(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)

    async def _embed(self, text: str) -> FloatArray:
        await trio.lowlevel.checkpoint()
        if self.closed:
            raise ShuttingDownError("the fake provider was closed")
        if self.problem is not None:
            raise self.problem
        seed = hashlib.sha256((self.model + "\0" + encodable(text)).encode()).digest()[:8]
        raw = np.random.default_rng(int.from_bytes(seed, "big")).normal(size=self.dims)
        return unit_vector(raw.astype(np.float32), "the fake provider")

    async def aclose(self) -> None:
        """Refuse all further requests."""
        self.closed = True
