"""The interface of every embedding provider, and the normalization of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from memd.embedding.space import VectorSpace
from memd_client.errors import ProviderFailedError

FloatArray = npt.NDArray[np.float32]


class BatchLimits(Struct, frozen=True):
    """Limits of one request to a provider, and of concurrent requests.

    `max_tokens` bounds all texts of a request together, `max_text_tokens` one text. Both count tokens by
    `text.tokens.estimate_tokens`, so they are below what the provider allows. `max_texts` may grow to `quick_texts`
    while requests are quick; with 0 it is fixed.
    """

    max_texts: int
    max_tokens: int
    max_text_tokens: int
    concurrency: int
    quick_texts: int = 0


class EmbeddingProvider(Protocol):
    """Embeds texts: returns unit vectors of one vector space.

    `id` names the provider (`local`, `openai` …), `model` its model.

    Cancellation: every method can be cancelled; the provider remains usable.
    """

    @property
    def id(self) -> str:
        """The provider's name in settings and status."""

    @property
    def model(self) -> str:
        """The model's name in settings and status."""

    @property
    def space(self) -> VectorSpace:
        """The vector space of all vectors it returns."""

    @property
    def limits(self) -> BatchLimits:
        """The limits of one `embed_batch`, and of concurrent ones."""

    @property
    def recipe(self) -> dict[str, str]:
        """The settings from which this provider can be rebuilt, without secrets.

        Contains `provider` and `model`, and `base_url` of a remote provider.
        """

    def retry_in_s(self) -> float:
        """Return for how many seconds calls still fail fast; 0 if a call may be made now."""

    async def warm_up(self) -> None:
        """Load what the first call needs, if it takes little RAM; never fails."""

    async def embed_query(self, text: str) -> FloatArray:
        """Return the vector of a query.

        Args:
            text: Any string; characters that UTF-8 can't encode are replaced.

        Returns:
            float32 (dims,), of length 1, finite.

        Raises:
            MemdError: The provider failed or timed out; the class tells the cause.
        """

    async def embed_batch(self, texts: Sequence[str]) -> FloatArray:
        """Return the vectors of texts, in the same order.

        Args:
            texts: Any strings, also none.

        Returns:
            float32 (n, dims), each row of length 1, finite; (0, 0) for no texts.

        Raises:
            MemdError: As `embed_query`; a batch fails as a whole.
        """

    async def aclose(self) -> None:
        """Release all resources; idempotent. Other methods fail afterwards."""


def unit_vector(raw: FloatArray, source: str) -> FloatArray:
    """Return a vector (dims,) scaled to length 1."""
    vector: FloatArray = unit_vectors(raw[np.newaxis], source)[0]
    return vector


def unit_vectors(raw: FloatArray, source: str) -> FloatArray:
    """Return vectors (n, dims) scaled to length 1; `source` is named in the error."""
    exact = raw.astype(np.float64)
    lengths = np.sqrt((exact * exact).sum(axis=1, keepdims=True))
    if raw.shape[1] == 0 or not (np.isfinite(lengths) & (lengths > 0.0)).all():
        raise ProviderFailedError(f"{source} returned a vector that is empty, zero or not finite")
    exact /= lengths
    return exact.astype(np.float32)


BLANK = "."
"""Sent instead of a blank text, which most providers refuse. No chunk is blank."""


def encodable(text: str) -> str:
    """Return a text with lone surrogates, which UTF-8 can't encode, replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")
