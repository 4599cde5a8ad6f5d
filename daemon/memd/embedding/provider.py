"""The interface of every embedding provider, and the normalization of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from memd.embedding.space import VectorSpace
from memd_client.errors import ProviderFailedError

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """What one request to a provider may carry, and how many requests may be under way.

    `max_tokens` is of all texts of a request together, `max_text_tokens` of one text; both by
    `text.tokens.estimate_tokens`, which is why they stay below what the provider allows. `quick_texts` is what
    `max_texts` may grow to if requests are quick; 0 if it stays.
    """

    max_texts: int
    max_tokens: int
    max_text_tokens: int
    concurrency: int
    quick_texts: int = 0


class EmbeddingProvider(Protocol):
    """Texts -> unit vectors of one vector space.

    `id` names the provider (`local`, `openai` …), `model` its model as people know it.

    Cancellation: every method may be cancelled; the provider stays usable.
    """

    @property
    def id(self) -> str:
        """The provider's name in settings and status."""

    @property
    def model(self) -> str:
        """The model's name in settings and status."""

    @property
    def space(self) -> VectorSpace:
        """What the vectors are comparable with."""

    @property
    def limits(self) -> BatchLimits:
        """What `embed_batch` may be given at once, and how often at the same time."""

    @property
    def recipe(self) -> dict[str, str]:
        """What is needed, beside a key, to make this provider again after the settings changed.

        Holds `provider` and `model`, and for others than local models `base_url`; never a secret.
        """

    def retry_in_s(self) -> float:
        """Return how long calls are refused without being tried, 0 if one may be made now."""

    async def get_ready(self) -> None:
        """Load what the first call would have to wait for, if that is cheap to keep; never fails."""

    async def embed_query(self, text: str) -> FloatArray:
        """Return the vector of a query.

        Args:
            text: Any string; what can't be encoded is replaced.

        Returns:
            float32 (dims,), of length 1, finite.

        Raises:
            MemdError: The provider can't, or can't in time; its class says why.
        """

    async def embed_batch(self, texts: Sequence[str]) -> FloatArray:
        """Return the vectors of some texts, in their order.

        Args:
            texts: Any strings; none gives an empty matrix.

        Returns:
            float32 (n, dims), each row of length 1, finite; (0, 0) for no texts.

        Raises:
            MemdError: As `embed_query`; no part of the batch is returned then.
        """

    async def aclose(self) -> None:
        """Release what the provider holds; a second time does nothing. Its methods fail afterwards."""


def unit_vector(raw: FloatArray, whose: str) -> FloatArray:
    """Return a vector (dims,) scaled to length 1: see `unit_vectors`."""
    vector: FloatArray = unit_vectors(raw[np.newaxis], whose)[0]
    return vector


def unit_vectors(raw: FloatArray, whose: str) -> FloatArray:
    """Return vectors scaled to length 1."""
    exact = raw.astype(np.float64)
    lengths = np.sqrt((exact * exact).sum(axis=1, keepdims=True))
    if raw.shape[1] == 0 or not (np.isfinite(lengths) & (lengths > 0.0)).all():
        raise ProviderFailedError(f"{whose} returned a vector that is empty, zero or not finite")
    exact /= lengths
    return exact.astype(np.float32)


BLANK = "."
"""Sent for a text of white space alone, which most providers refuse; no chunk consists of it."""


def encodable(text: str) -> str:
    """Return a text that UTF-8 can carry: lone surrogates become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8")
