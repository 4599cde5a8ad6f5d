"""Google's Gemini interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec

from memd.embedding.remote.endpoint import ApiRequest, Endpoint, TextKind
from memd.embedding.remote.failures import answer, read_error_body, refused_key
from memd.embedding.remote.providers.api import ApiReply, EmbeddingApi, decode, matrix, token_count
from memd_client.errors import ProviderFailedError, ProviderQuotaError

_TASKS: Final[dict[TextKind, str]] = {"query": "RETRIEVAL_QUERY", "document": "RETRIEVAL_DOCUMENT"}
_PROMPTS: Final[dict[TextKind, str]] = {
    "query": "task: search result | query: ",
    "document": "title: none | text: ",
}
"""gemini-embedding-2 ignores `taskType`: the kind of a text has to precede it."""


class _Values(msgspec.Struct, gc=False):
    values: list[float]


class _Shape(msgspec.Struct):
    embeddings: list[_Values]
    usageMetadata: Any = None  # noqa: N815 - its name in the reply


_DECODER = msgspec.json.Decoder(_Shape)


class GeminiApi(EmbeddingApi):
    """`POST /models/{model}:batchEmbedContents`; the key is in a header, never in the URL."""

    def __init__(self, endpoint: Endpoint) -> None:
        base = endpoint.base_url.removesuffix("/openai")
        super().__init__(endpoint, f"{base}/models/{quote(endpoint.model, safe='')}:batchEmbedContents")
        self._prompted = endpoint.model.startswith("gemini-embedding-2")

    def request(self, texts: Sequence[str], kind: TextKind) -> ApiRequest:
        """Return the request for some texts."""
        key = self.endpoint.key
        auth = {"x-goog-api-key": key.reveal()} if key else {}
        payload = {"requests": [self._request_of(text, kind) for text in texts]}
        return self.endpoint.post_json(self.url, auth, payload)

    def _request_of(self, text: str, kind: TextKind) -> dict[str, Any]:
        prompt = _PROMPTS[kind] if self._prompted else ""
        prompted = text if text.startswith(prompt) else prompt + text  # a vector space may bring the prompt
        request: dict[str, Any] = {
            "model": f"models/{self.endpoint.model}",
            "content": {"parts": [{"text": prompted}]},
        }
        if not self._prompted:
            request["taskType"] = _TASKS[kind]
        if self.endpoint.dims is not None:
            request["outputDimensionality"] = self.endpoint.dims
        return request

    def parse(self, body: bytes, count: int) -> ApiReply:
        """Return the vectors of a reply, which are in the order of the texts."""
        reply = decode(_DECODER, body, self.endpoint.provider)
        vectors = matrix([row.values for row in reply.embeddings], count, self.endpoint)
        return ApiReply(vectors, token_count(reply.usageMetadata, "promptTokenCount", "totalTokenCount"))

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderFailedError:
        """Return what an error reply means; Google names a wrong key and a daily quota in its own way."""
        error = read_error_body(body)
        answered = answer(self.endpoint, status, error)
        if status == 400 and error.has_code("api_key_invalid", "api_key_expired"):
            return refused_key(answered)
        is_daily = any("PerDay" in str(fact.get("quotaId", "")) for fact in error.facts)
        if status == 429 and is_daily:
            return ProviderQuotaError(f"{answered}: the quota of the day is used up")
        return super().failure(status, headers, body)
