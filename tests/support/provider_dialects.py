"""Embedding requests and responses of each provider, field by field.

From the providers' documentation. An invalid request raises `InvalidRequestError`, which becomes the provider's own
kind of error.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from tests.support.provider_errors import DialectName, ErrorReason
from tests.support.provider_faults import Rows
from tests.support.provider_vectors import token_count

GO_DURATION = re.compile(r"-?\d+(\.\d+)?(ns|us|ms|s|m|h)")


class InvalidRequestError(Exception):
    """A request differs from the provider's documentation."""

    def __init__(self, why: ErrorReason, detail: str) -> None:
        super().__init__(f"{why}: {detail}")
        self.why = why
        self.detail = detail


@dataclass(frozen=True)
class ProviderFacts:
    """A provider's default model, its dimensions, and the limits of one request."""

    prefix: str
    model: str
    dims: int
    max_texts: int
    max_tokens: int
    max_text_tokens: int
    cuts_long_texts: bool = False
    asks_key: bool = True


PROVIDER_FACTS: Final[dict[DialectName, ProviderFacts]] = {
    "openai": ProviderFacts("/v1", "text-embedding-3-small", 1536, 2048, 300_000, 8192),
    "gemini": ProviderFacts("/v1beta", "gemini-embedding-001", 3072, 100, 10**9, 2048, cuts_long_texts=True),
    "voyage": ProviderFacts("/v1", "voyage-4-large", 1024, 1000, 120_000, 32_000, cuts_long_texts=True),
    "mistral": ProviderFacts("/v1", "mistral-embed", 1024, 512, 16_384, 8192),
    "ollama": ProviderFacts(
        "", "nomic-embed-text", 768, 10**9, 10**9, 2048, cuts_long_texts=True, asks_key=False
    ),
    "compatible": ProviderFacts("/v1", "acme-embed", 512, 2048, 300_000, 8192),
}


@dataclass(frozen=True)
class EmbeddingRequest:
    """An embedding request.

    `kind` is the requested input type, "" if missing. `cuts` is whether long texts are to be truncated rather than
    refused; None for the provider's default.
    """

    texts: list[str]
    model: str
    kind: str = ""
    dims: int | None = None
    base64: bool = False
    single: bool = False
    cuts: bool | None = None


@dataclass(frozen=True)
class HttpRequest:
    """A raw HTTP request. Header names are in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    def json(self) -> Any:
        """Return the body as JSON."""
        if self.headers.get("content-type", "").split(";")[0] != "application/json":
            raise InvalidRequestError("field", "Content-Type")
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise InvalidRequestError("field", "body") from error


Check = Callable[[Any], bool]


def one_of(*values: object) -> Check:
    """Return a check for one of several values."""
    return lambda value: value in values


def is_count(value: Any) -> bool:
    """Return whether a value is a positive integer."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def is_text(value: Any) -> bool:
    """Return whether a value is a string valid in UTF-8."""
    if not isinstance(value, str):
        return False
    return not any("\ud800" <= char <= "\udfff" for char in value)


def is_texts(value: Any) -> bool:
    """Return whether a value is a non-empty list of strings."""
    return isinstance(value, list) and bool(value) and all(is_text(text) for text in value)


def is_flag(value: Any) -> bool:
    """Return whether a value is a boolean."""
    return isinstance(value, bool)


def is_keep_alive(value: Any) -> bool:
    """Return whether Ollama accepts it: seconds as a number, or a duration with a unit; not "-1"."""
    if isinstance(value, str):
        return GO_DURATION.fullmatch(value) is not None
    return isinstance(value, int) and not isinstance(value, bool)


MODEL_AND_INPUT: Final[dict[str, Check]] = {"model": is_text, "input": is_texts}

FIELDS: Final[dict[DialectName, dict[str, Check]]] = {
    "openai": {"encoding_format": one_of("float", "base64"), "dimensions": is_count, "user": is_text},
    "voyage": {
        "input_type": one_of(None, "query", "document"),
        "truncation": is_flag,
        "output_dimension": one_of(None, 256, 512, 1024, 2048),
        "output_dtype": one_of("float"),
        "encoding_format": one_of(None, "base64"),
    },
    "mistral": {
        "encoding_format": one_of("float", "base64"),
        "output_dimension": is_count,
        "output_dtype": one_of("float"),
    },
    "ollama": {
        "truncate": is_flag,
        "keep_alive": is_keep_alive,
        "dimensions": is_count,
        "options": lambda value: isinstance(value, dict),
    },
    "compatible": {
        "encoding_format": one_of("float", "base64"),
        "dimensions": is_count,
        "input_type": is_text,
        "user": is_text,
    },
}
"""Optional fields of a request, besides model and input."""


def check_fields(
    value: Any, needed: Mapping[str, Check], allowed: Mapping[str, Check], where: str = ""
) -> None:
    """Raise if an object's fields are invalid."""
    if not isinstance(value, dict):
        raise InvalidRequestError("field", where or "body")
    for name in needed:
        if name not in value:
            raise InvalidRequestError("field", f"{where}{name} (missing)")
    for name, content in value.items():
        check = needed.get(name) or allowed.get(name)
        if check is None or not check(content):
            raise InvalidRequestError("field", f"{where}{name}")


def check_key(dialect: DialectName, asked: HttpRequest, key: str | None) -> None:
    """Raise if the key is wrong or outside of its header."""
    if key is None:
        return
    name = "x-goog-api-key" if dialect == "gemini" else "authorization"
    found = asked.headers.get(name)
    if not found:
        raise InvalidRequestError("no_key", name)
    if found != (key if dialect == "gemini" else f"Bearer {key}"):
        raise InvalidRequestError("bad_key", found.removeprefix("Bearer "))
    if key in asked.path + asked.query or key.encode() in asked.body:
        raise InvalidRequestError("field", "key outside of its header")


def read_embeddings(dialect: DialectName, asked: HttpRequest) -> EmbeddingRequest:
    """Return the embedding request in an HTTP request."""
    if asked.method != "POST":
        raise InvalidRequestError("path", asked.method)
    body = asked.json()
    if dialect == "gemini":
        return _read_gemini(asked.path, body)
    check_fields(body, MODEL_AND_INPUT, FIELDS[dialect])
    return EmbeddingRequest(
        texts=body["input"],
        model=body["model"],
        kind=body.get("input_type") or "",
        dims=body.get("dimensions") or body.get("output_dimension"),
        base64=body.get("encoding_format") == "base64",
        cuts=body.get("truncation", body.get("truncate")),
    )


def _read_gemini(path: str, body: Any) -> EmbeddingRequest:
    """Return the embedding request in either of Google's two formats."""
    model, _, verb = path.removeprefix("/v1beta/models/").rpartition(":")
    if verb == "embedContent":
        return read_gemini_text(body, model, single=True)
    check_fields(body, {"requests": lambda value: isinstance(value, list) and bool(value)}, {})
    parts = [read_gemini_text(request, model, where="requests.") for request in body["requests"]]
    if len({(part.kind, part.dims) for part in parts}) > 1:
        raise InvalidRequestError("field", "requests differ in taskType or outputDimensionality")
    return EmbeddingRequest([part.texts[0] for part in parts], model, parts[0].kind, parts[0].dims)


def read_gemini_text(request: Any, model: str, *, where: str = "", single: bool = False) -> EmbeddingRequest:
    """Return the embedding request in one EmbedContentRequest."""
    kinds = ("RETRIEVAL_QUERY", "RETRIEVAL_DOCUMENT", "SEMANTIC_SIMILARITY")
    allowed: dict[str, Check] = {
        "model": one_of(f"models/{model}"),
        "taskType": one_of(*kinds),
        "outputDimensionality": lambda value: is_count(value) and value <= 3072,
        "title": is_text,
    }
    needed: dict[str, Check] = {"content": lambda value: isinstance(value, dict)}
    if not single:
        needed["model"] = allowed["model"]
    check_fields(request, needed, allowed, where)
    content = request["content"]
    check_fields(
        content, {"parts": lambda value: isinstance(value, list) and len(value) == 1}, {"role": is_text}
    )
    check_fields(content["parts"][0], {"text": is_text}, {}, f"{where}parts.")
    kind, dims = request.get("taskType", ""), request.get("outputDimensionality")
    return EmbeddingRequest([content["parts"][0]["text"]], model, kind, dims, single=single)


def check_size(dialect: DialectName, wanted: EmbeddingRequest) -> int:
    """Return the number of tokens of a request, or raise if it exceeds a limit."""
    facts = PROVIDER_FACTS[dialect]
    if len(wanted.texts) > facts.max_texts:
        raise InvalidRequestError("count", str(facts.max_texts))
    cuts = facts.cuts_long_texts if wanted.cuts is None else wanted.cuts
    for text in wanted.texts:
        if not text.strip() and dialect != "ollama":
            raise InvalidRequestError("text", "an empty text")
        if not cuts and token_count(text) > facts.max_text_tokens:
            raise InvalidRequestError("text", text)
    tokens = sum(min(token_count(text), facts.max_text_tokens) for text in wanted.texts)
    if tokens > facts.max_tokens:
        raise InvalidRequestError("tokens", str(tokens))
    return tokens


def render(
    dialect: DialectName, wanted: EmbeddingRequest, rows: Rows, positions: Sequence[int], tokens: int
) -> dict[str, Any]:
    """Return a response with vectors in the provider's format."""
    if dialect == "gemini":
        values = [{"values": row} for row in rows]
        return {"embedding": values[0]} if wanted.single else {"embeddings": values}
    if dialect == "ollama":
        times = {"total_duration": 14143917, "load_duration": 1019500, "prompt_eval_count": tokens}
        return {"model": wanted.model, "embeddings": rows, **times}
    data = [
        {"object": "embedding", "index": at, "embedding": _packed(row) if wanted.base64 else row}
        for at, row in zip(positions, rows, strict=True)
    ]
    usage = {"total_tokens": tokens}
    if dialect != "voyage":
        usage["prompt_tokens"] = tokens
    return {"object": "list", "data": data, "model": wanted.model, "usage": usage}


def _packed(row: Sequence[float | None]) -> str:
    """Return a vector as base64 of little-endian float32."""
    numbers = np.array([np.nan if value is None else value for value in row], dtype="<f4")
    return base64.b64encode(numbers.tobytes()).decode()
