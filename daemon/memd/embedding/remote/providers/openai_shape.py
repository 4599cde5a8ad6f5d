"""OpenAI's shape, which others speak, too: `POST /embeddings` -> `{"data": [{"index", "embedding"}], "usage"}`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from memd.embedding.remote.providers.api import ApiReply, ApiRequest, Endpoint, TextKind
from memd.embedding.remote.providers.failures import failure_of
from memd.embedding.remote.providers.json_shape import Row, bearer, decode, matrix, post_json, token_count
from memd_client.errors import ProviderFailedError, ProviderReplyError


class _Item(msgspec.Struct, gc=False):
    embedding: Row
    index: int | None = None


class _Shape(msgspec.Struct):
    data: list[_Item]
    usage: Any = None


_DECODER = msgspec.json.Decoder(_Shape)


def parse_openai(body: bytes, count: int, endpoint: Endpoint) -> ApiReply:
    """Return what a reply holds, its vectors put in the order of their `index`."""
    reply = decode(_DECODER, body, endpoint.provider)
    items = reply.data
    if len(items) == count and any(item.index is not None for item in items):
        places = {item.index: item for item in items}
        if places.keys() != set(range(count)):
            raise ProviderReplyError(
                f"{endpoint.provider} answered with positions that are doubled or missing"
            )
        items = [places[place] for place in range(count)]
    vectors = matrix([item.embedding for item in items], count, endpoint)
    return ApiReply(vectors, token_count(reply.usage, "total_tokens", "prompt_tokens"))


class OpenAIShape(ABC):
    """An `EmbeddingApi` of that shape; what it is asked for is the provider's own.

    Args:
        endpoint: Where it is.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._url = f"{endpoint.base_url}/embeddings"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._endpoint.model}>"

    @property
    def endpoint(self) -> Endpoint:
        """Where it is."""
        return self._endpoint

    @abstractmethod
    def fields(self, texts: Sequence[str], kind: TextKind) -> dict[str, Any]:
        """Return the fields of a request for some texts."""

    def request(self, texts: Sequence[str], kind: TextKind) -> ApiRequest:
        """Return the request for some texts: see `EmbeddingApi`."""
        return post_json(self._endpoint, self._url, bearer(self._endpoint), self.fields(texts, kind))

    def parse(self, body: bytes, count: int) -> ApiReply:
        """Return what a reply holds: see `EmbeddingApi`."""
        return parse_openai(body, count, self._endpoint)

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderFailedError:
        """Return what an error reply means: see `EmbeddingApi`."""
        return failure_of(self._endpoint, self._url, status, headers, body)
