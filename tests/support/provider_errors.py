"""Error responses of providers: status, headers and body of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

DialectName = Literal["openai", "gemini", "voyage", "mistral", "ollama", "compatible"]

ErrorReason = Literal[
    "no_key",
    "bad_key",
    "forbidden",
    "model",
    "rate",
    "quota",
    "server",
    "busy",
    "text",
    "field",
    "count",
    "tokens",
    "path",
]
"""Reasons of errors. `text`: one text is refused; `field`: invalid request; `count`, `tokens`: too large."""

STATUS: dict[ErrorReason, int] = {
    "no_key": 401,
    "bad_key": 401,
    "forbidden": 403,
    "model": 404,
    "rate": 429,
    "quota": 429,
    "server": 500,
    "busy": 503,
    "text": 400,
    "field": 400,
    "count": 400,
    "tokens": 400,
    "path": 404,
}


@dataclass(frozen=True)
class ProviderReply:
    """A response: status, additional headers, and body."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def json_reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> ProviderReply:
    """Return a reply of JSON."""
    return ProviderReply(
        status, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})}
    )


def refusal(
    dialect: DialectName, why: ErrorReason, detail: str = "", retry_after: float | str | None = None
) -> ProviderReply:
    """Return an error in the provider's words."""
    headers: dict[str, str] = {}
    if retry_after is not None and dialect != "gemini":
        headers["Retry-After"] = retry_after if isinstance(retry_after, str) else f"{retry_after:g}"
    if dialect == "gemini":
        return _gemini(why, detail, retry_after)
    if dialect == "voyage":
        return json_reply({"detail": _voyage(why, detail)}, _VOYAGE_STATUS.get(why, STATUS[why]), headers)
    if dialect == "mistral":
        return _mistral(why, detail, headers)
    if dialect == "ollama":
        return _ollama(why, detail, headers)
    if why == "bad_key" and dialect == "openai":
        detail = f"{detail[:8]}***"  # other servers with this interface, such as proxies, repeat all of it
    return json_reply({"error": _openai(why, detail)}, STATUS[why], headers)


def _openai(why: ErrorReason, detail: str) -> dict[str, Any]:
    message, kind, code = {
        "no_key": ("You didn't provide an API key.", "invalid_request_error", None),
        "bad_key": (
            f"Incorrect API key provided: {detail}. You can find your API key in your account.",
            "invalid_request_error",
            "invalid_api_key",
        ),
        "forbidden": (
            "Country, region, or territory not supported",
            "request_forbidden",
            "unsupported_country_region_territory",
        ),
        "model": (
            f"The model `{detail}` does not exist or you do not have access to it.",
            "invalid_request_error",
            "model_not_found",
        ),
        "rate": (
            "Rate limit reached on tokens per min (TPM): Limit 1000000. Please try again in 40s.",
            "tokens",
            "rate_limit_exceeded",
        ),
        "quota": (
            "You exceeded your current quota, please check your plan and billing details.",
            "insufficient_quota",
            "insufficient_quota",
        ),
        "server": ("The server had an error while processing your request.", "server_error", None),
        "busy": ("The engine is currently overloaded, please try again later", "server_error", None),
        "text": (
            f"Invalid 'input[0]': maximum context length is 8192 tokens. Got: {detail}",
            "invalid_request_error",
            None,
        ),
        "field": (f"Unrecognized or invalid request argument: {detail}", "invalid_request_error", None),
        "count": (f"'$.input' is too long. Maximum length is {detail}.", "invalid_request_error", None),
        "tokens": (
            "Requested more tokens than the maximum 300000 tokens per request",
            "max_tokens_per_request",
            "max_tokens_per_request",
        ),
        "path": (f"Invalid URL ({detail})", "invalid_request_error", None),
    }[why]
    return {"message": message, "type": kind, "param": None, "code": code}


_GEMINI: dict[ErrorReason, tuple[int, str, str]] = {
    "no_key": (403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers."),
    "bad_key": (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    "forbidden": (
        403,
        "PERMISSION_DENIED",
        "Your API key was reported as leaked. Please use another API key.",
    ),
    "model": (404, "NOT_FOUND", "models/{} is not found for API version v1beta, or is not supported."),
    "rate": (429, "RESOURCE_EXHAUSTED", "You exceeded your current quota. Please retry in a moment."),
    "quota": (
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing.",
    ),
    "server": (500, "INTERNAL", "An internal error has occurred. Please retry."),
    "busy": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "text": (400, "INVALID_ARGUMENT", "The input token count exceeds the maximum number allowed (2048): {}"),
    "field": (400, "INVALID_ARGUMENT", 'Invalid JSON payload received. Unknown name or value "{}"'),
    "count": (
        400,
        "INVALID_ARGUMENT",
        "* BatchEmbedContentsRequest.requests: at most {} requests can be in one batch",
    ),
    "tokens": (400, "INVALID_ARGUMENT", "Request payload size exceeds the limit"),
    "path": (404, "NOT_FOUND", "Requested entity was not found."),
}


def _gemini(why: ErrorReason, detail: str, retry_after: float | str | None) -> ProviderReply:
    status, name, message = _GEMINI[why]
    details: list[dict[str, Any]] = []
    if why == "bad_key":
        reason = {"reason": "API_KEY_INVALID", "domain": "googleapis.com", "metadata": {}}
        details.append({"@type": "type.googleapis.com/google.rpc.ErrorInfo", **reason})
    if why in ("rate", "quota"):
        span = "PerDay" if why == "quota" else "PerMinute"
        violation = {
            "quotaMetric": "generativelanguage.googleapis.com/embed_content_free_tier_requests",
            "quotaId": f"EmbedContentRequests{span}PerUserPerProjectPerModel-FreeTier",
        }
        details.append({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]})
    if retry_after is not None:
        pause = retry_after if isinstance(retry_after, str) else f"{retry_after:g}s"
        details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": pause})
    error: dict[str, Any] = {"code": status, "message": message.format(detail), "status": name}
    return json_reply({"error": error | ({"details": details} if details else {})}, status)


_VOYAGE_STATUS: dict[ErrorReason, int] = {"model": 400, "quota": 402}


def _voyage(why: ErrorReason, detail: str) -> str:
    return {
        "no_key": "You must provide an API key.",
        "bad_key": "Provided API key is invalid.",
        "forbidden": "Your IP address is not allowed to use this API key.",
        "model": f"Model {detail} is not supported. Supported models are ['voyage-4-large', 'voyage-4'].",
        "rate": "Your request exceeded the rate limit of your account.",
        "quota": "Your account has no credit left. Add a payment method in the billing page.",
        "server": "Internal server error.",
        "busy": "The server is overloaded. Please try again later.",
        "text": "The example at index 0 in your batch has too many tokens and does not fit into the model's context "
        f"window of 32000 tokens: {detail}",
        "field": f"Argument '{detail}' is not supported by our API.",
        "count": f"The batch size limit is {detail}. Please reduce your batch size.",
        "tokens": "The max allowed tokens per submitted batch is 120000. Please lower the number of tokens.",
        "path": "Not Found",
    }[why]


_MISTRAL: dict[ErrorReason, tuple[int, str, str, str]] = {
    "rate": (429, "Requests rate limit exceeded", "rate_limited", "1300"),
    "quota": (402, "Your account has no active payment method.", "payment_required", "1400"),
    "model": (400, "Invalid model: {}", "invalid_model", "1500"),
    "server": (500, "Service unavailable.", "internal_server_error", "1000"),
    "busy": (503, "Service unavailable.", "unavailable", "1001"),
    "text": (
        400,
        "Input id 0 has too many tokens, exceeding max 8192 tokens: {}",
        "invalid_request_prompt",
        "3210",
    ),
    "count": (400, "Too many inputs in request, split into more batches.", "invalid_request_prompt", "3210"),
    "tokens": (400, "Too many tokens overall, split into more batches.", "invalid_request_prompt", "3210"),
}


def _mistral(why: ErrorReason, detail: str, headers: dict[str, str]) -> ProviderReply:
    if why in ("no_key", "bad_key"):
        return json_reply({"detail": "Unauthorized"}, 401, headers)
    if why == "forbidden":
        return json_reply({"message": "Forbidden", "request_id": "0"}, 403, headers)
    if why == "path":
        return json_reply({"message": "no Route matched with those values", "request_id": "0"}, 404, headers)
    if why == "field":
        slip = {"type": "extra_forbidden", "loc": ["body", detail], "msg": "Extra inputs are not permitted"}
        return json_reply({"detail": [{**slip, "input": detail}]}, 422, headers)
    status, message, kind, code = _MISTRAL[why]
    error = {"object": "error", "message": message.format(detail), "type": kind, "param": None, "code": code}
    return json_reply(error, status, headers)


def _ollama(why: ErrorReason, detail: str, headers: dict[str, str]) -> ProviderReply:
    if why == "forbidden":  # a foreign origin is refused without a message
        return ProviderReply(403, b"")
    if why == "path":
        return ProviderReply(404, b"404 page not found", {"Content-Type": "text/plain"})
    message = {
        "no_key": "unauthorized",
        "bad_key": "unauthorized",
        "model": f'model "{detail}" not found, try pulling it first',
        "rate": "too many requests",
        "quota": "you have reached your hourly usage limit, upgrade for higher limits",
        "server": "llama runner process has terminated: exit status 2",
        "busy": "server busy, please try again.  maximum pending requests exceeded",
        "text": "the input length exceeds the context length",
        "field": f"json: cannot unmarshal {detail}",
        "count": "invalid input type",
        "tokens": "the input length exceeds the context length",
    }[why]
    return json_reply({"error": message}, STATUS[why], headers)
