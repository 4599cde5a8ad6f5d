"""The model owner seen as a provider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import trio

from memd.embedding.local.jobs import Kind
from memd.embedding.local.owner import ModelFile, ModelHold, ModelOwner
from memd.embedding.provider import BatchLimits, FloatArray, encodable, unit_vector
from memd.embedding.space import VectorSpace, recipe_of
from memd_client.errors import MemdError, ShuttingDownError

LIMITS: Final = BatchLimits(max_texts=16, max_tokens=1_000_000, max_text_tokens=1_000_000, concurrency=1)
"""The model cuts long texts itself; a small batch keeps progress live and lets agents take turns."""


class LocalProvider:
    """A model of this machine.

    Resources: holds the model from the first text until `aclose`.
    """

    id: Final = "local"

    def __init__(self, owner: ModelOwner, file: ModelFile, space: VectorSpace, *, chunk_tokens: int) -> None:
        self._owner = owner
        self._file = file
        self._space = space
        self._chunk_tokens = chunk_tokens
        self._hold: ModelHold | None = None
        self._closed = False

    def __repr__(self) -> str:
        state = "closed" if self._closed else "in use" if self._hold else "not used yet"
        return f"<LocalProvider {self.model} {state}>"

    @property
    def model(self) -> str:
        """The model as the settings name it."""
        return self._file.name

    @property
    def space(self) -> VectorSpace:
        """What the vectors are comparable with."""
        return self._space

    @property
    def limits(self) -> BatchLimits:
        """What is asked for at once."""
        return LIMITS

    @property
    def recipe(self) -> dict[str, str]:
        """What is needed to make this provider again."""
        model = self._file.reference or str(self._file.path)
        return {"provider": self.id, "model": model, **recipe_of(self._space)}

    def retry_in_s(self) -> float:
        """Return 0: the owner of the models decides when one is started again, and a request waits for it."""
        return 0.0

    async def get_ready(self) -> None:
        """Do nothing: a model takes memory, so it is loaded for the first text."""

    async def embed_query(self, text: str) -> FloatArray:
        """Return the unit vector (dims,) of a question; it overtakes every batch."""
        return await self._embed(self._space.query_prefix + text, "query")

    async def embed_batch(self, texts: Sequence[str]) -> FloatArray:
        """Return the unit vectors (n, dims) of some texts; (0, 0) for none.

        Each is a sequence of its own, the cores share them out: on a CPU that is faster than one
        after the other and than one long sequence of all, and a text has the same vector in any company.
        """
        rows: list[FloatArray] = [np.empty(0, dtype=np.float32)] * len(texts)
        failures: list[MemdError] = []

        async def embed(place: int, scope: trio.CancelScope) -> None:
            try:
                rows[place] = await self._embed(self._space.document_prefix + texts[place], "text")
            except MemdError as error:
                failures.append(error)
                scope.cancel()

        async with trio.open_nursery() as nursery:
            for place in range(len(texts)):
                nursery.start_soon(embed, place, nursery.cancel_scope)
        if failures:
            raise failures[0]
        return np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)

    async def _embed(self, text: str, kind: Kind) -> FloatArray:
        if self._closed:
            raise ShuttingDownError(f"the provider of {self.model} was closed")
        if self._hold is None:
            self._hold = self._owner.hold(self._file, chunk_tokens=self._chunk_tokens)
        return unit_vector(await self._hold.embed(encodable(text), kind), f"the model {self.model}")

    async def aclose(self) -> None:
        """Give the model back; requests under way end with ShuttingDownError where nobody else holds it."""
        self._closed = True
        if self._hold is not None:
            self._hold.release()
            self._hold = None
