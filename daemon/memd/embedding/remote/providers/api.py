"""What every provider's HTTP interface offers: texts to a request, its reply to checked vectors or an error. No I/O."""

from __future__ import annotations

import base64
import binascii
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec
import numpy as np

from memd.embedding.numbers import MAX_DIMENSIONS, token_count_of
from memd.embedding.provider import FloatArray
from memd.embedding.remote.endpoint import ApiRequest, Endpoint, TextKind
from memd.embedding.remote.failures import failure_of
from memd_client.errors import ProviderFailedError, ProviderReplyError

Row = list[float] | str
"""A vector as it is sent: numbers, or little-endian float32 in base64."""

_Reply = TypeVar("_Reply")


@dataclass(frozen=True, slots=True)
class ApiReply:
    """Raw vectors (n, dims) in the order of the texts, and the tokens the provider counted, if it did."""

    vectors: FloatArray
    tokens: int | None


class EmbeddingApi(ABC):
    """The HTTP interface of one provider."""

    def __init__(self, endpoint: Endpoint, url: str) -> None:
        self.endpoint = endpoint
        self.url = url

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.endpoint.model}>"

    @abstractmethod
    def request(self, texts: Sequence[str], kind: TextKind) -> ApiRequest:
        """Return the request for at least one text, encodable as UTF-8, within the provider's limits."""

    @abstractmethod
    def parse(self, body: bytes, count: int) -> ApiReply:
        """Return the vectors in a reply of status 2xx to a request of `count` texts.

        Raises:
            ProviderReplyError: Not JSON, another number of vectors, duplicate or missing positions,
                vectors of different lengths, not finite, or zero.
        """

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderFailedError:
        """Return what a reply of another status means.

        Its class says what to do: `ProviderRateLimitedError` (`data["retry_after_s"]` if a pause is named),
        `ProviderQuotaError`, `ProviderAuthError`, `ProviderModelError`, `TextRefusedError`, and plain
        `ProviderFailedError` for what may pass without action. Its message names provider, status and the provider's
        own short code; never the key, and nothing that repeats the text.
        """
        return failure_of(self.endpoint, self.url, status, headers, body)


def decode(decoder: msgspec.json.Decoder[_Reply], body: bytes, whose: str) -> _Reply:
    """Return a reply's JSON as its type."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        start = body[:64].lstrip()
        if start.startswith(b"<"):
            raise ProviderReplyError(f"{whose} answered with a web page instead of vectors") from None
        # The message of a validation error names a place and types, never a value.
        wrong = f": {error}" if isinstance(error, msgspec.ValidationError) else ""
        raise ProviderReplyError(f"{whose} answered with JSON that can't be used{wrong}") from None


def matrix(rows: Sequence[Row], count: int, endpoint: Endpoint) -> FloatArray:
    """Return the checked vectors of a reply, in their order."""
    whose = endpoint.provider
    if len(rows) != count:
        raise ProviderReplyError(f"{whose} answered with {len(rows)} vectors for {count} texts")
    exact = [_numbers(row, whose) for row in rows]
    lengths = sorted({len(row) for row in exact})
    if len(lengths) > 1 or lengths == [0]:
        raise ProviderReplyError(
            f"{whose} answered with vectors of {' and '.join(map(str, lengths))} dimensions"
        )
    if lengths[0] > MAX_DIMENSIONS:
        raise ProviderReplyError(f"{whose} answered with vectors of more than {MAX_DIMENSIONS} dimensions")
    if endpoint.dims is not None and lengths != [endpoint.dims]:
        raise ProviderReplyError(
            f"{whose} answered with vectors of {lengths[0]} dimensions, asked for {endpoint.dims}",
            hint="The model has no such size: correct or remove search.outputDimensionality.",
        )
    with np.errstate(over="ignore"):
        vectors = np.array(exact, dtype=np.float32)
    if not np.isfinite(vectors).all():
        raise ProviderReplyError(f"{whose} answered with a vector that is not finite")
    if not vectors.any(axis=1).all():
        raise ProviderReplyError(f"{whose} answered with a vector of zeros")
    return vectors


def _numbers(row: Row, whose: str) -> list[float] | FloatArray:
    if not isinstance(row, str):
        return row
    try:
        return np.frombuffer(base64.b64decode(row, validate=True), dtype="<f4")
    except (binascii.Error, ValueError):  # not base64, or not a whole number of floats
        raise ProviderReplyError(f"{whose} answered with a vector that is no base64 of float32") from None


def token_count(usage: object, *names: str) -> int | None:
    """Return how many tokens the provider counted, None if it names no plausible number."""
    counts = [token_count_of(usage.get(name)) for name in names] if isinstance(usage, Mapping) else []
    return next((count for count in counts if count is not None), None)
