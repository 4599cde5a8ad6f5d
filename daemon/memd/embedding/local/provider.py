"""The local embedding provider: the vectors of one model for one agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import trio

from memd.embedding.local.jobs import JobKind
from memd.embedding.local.model import LocalModel, ModelSpec
from memd.embedding.local.owner import ModelOwner
from memd.embedding.provider import BatchLimits, FloatArray, encodable, unit_vector
from memd.embedding.space import VectorSpace, recipe_of
from memd_client.errors import MemdError, ShuttingDownError

LIMITS: Final = BatchLimits(max_texts=16, max_tokens=1_000_000, max_text_tokens=1_000_000, concurrency=1)
"""Long texts are split in the model process. Small batches keep progress current and are fair to other agents."""


class LocalProvider:
    """The embedding provider of a local model; uses it from the first text on."""

    id: Final = "local"

    def __init__(self, owner: ModelOwner, spec: ModelSpec, space: VectorSpace, *, chunk_tokens: int) -> None:
        self._owner = owner
        self._spec = spec
        self._space = space
        self._chunk_tokens = chunk_tokens
        self._used: LocalModel | None = None
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else "in use" if self._used else "not used yet"
        return f"<LocalProvider {self.model} {state}>"

    @property
    def model(self) -> str:
        return self._spec.name

    @property
    def space(self) -> VectorSpace:
        return self._space

    @property
    def limits(self) -> BatchLimits:
        return LIMITS

    @property
    def recipe(self) -> dict[str, str]:
        model = self._spec.reference or str(self._spec.path)
        return {"provider": self.id, "model": model, **recipe_of(self._space)}

    def retry_in_s(self) -> float:
        """Return 0: requests wait while a model restarts."""
        return 0.0

    async def warm_up(self) -> None:
        """Do nothing: a model takes much RAM, so it is loaded for the first text."""

    async def embed_query(self, text: str) -> FloatArray:
        """Return the unit vector (dims,) of a query; queries have priority over batches."""
        return await self._embed(self._space.query_prefix + text, "query")

    async def embed_batch(self, texts: Sequence[str]) -> FloatArray:
        """Return the unit vectors (n, dims) of texts; (0, 0) for none.

        Texts are separate sequences in parallel. On a CPU that is faster than one after the other or one sequence of
        all, and the vector of a text doesn't depend on the others.
        """
        rows: list[FloatArray] = [np.empty(0, dtype=np.float32)] * len(texts)
        failures: list[MemdError] = []

        async def embed(position: int, scope: trio.CancelScope) -> None:
            try:
                rows[position] = await self._embed(self._space.document_prefix + texts[position], "text")
            except MemdError as error:
                failures.append(error)
                scope.cancel()

        async with trio.open_nursery() as nursery:
            for position in range(len(texts)):
                nursery.start_soon(embed, position, nursery.cancel_scope)
        if failures:
            raise failures[0]
        return np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)

    async def _embed(self, text: str, kind: JobKind) -> FloatArray:
        if self._closed:
            raise ShuttingDownError(f"the provider of {self.model} was closed")
        if self._used is None:
            self._used = self._owner.acquire(self._spec, chunk_tokens=self._chunk_tokens)
        return unit_vector(await self._used.embed(encodable(text), kind), f"the model {self.model}")

    async def aclose(self) -> None:
        """Release the model; its requests raise ShuttingDownError if unshared."""
        self._closed = True
        if self._used is not None:
            self._owner.release(self._used)
            self._used = None
