"""Google's Gemini embeddings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

import msgspec

from memd.embedding.remote.providers.api import ApiReply, ApiRequest, Endpoint, TextKind
from memd.embedding.remote.providers.failures import answer, failure_of, refused_key
from memd.embedding.remote.providers.json_shape import decode, matrix, post_json, token_count
from memd.embedding.remote.providers.problems import Problem, read_problem
from memd_client.errors import ProviderFailedError, ProviderQuotaError

_TASKS: Final[dict[TextKind, str]] = {"query": "RETRIEVAL_QUERY", "document": "RETRIEVAL_DOCUMENT"}
_PROMPTS: Final[dict[TextKind, str]] = {
    "query": "task: search result | query: ",
    "document": "title: none | text: ",
}
"""gemini-embedding-2 takes no notice of `taskType`: what a text is has to stand before it."""


class _Values(msgspec.Struct, gc=False):
    values: list[float]


class _Shape(msgspec.Struct):
    embeddings: list[_Values]
    usageMetadata: Any = None  # noqa: N815 - its name in the reply


_DECODER = msgspec.json.Decoder(_Shape)


class GeminiApi:
    """`POST /models/{model}:batchEmbedContents`; the key is in a header, never in the URL."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        base = endpoint.base_url.removesuffix("/openai")
        self._url = f"{base}/models/{quote(endpoint.model, safe='')}:batchEmbedContents"
        self._prompted = endpoint.model.startswith("gemini-embedding-2")

    def __repr__(self) -> str:
        return f"<GeminiApi {self._endpoint.model}>"

    @property
    def endpoint(self) -> Endpoint:
        """Where it is."""
        return self._endpoint

    def request(self, texts: Sequence[str], kind: TextKind) -> ApiRequest:
        """Return the request for some texts: see `EmbeddingApi`."""
        payload = {"requests": [self._one(text, kind) for text in texts]}
        key = self._endpoint.key
        return post_json(self._endpoint, self._url, {"x-goog-api-key": key.reveal()} if key else {}, payload)

    def _one(self, text: str, kind: TextKind) -> dict[str, Any]:
        """Return the request for one text."""
        prompt = _PROMPTS[kind] if self._prompted else ""
        whole = (
            text if text.startswith(prompt) else prompt + text
        )  # a vector space may bring the prompt itself
        request: dict[str, Any] = {
            "model": f"models/{self._endpoint.model}",
            "content": {"parts": [{"text": whole}]},
        }
        if not self._prompted:
            request["taskType"] = _TASKS[kind]
        if self._endpoint.dims is not None:
            request["outputDimensionality"] = self._endpoint.dims
        return request

    def parse(self, body: bytes, count: int) -> ApiReply:
        """Return what a reply holds: see `EmbeddingApi`. It is in the order of the texts."""
        reply = decode(_DECODER, body, self._endpoint.provider)
        vectors = matrix([row.values for row in reply.embeddings], count, self._endpoint)
        return ApiReply(vectors, token_count(reply.usageMetadata, "promptTokenCount", "totalTokenCount"))

    def failure(self, status: int, headers: Mapping[str, str], body: bytes) -> ProviderFailedError:
        """Return what an error reply means: see `EmbeddingApi`."""
        problem = read_problem(body)
        answered = answer(self._endpoint, status, problem)
        if status == 400 and problem.has_code("api_key_invalid", "api_key_expired"):
            return refused_key(answered)
        if status == 429 and _is_daily(problem):
            return ProviderQuotaError(f"{answered}: the quota of the day is used up")
        return failure_of(self._endpoint, self._url, status, headers, body)


def _is_daily(problem: Problem) -> bool:
    """Return whether a quota that lasts a day is the one that ran out."""
    return any("PerDay" in str(fact.get("quotaId", "")) for fact in problem.facts)
