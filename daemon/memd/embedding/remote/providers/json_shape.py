"""A JSON request to an endpoint, and the checked matrix out of its reply: what all providers have in common."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import msgspec
import numpy as np

from memd import __version__
from memd.embedding.numbers import MAX_DIMENSIONS, token_count_of
from memd.embedding.provider import FloatArray
from memd.embedding.remote.providers.api import ApiRequest, Endpoint
from memd_client.errors import ProviderReplyError

USER_AGENT: Final = f"memd/{__version__}"

Row = list[float] | str
"""A vector as it comes: numbers, or little-endian float32 in base64."""

_Reply = TypeVar("_Reply")


def headers_of(endpoint: Endpoint, own: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a request; the user's win over ours, whatever their case."""
    users = {name.lower() for name in endpoint.headers}
    all_own = {"User-Agent": USER_AGENT, "Accept": "application/json", **own}
    return {name: value for name, value in all_own.items() if name.lower() not in users} | dict(
        endpoint.headers
    )


def bearer(endpoint: Endpoint) -> dict[str, str]:
    """Return the header that carries the key, none where there is no key."""
    return {"Authorization": f"Bearer {endpoint.key.reveal()}"} if endpoint.key else {}


def post_json(endpoint: Endpoint, url: str, own: Mapping[str, str], payload: Mapping[str, Any]) -> ApiRequest:
    """Return a POST of a JSON object."""
    headers = headers_of(endpoint, {"Content-Type": "application/json", **own})
    return ApiRequest("POST", url, headers, msgspec.json.encode(payload), endpoint.redactor)


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
    """Return the checked vectors of a reply, in the order they are given."""
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
    """Return a row's numbers."""
    if not isinstance(row, str):
        return row
    try:
        return np.frombuffer(base64.b64decode(row, validate=True), dtype="<f4")
    except (binascii.Error, ValueError):  # no base64, or not a whole number of floats
        raise ProviderReplyError(f"{whose} answered with a vector that is no base64 of float32") from None


def token_count(usage: object, *names: str) -> int | None:
    """Return how many tokens the provider counted, None if it names no plausible number."""
    counts = [token_count_of(usage.get(name)) for name in names] if isinstance(usage, Mapping) else []
    return next((count for count in counts if count is not None), None)
