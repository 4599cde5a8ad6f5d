"""Voyage's embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memd.embedding.providers.api import ApiReply, ApiRequest, Endpoint, TextKind
from memd.embedding.providers.failures import failure_of
from memd.embedding.providers.json_shape import bearer, post_json
from memd.embedding.providers.openai_shape import parse_openai
from memd_client.errors import ProviderFailedError


class VoyageApi:
    """`POST /embeddings`; questions and documents are told apart, and nothing is cut short.

    Args:
        endpoint: Where it is.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._url = f"{endpoint.base_url}/embeddings"

    def __repr__(self) -> str:
        return f"<VoyageApi {self._endpoint.model}>"

    @property
    def endpoint(self) -> Endpoint:
        """Where it is."""
        return self._endpoint

    def request(self, texts: Sequence[str], kind: TextKind) -> ApiRequest:
        """Return the request for some texts: see `EmbeddingApi`."""
        endpoint = self._endpoint
        own_type = endpoint.query_type if kind == "query" else endpoint.document_type
        payload: dict[str, Any] = {
            "model": endpoint.model,
            "input": list(texts),
            "input_type": own_type or kind,
            "truncation": False,
        }
        if endpoint.dims is not None:
            payload["output_dimension"] = endpoint.dims
        return post_json(endpoint, self._url, bearer(endpoint), payload)

    def parse(self, body: bytes, count: int) -> ApiReply:
        """Return what a reply holds: see `EmbeddingApi`."""
        return parse_openai(body, count, self._endpoint)

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderFailedError:
        """Return what an error reply means: see `EmbeddingApi`."""
        return failure_of(self._endpoint, self._url, status, headers, body)
