"""The base of providers' HTTP interfaces: encodes, decodes, checks. No I/O."""

from __future__ import annotations

import base64
import binascii
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from memd.embedding.numbers import MAX_DIMENSIONS, token_count_of
from memd.embedding.provider import FloatArray
from memd.embedding.remote.endpoint import ApiRequest, Endpoint, TextKind
from memd.embedding.remote.failures import error_for_reply
from memd_client.errors import ProviderFailedError, ProviderReplyError

Row = list[float] | str
"""A vector in a reply: numbers, or little-endian float32 in base64."""

_Reply = TypeVar("_Reply")


class ApiReply(Struct, frozen=True):
    """Raw vectors (n, dims) by text; `tokens` None if the provider counts none."""

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
        """Return the request for texts that are encodable and within the limits."""

    @abstractmethod
    def parse(self, body: bytes, count: int) -> ApiReply:
        """Return the vectors in a reply of status 2xx to a request of `count` texts.

        Raises:
            ProviderReplyError: It is not JSON, has another number of vectors, duplicate or missing positions, or
                vectors that are zero, not finite or of different lengths.
        """

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderFailedError:
        """Return the error for a reply of another status.

        The class is `ProviderRateLimitedError` (`data["retry_after_s"]` if the provider asks for a pause),
        `ProviderQuotaError`, `ProviderAuthError`, `ProviderModelError`, `TextRefusedError`, otherwise
        `ProviderFailedError`. The message names provider, status and the provider's short code; it never contains the
        key or parts of the text.
        """
        return error_for_reply(self.endpoint, self.url, status, headers, body)


def decode(decoder: msgspec.json.Decoder[_Reply], body: bytes, provider: str) -> _Reply:
    """Return the decoded JSON of a reply, or raise ProviderReplyError."""
    try:
        return decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        start = body[:64].lstrip()
        if start.startswith(b"<"):
            raise ProviderReplyError(f"{provider} sent a web page instead of vectors") from None
        # The message of a validation error contains paths and types, never values.
        detail = f": {error}" if isinstance(error, msgspec.ValidationError) else ""
        raise ProviderReplyError(f"{provider} sent an invalid reply{detail}") from None


def matrix(rows: Sequence[Row], count: int, endpoint: Endpoint) -> FloatArray:
    """Return the checked vectors (n, dims) of a reply."""
    provider = endpoint.provider
    if len(rows) != count:
        raise ProviderReplyError(f"{provider} sent {len(rows)} vectors for {count} texts")
    exact = [_numbers(row, provider) for row in rows]
    lengths = sorted({len(row) for row in exact})
    if len(lengths) > 1 or lengths == [0]:
        raise ProviderReplyError(f"{provider} sent vectors of {' and '.join(map(str, lengths))} dimensions")
    if lengths[0] > MAX_DIMENSIONS:
        raise ProviderReplyError(f"{provider} sent vectors of more than {MAX_DIMENSIONS} dimensions")
    if endpoint.dims is not None and lengths != [endpoint.dims]:
        raise ProviderReplyError(
            f"{provider} sent vectors of {lengths[0]} dimensions instead of {endpoint.dims}",
            hint="correct or remove search.outputDimensionality: the model doesn't support this size",
        )
    with np.errstate(over="ignore"):
        vectors = np.array(exact, dtype=np.float32)
    if not np.isfinite(vectors).all():
        raise ProviderReplyError(f"{provider} sent a vector that is not finite")
    if not vectors.any(axis=1).all():
        raise ProviderReplyError(f"{provider} sent a vector of zeros")
    return vectors


def _numbers(row: Row, provider: str) -> list[float] | FloatArray:
    if not isinstance(row, str):
        return row
    try:
        return np.frombuffer(base64.b64decode(row, validate=True), dtype="<f4")
    except (binascii.Error, ValueError):  # not base64, or not a whole number of floats
        raise ProviderReplyError(f"{provider} sent a vector that is not base64 of float32") from None


def token_count(usage: object, *names: str) -> int | None:
    """Return the tokens counted by the provider, None without a plausible number."""
    counts = [token_count_of(usage.get(name)) for name in names] if isinstance(usage, Mapping) else []
    return next((count for count in counts if count is not None), None)
