"""Ollama's embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from memd.embedding.remote.providers.api import ApiReply, ApiRequest, Endpoint, TextKind
from memd.embedding.remote.providers.failures import failure_of
from memd.embedding.remote.providers.json_shape import bearer, decode, matrix, post_json, token_count
from memd_client.errors import ProviderFailedError


class _Shape(msgspec.Struct):
    embeddings: list[list[float]]
    prompt_eval_count: Any = None


_DECODER = msgspec.json.Decoder(_Shape)


class OllamaApi:
    """`POST /api/embed`, the native interface: the one at `/v1` has neither `truncate` nor `keep_alive`."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._url = f"{endpoint.base_url.removesuffix('/v1')}/api/embed"

    def __repr__(self) -> str:
        return f"<OllamaApi {self._endpoint.model}>"

    @property
    def endpoint(self) -> Endpoint:
        """Where it is."""
        return self._endpoint

    def request(self, texts: Sequence[str], kind: TextKind) -> ApiRequest:
        """Return the request for some texts: see `EmbeddingApi`.

        `truncate` is off: a text that is cut short in silence could never be found by its end. `keep_alive`
        must be a whole number; in quotes, -1 is refused.
        """
        payload: dict[str, Any] = {
            "model": self._endpoint.model,
            "input": list(texts),
            "truncate": False,
            "keep_alive": self._endpoint.keep_alive_s,
        }
        if self._endpoint.dims is not None:
            payload["dimensions"] = self._endpoint.dims
        return post_json(self._endpoint, self._url, bearer(self._endpoint), payload)

    def parse(self, body: bytes, count: int) -> ApiReply:
        """Return what a reply holds: see `EmbeddingApi`. It is in the order of the texts."""
        reply = decode(_DECODER, body, self._endpoint.provider)
        vectors = matrix(reply.embeddings, count, self._endpoint)
        return ApiReply(vectors, token_count({"count": reply.prompt_eval_count}, "count"))

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderFailedError:
        """Return what an error reply means: see `EmbeddingApi`."""
        return failure_of(self._endpoint, self._url, status, headers, body)
