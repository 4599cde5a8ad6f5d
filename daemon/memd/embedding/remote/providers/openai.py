"""OpenAI's interface `POST /embeddings`, and the providers that share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from memd.embedding.remote.endpoint import ApiRequest, Endpoint, TextKind
from memd.embedding.remote.providers.api import ApiReply, EmbeddingApi, Row, decode, matrix, token_count
from memd_client.errors import ProviderReplyError


class RequestFields(Struct, frozen=True):
    """The request fields in which these providers differ.

    `constant` is always sent, `dims` names the field of the vector size, `input_type` says when that is sent.
    """

    constant: Mapping[str, Any]
    dims: str = "dimensions"
    input_type: Literal["never", "if configured", "always"] = "never"


FIELDS: Final[Mapping[str, RequestFields]] = {
    # base64 takes a third of the bytes, and is exact
    "openai": RequestFields({"encoding_format": "base64"}),
    "voyage": RequestFields({"truncation": False}, "output_dimension", "always"),
    "mistral": RequestFields({}, "output_dimension"),
    # what LM Studio, vLLM, llama.cpp, LiteLLM, TEI and others all understand
    "compatible": RequestFields({"encoding_format": "float"}, input_type="if configured"),
}


class _Item(msgspec.Struct, gc=False):
    embedding: Row
    index: int | None = None


class _EmbeddingsReply(msgspec.Struct):
    data: list[_Item]
    usage: Any = None


_DECODER = msgspec.json.Decoder(_EmbeddingsReply)


class OpenAIApi(EmbeddingApi):
    """The interface of OpenAI, or of a provider that shares it."""

    def __init__(self, endpoint: Endpoint, fields: RequestFields) -> None:
        super().__init__(endpoint, f"{endpoint.base_url}/embeddings")
        self._fields = fields

    def request(self, texts: Sequence[str], kind: TextKind) -> ApiRequest:
        """Return the request for some texts."""
        endpoint, own = self.endpoint, self._fields
        payload: dict[str, Any] = {"model": endpoint.model, "input": list(texts), **own.constant}
        input_type = endpoint.query_type if kind == "query" else endpoint.document_type
        if own.input_type == "always" or (own.input_type == "if configured" and input_type):
            payload["input_type"] = input_type or kind
        if endpoint.dims is not None:
            payload[own.dims] = endpoint.dims
        return endpoint.post_json(self.url, endpoint.bearer, payload)

    def parse(self, body: bytes, count: int) -> ApiReply:
        """Return the vectors of a reply in the order of their `index`."""
        provider = self.endpoint.provider
        reply = decode(_DECODER, body, provider)
        items = reply.data
        if len(items) == count and any(item.index is not None for item in items):
            by_index = {item.index: item for item in items}
            if by_index.keys() != set(range(count)):
                raise ProviderReplyError(f"{provider} sent vectors with duplicate or missing positions")
            items = [by_index[index] for index in range(count)]
        vectors = matrix([item.embedding for item in items], count, self.endpoint)
        return ApiReply(vectors, token_count(reply.usage, "total_tokens", "prompt_tokens"))
