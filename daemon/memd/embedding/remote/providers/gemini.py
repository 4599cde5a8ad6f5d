"""Google's Gemini interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec

from memd.embedding.remote.endpoint import ApiRequest, Endpoint, TextKind
from memd.embedding.remote.failures import describe_reply, key_refused_error, read_error_body
from memd.embedding.remote.providers.api import ApiReply, EmbeddingApi, decode, matrix, token_count
from memd_client.errors import ProviderFailedError, ProviderQuotaError

_TASKS: Final[dict[TextKind, str]] = {"query": "RETRIEVAL_QUERY", "document": "RETRIEVAL_DOCUMENT"}
_PROMPTS: Final[dict[TextKind, str]] = {
    "query": "task: search result | query: ",
    "document": "title: none | text: ",
}
"""gemini-embedding-2 ignores `taskType`; it expects these prefixes instead."""


class _Values(msgspec.Struct, gc=False):
    values: list[float]


class _EmbeddingsReply(msgspec.Struct):
    embeddings: list[_Values]
    usageMetadata: Any = None  # noqa: N815 - its name in the reply


_DECODER = msgspec.json.Decoder(_EmbeddingsReply)


class GeminiApi(EmbeddingApi):
    """`POST /models/{model}:batchEmbedContents`, with the key in a header."""

    def __init__(self, endpoint: Endpoint) -> None:
        base = endpoint.base_url.removesuffix("/openai")
        super().__init__(endpoint, f"{base}/models/{quote(endpoint.model, safe='')}:batchEmbedContents")
        self._needs_prompt = endpoint.model.startswith("gemini-embedding-2")

    def request(self, texts: Sequence[str], kind: TextKind) -> ApiRequest:
        """Return the request for some texts."""
        key = self.endpoint.key
        auth = {"x-goog-api-key": key.reveal()} if key else {}
        payload = {"requests": [self._request_of(text, kind) for text in texts]}
        return self.endpoint.post_json(self.url, auth, payload)

    def _request_of(self, text: str, kind: TextKind) -> dict[str, Any]:
        prompt = _PROMPTS[kind] if self._needs_prompt else ""
        prompted = (
            text if text.startswith(prompt) else prompt + text
        )  # the vector space may have added the prompt
        request: dict[str, Any] = {
            "model": f"models/{self.endpoint.model}",
            "content": {"parts": [{"text": prompted}]},
        }
        if not self._needs_prompt:
            request["taskType"] = _TASKS[kind]
        if self.endpoint.dims is not None:
            request["outputDimensionality"] = self.endpoint.dims
        return request

    def parse(self, body: bytes, count: int) -> ApiReply:
        """Return the vectors of a reply, whose order is that of the texts."""
        reply = decode(_DECODER, body, self.endpoint.provider)
        vectors = matrix([row.values for row in reply.embeddings], count, self.endpoint)
        return ApiReply(vectors, token_count(reply.usageMetadata, "promptTokenCount", "totalTokenCount"))

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderFailedError:
        """Return the error; Google has its own invalid-key and daily-quota replies."""
        error = read_error_body(body)
        summary = describe_reply(self.endpoint, status, error)
        if status == 400 and error.has_code("api_key_invalid", "api_key_expired"):
            return key_refused_error(summary)
        is_daily = any("PerDay" in str(detail.get("quotaId", "")) for detail in error.details)
        if status == 429 and is_daily:
            return ProviderQuotaError(f"{summary}: the daily quota is used up")
        return super().failure(status, headers, body)
