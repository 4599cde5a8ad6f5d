"""Ollama's native interface."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from memd.embedding.remote.endpoint import ApiRequest, Endpoint, TextKind
from memd.embedding.remote.providers.api import ApiReply, EmbeddingApi, decode, matrix, token_count


class _EmbeddingsReply(msgspec.Struct):
    embeddings: list[list[float]]
    prompt_eval_count: Any = None


_DECODER = msgspec.json.Decoder(_EmbeddingsReply)


class OllamaApi(EmbeddingApi):
    """`POST /api/embed`; `/v1` has neither `truncate` nor `keep_alive`."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint, f"{endpoint.base_url.removesuffix('/v1')}/api/embed")

    def request(self, texts: Sequence[str], kind: TextKind) -> ApiRequest:
        """Return the request for some texts.

        `truncate` is off: the end of a silently truncated text could never be found. `keep_alive` must be a number;
        Ollama refuses the string "-1".
        """
        payload: dict[str, Any] = {
            "model": self.endpoint.model,
            "input": list(texts),
            "truncate": False,
            "keep_alive": self.endpoint.keep_alive_s,
        }
        if self.endpoint.dims is not None:
            payload["dimensions"] = self.endpoint.dims
        return self.endpoint.post_json(self.url, self.endpoint.bearer, payload)

    def parse(self, body: bytes, count: int) -> ApiReply:
        """Return the vectors of a reply, whose order is that of the texts."""
        reply = decode(_DECODER, body, self.endpoint.provider)
        vectors = matrix(reply.embeddings, count, self.endpoint)
        return ApiReply(vectors, token_count({"count": reply.prompt_eval_count}, "count"))
