"""How each provider wants to be asked for embeddings, field by field, and how it answers.

Facts of the providers' documentation; what is wrong in a request is raised as `WrongError` and becomes the
provider's own kind of error.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from tests.support.provider_errors import DialectName, Why
from tests.support.provider_faults import Rows
from tests.support.provider_vectors import token_count

GO_DURATION = re.compile(r"-?\d+(\.\d+)?(ns|us|ms|s|m|h)")


class WrongError(Exception):
    """A request is not what the provider documents."""

    def __init__(self, why: Why, detail: str) -> None:
        super().__init__(f"{why}: {detail}")
        self.why = why
        self.detail = detail


@dataclass(frozen=True)
class Facts:
    """A provider in numbers: its model, its vectors' length, and what one request may hold."""

    prefix: str
    model: str
    dims: int
    max_texts: int
    max_tokens: int
    max_text_tokens: int
    cuts_long_texts: bool = False
    asks_key: bool = True


FACTS: Final[dict[DialectName, Facts]] = {
    "openai": Facts("/v1", "text-embedding-3-small", 1536, 2048, 300_000, 8192),
    "gemini": Facts("/v1beta", "gemini-embedding-001", 3072, 100, 10**9, 2048, cuts_long_texts=True),
    "voyage": Facts("/v1", "voyage-4-large", 1024, 1000, 120_000, 32_000, cuts_long_texts=True),
    "mistral": Facts("/v1", "mistral-embed", 1024, 512, 16_384, 8192),
    "ollama": Facts("", "nomic-embed-text", 768, 10**9, 10**9, 2048, cuts_long_texts=True, asks_key=False),
    "compatible": Facts("/v1", "acme-embed", 512, 2048, 300_000, 8192),
}


@dataclass(frozen=True)
class Wanted:
    """What a request asks for.

    `kind` is what it calls its texts: empty where it doesn't say. `cuts` says whether long texts are to be cut short
    rather than refused; None for what the provider does unasked.
    """

    texts: list[str]
    model: str
    kind: str = ""
    dims: int | None = None
    base64: bool = False
    single: bool = False
    cuts: bool | None = None


@dataclass(frozen=True)
class Asked:
    """A request as it came. Header names are lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str] = field(repr=False)
    body: bytes = field(repr=False)

    def json(self) -> Any:
        """Return the body as JSON."""
        if self.headers.get("content-type", "").split(";")[0] != "application/json":
            raise WrongError("field", "Content-Type")
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise WrongError("field", "body") from error


Check = Callable[[Any], bool]


def one_of(*values: object) -> Check:
    """Return a check for one of some values."""
    return lambda value: value in values


def is_count(value: Any) -> bool:
    """Return whether a value is a positive whole number."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def is_text(value: Any) -> bool:
    """Return whether a value is a text that UTF-8 can carry."""
    if not isinstance(value, str):
        return False
    return not any("\ud800" <= char <= "\udfff" for char in value)


def is_texts(value: Any) -> bool:
    """Return whether a value is a list of texts, at least one."""
    return isinstance(value, list) and bool(value) and all(is_text(text) for text in value)


def is_flag(value: Any) -> bool:
    """Return whether a value is true or false."""
    return isinstance(value, bool)


def is_keep_alive(value: Any) -> bool:
    """Return whether Ollama takes it: seconds as a number, or a duration with a unit; a bare "-1" it doesn't."""
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
"""Fields a request may have beside model and input."""


def check_fields(
    value: Any, needed: Mapping[str, Check], allowed: Mapping[str, Check], where: str = ""
) -> None:
    """Raise what is wrong with an object."""
    if not isinstance(value, dict):
        raise WrongError("field", where or "body")
    for name in needed:
        if name not in value:
            raise WrongError("field", f"{where}{name} (missing)")
    for name, content in value.items():
        check = needed.get(name) or allowed.get(name)
        if check is None or not check(content):
            raise WrongError("field", f"{where}{name}")


def check_key(dialect: DialectName, asked: Asked, key: str | None) -> None:
    """Raise what is wrong with the key; it belongs in its header and nowhere else."""
    if key is None:
        return
    name = "x-goog-api-key" if dialect == "gemini" else "authorization"
    found = asked.headers.get(name)
    if not found:
        raise WrongError("no_key", name)
    if found != (key if dialect == "gemini" else f"Bearer {key}"):
        raise WrongError("bad_key", found.removeprefix("Bearer "))
    if key in asked.path + asked.query or key.encode() in asked.body:
        raise WrongError("field", "key outside of its header")


def read_embeddings(dialect: DialectName, asked: Asked) -> Wanted:
    """Return what a request for embeddings asks for."""
    if asked.method != "POST":
        raise WrongError("path", asked.method)
    body = asked.json()
    if dialect == "gemini":
        return _read_gemini(asked.path, body)
    check_fields(body, MODEL_AND_INPUT, FIELDS[dialect])
    return Wanted(
        texts=body["input"],
        model=body["model"],
        kind=body.get("input_type") or "",
        dims=body.get("dimensions") or body.get("output_dimension"),
        base64=body.get("encoding_format") == "base64",
        cuts=body.get("truncation", body.get("truncate")),
    )


def _read_gemini(path: str, body: Any) -> Wanted:
    """Return what one of Google's two ways to ask is about."""
    model, _, verb = path.removeprefix("/v1beta/models/").rpartition(":")
    if verb == "embedContent":
        return read_gemini_text(body, model, single=True)
    check_fields(body, {"requests": lambda value: isinstance(value, list) and bool(value)}, {})
    parts = [read_gemini_text(request, model, where="requests.") for request in body["requests"]]
    if len({(part.kind, part.dims) for part in parts}) > 1:
        raise WrongError("field", "requests differ in taskType or outputDimensionality")
    return Wanted([part.texts[0] for part in parts], model, parts[0].kind, parts[0].dims)


def read_gemini_text(request: Any, model: str, *, where: str = "", single: bool = False) -> Wanted:
    """Return what one EmbedContentRequest asks for."""
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
    return Wanted([content["parts"][0]["text"]], model, kind, dims, single=single)


def check_size(dialect: DialectName, wanted: Wanted) -> int:
    """Return how many tokens a request has."""
    facts = FACTS[dialect]
    if len(wanted.texts) > facts.max_texts:
        raise WrongError("count", str(facts.max_texts))
    cuts = facts.cuts_long_texts if wanted.cuts is None else wanted.cuts
    for text in wanted.texts:
        if not text.strip() and dialect != "ollama":
            raise WrongError("text", "an empty text")
        if not cuts and token_count(text) > facts.max_text_tokens:
            raise WrongError("text", text)
    tokens = sum(min(token_count(text), facts.max_text_tokens) for text in wanted.texts)
    if tokens > facts.max_tokens:
        raise WrongError("tokens", str(tokens))
    return tokens


def render(
    dialect: DialectName, wanted: Wanted, rows: Rows, positions: Sequence[int], tokens: int
) -> dict[str, Any]:
    """Return a reply with vectors as the provider writes it."""
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
