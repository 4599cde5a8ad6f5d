"""Tests of provider errors: their classes, pauses, and secrecy."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.embedding.remote.failures import read_error_body, retry_after_s
from memd.embedding.remote.providers.table import APIS
from memd_client.errors import (
    ProviderAuthError,
    ProviderFailedError,
    ProviderModelError,
    ProviderQuotaError,
    ProviderRateLimitedError,
    TextRefusedError,
)
from tests.support.remote_fixture import SECRET_KEY, adapter

TEXT = "the diary of a person who wants nobody to read it"


def failure(
    name: str, status: int, body: object, headers: dict[str, str] | None = None, **fields: Any
) -> ProviderFailedError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return adapter(name, **fields).failure(status, headers or {}, raw)


def openai(message: str, kind: str, code: str | None, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def google(code: int, status: str, message: str = "", *details: dict[str, Any]) -> dict[str, Any]:
    error: dict[str, Any] = {"code": code, "message": message, "status": status}
    return {"error": error | ({"details": list(details)} if details else {})}


def quota(span: str) -> dict[str, Any]:
    violation = {"quotaId": f"EmbedContentRequests{span}PerProjectPerModel-FreeTier", "quotaValue": "100"}
    return {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "59.698s"}
BAD_KEY = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}


def mistral(message: str, kind: str, code: str) -> dict[str, Any]:
    return {"object": "error", "message": message, "type": kind, "param": None, "code": code}


def llama_server(code: int, message: str, kind: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message, "type": kind}}


KNOWN_ERRORS: list[tuple[str, int, object, type[ProviderFailedError]]] = [
    # the key
    ("openai", 401, openai(f"Incorrect API key provided: {SECRET_KEY[:8]}***mn.", "invalid_request_error",
                           "invalid_api_key"), ProviderAuthError),
    ("openai", 403, openai("Country not supported", "request_forbidden", None), ProviderAuthError),
    ("gemini", 400, google(400, "INVALID_ARGUMENT", "API key not valid.", BAD_KEY), ProviderAuthError),
    ("gemini", 403, google(403, "PERMISSION_DENIED", "Method doesn't allow unregistered callers."),
     ProviderAuthError),
    ("voyage", 401, {"detail": "Provided API key is invalid."}, ProviderAuthError),
    ("mistral", 401, {"detail": "Unauthorized"}, ProviderAuthError),
    ("mistral", 401, {"message": "Unauthorized", "request_id": "1"}, ProviderAuthError),
    ("ollama", 401, {"error": "unauthorized"}, ProviderAuthError),
    ("ollama", 403, b"", ProviderAuthError),
    ("compatible", 401, {"error": "Malformed API key"}, ProviderAuthError),
    ("compatible", 403, b"<html>Cloudflare</html>", ProviderAuthError),
    # the quota
    ("openai", 429, openai("You exceeded your current quota.", "insufficient_quota", "insufficient_quota"),
     ProviderQuotaError),
    ("openai", 429, openai("You exceeded your current quota.", "insufficient_quota", None), ProviderQuotaError),
    ("openai", 400, openai("Billing hard limit has been reached", "invalid_request_error",
                           "billing_hard_limit_reached"), ProviderQuotaError),
    ("openai", 429, openai("Your account is not active.", "billing_not_active", "billing_not_active"),
     ProviderQuotaError),
    ("gemini", 429, google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", quota("PerDay"), RETRY),
     ProviderQuotaError),
    ("voyage", 402, {"detail": "Add a payment method."}, ProviderQuotaError),
    ("mistral", 402, mistral("No active subscription", "payment_required", "1400"), ProviderQuotaError),
    ("compatible", 402, {"error": {"message": "Insufficient credits", "code": 402}}, ProviderQuotaError),
    # rate limits
    ("openai", 429, openai("Rate limit reached on requests per min.", "requests", "rate_limit_exceeded"),
     ProviderRateLimitedError),
    ("gemini", 429, google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota.", quota("PerMinute"),
                           RETRY), ProviderRateLimitedError),
    ("gemini", 429, google(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
     ProviderRateLimitedError),
    ("gemini", 429, [google(429, "RESOURCE_EXHAUSTED")], ProviderRateLimitedError),
    ("voyage", 429, {"detail": "You have exceeded the rate limit."}, ProviderRateLimitedError),
    ("mistral", 429, mistral("Requests rate limit exceeded", "rate_limited", "1300"), ProviderRateLimitedError),
    ("ollama", 429, {"error": "too many concurrent requests"}, ProviderRateLimitedError),
    ("compatible", 429, {"error": "Model is overloaded", "error_type": "overloaded"}, ProviderRateLimitedError),
    ("compatible", 429, b"slow down", ProviderRateLimitedError),
    # the model
    ("openai", 404, openai("The model `a-model` does not exist or you do not have access to it.",
                           "invalid_request_error", "model_not_found"), ProviderModelError),
    ("openai", 403, openai("Project `proj_1` does not have access to model `a-model`", "invalid_request_error",
                           "model_not_found"), ProviderModelError),
    ("gemini", 404, google(404, "NOT_FOUND", "models/a-model is not found for API version v1beta, or is not "
                           "supported for embedContent."), ProviderModelError),
    ("voyage", 400, {"detail": "Model a-model is not supported. Supported models are ['voyage-4-large']."},
     ProviderModelError),
    ("mistral", 400, mistral("Invalid model: a-model", "invalid_model", "1500"), ProviderModelError),
    ("ollama", 404, {"error": 'model "a-model" not found, try pulling it first'}, ProviderModelError),
    ("ollama", 404, {"error": "model 'a-model' not found"}, ProviderModelError),
    ("compatible", 404, {"object": "error", "message": "The model `a-model` does not exist.",
                         "type": "NotFoundError", "param": None, "code": 404}, ProviderModelError),
    # the text
    ("openai", 400, openai("This model's maximum context length is 8192 tokens, however you requested 9000.",
                           "invalid_request_error", None), TextRefusedError),
    ("openai", 400, openai("Invalid 'input[0]': maximum input length is 8192 tokens.", "invalid_request_error",
                           None), TextRefusedError),
    ("openai", 400, openai("'$.input' is invalid. Please check the API reference.", "invalid_request_error",
                           None), TextRefusedError),
    ("openai", 400, openai("Something about it.", "invalid_request_error", None, "input[3]"), TextRefusedError),
    ("openai", 400, openai("Requested 300001 tokens, max 300000 tokens per request",
                           "max_tokens_per_request", "max_tokens_per_request"), TextRefusedError),
    ("gemini", 400, google(400, "INVALID_ARGUMENT", "The input token count (3000) exceeds the maximum number of "
                           "tokens allowed (2048)."), TextRefusedError),
    ("gemini", 400, google(400, "INVALID_ARGUMENT", "* BatchEmbedContentsRequest.requests: at most 100 requests "
                           "can be in one batch"), TextRefusedError),
    ("gemini", 400, google(400, "INVALID_ARGUMENT", "Text content is empty"), TextRefusedError),
    ("voyage", 400, {"detail": "Request to model 'a-model' failed. The max allowed tokens per submitted batch is "
                     "120000. Your batch has 124302 tokens after truncation. Please lower the number of tokens."},
     TextRefusedError),
    ("voyage", 400, {"detail": "Input cannot contain empty strings or empty lists"}, TextRefusedError),
    ("mistral", 400, mistral("Too many tokens in batch. Max is 16384 got 17555", "invalid_request_error", "1"),
     TextRefusedError),
    ("mistral", 400, mistral("Too many inputs in request, split into more batches.", "invalid_request_prompt",
                             "3210"), TextRefusedError),
    ("mistral", 422, {"detail": [{"type": "string_too_short", "loc": ["body", "input"], "msg": "String should "
                                  "have at least 1 character", "input": ""}]}, TextRefusedError),
    ("ollama", 400, {"error": "the input length exceeds the context length"}, TextRefusedError),
    ("ollama", 500, {"error": "the input length exceeds the context length"}, TextRefusedError),
    ("ollama", 400, {"error": "input length exceeds maximum context length"}, TextRefusedError),
    ("ollama", 400, {"error": json.dumps(llama_server(400, "request (2622) is too big",
                                                      "exceed_context_size_error"))}, TextRefusedError),
    ("compatible", 413, {"error": "Input validation error: `inputs` must have less than 512 tokens. Given: 600",
                         "error_type": "Validation"}, TextRefusedError),
    ("compatible", 413, b"<html>Request Entity Too Large</html>", TextRefusedError),
    ("compatible", 400, {"object": "error", "message": "This model's maximum context length is 512 tokens.",
                         "type": "BadRequestError", "code": 400}, TextRefusedError),
    ("compatible", 500, llama_server(500, "input is too large to process. increase the physical batch size",
                                     "server_error"), TextRefusedError),
    ("compatible", 400, openai("The response was filtered.", "invalid_request_error", "content_filter"),
     TextRefusedError),
]  # fmt: skip


@pytest.mark.parametrize(("name", "status", "body", "kind"), KNOWN_ERRORS)
def test_known_error_has_the_right_class(
    name: str, status: int, body: object, kind: type[ProviderFailedError]
) -> None:
    error = failure(name, status, body)
    assert type(error) is kind, error.message
    assert error.message.startswith(f"{name} answered {status}")
    assert "transient" not in error.data


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize("status", [408, 409, 425, 500, 502, 503, 504, 520, 529])
def test_transient_errors_are_marked(name: str, status: int) -> None:
    for body in (
        b"",
        b"<html>Bad Gateway</html>",
        b"upstream connect error",
        {"error": "batch too large: CUDA out of memory"},
    ):
        error = failure(name, status, body)
        assert type(error) is ProviderFailedError
        assert error.data == {"transient": True}


@pytest.mark.parametrize("name", APIS)
def test_invalid_request_is_neither_transient_nor_a_refused_text(name: str) -> None:
    for status, body in [
        (400, openai("Unrecognized request argument supplied: truncate", "invalid_request_error", None)),
        (400, google(400, "INVALID_ARGUMENT", 'Invalid JSON payload received. Unknown name "x"')),
        (400, google(400, "FAILED_PRECONDITION", "User location is not supported for the API use.")),
        (400, {"detail": "Argument 'x' is not supported by our API."}),
        (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "x"], "msg": "Extra inputs"}]}),
        (400, {"error": "invalid input type"}),
        (400, b""),
        (418, b"teapot"),
    ]:
        error = failure(name, status, body)
        assert type(error) is ProviderFailedError, (body, error.message)
        assert error.data == {}


def test_unsupported_dimensions_are_named_with_a_hint() -> None:
    body = openai("This model does not support specifying dimensions.", "invalid_request_error", None)
    error = failure("openai", 400, body, dims=300)
    assert type(error) is ProviderFailedError
    assert "300 dimensions" in error.message
    assert "outputDimensionality" in error.hint


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize("status", [404, 405])
def test_wrong_address_is_named_by_its_path(name: str, status: int) -> None:
    for body in (
        b"404 page not found",
        b"<html>no model here, not found</html>",
        {"detail": "Not Found"},
        b"",
    ):
        error = failure(name, status, body, base_url="http://user:s3cret@host.test/deep/v1")
        assert type(error) is ProviderFailedError
        assert "/deep" in error.message
        assert "s3cret" not in error.message
        assert "endpoint.baseUrl" in error.hint
        assert error.data == {}


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_error_names_the_host_and_a_hint(status: int) -> None:
    error = failure("compatible", status, b"", {"location": "https://user:s3cret@other.test/v1?token=s3cret"})
    assert type(error) is ProviderFailedError
    assert "other.test" in error.message
    assert "s3cret" not in error.message
    assert "endpoint.baseUrl" in error.hint
    assert failure("compatible", status, b"", {"location": "http://[::1"}).data == {}


# --- pauses -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "pause"),
    [
        ({"retry-after": "40"}, 40.0),
        ({"retry-after": " 1.5 "}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "9" * 400}, 86400.0),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        (
            {"retry-after": "Wed, 21 Oct 2026 07:28:40 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"},
            40.0,
        ),
        (
            {"retry-after": "Wed, 21 Oct 2026 07:27:00 GMT", "date": "Wed, 21 Oct 2026 07:28:00 GMT"},
            0.0,
        ),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:40 GMT"}, None),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:40 -0000", "date": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
        ({"retry-after": "soon", "date": "today"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_pause_is_read_from_headers(headers: dict[str, str], pause: float | None) -> None:
    assert retry_after_s(headers, read_error_body(b"")) == pause


def test_pause_is_read_from_googles_body() -> None:
    body = json.dumps(google(429, "RESOURCE_EXHAUSTED", "", quota("PerMinute"), RETRY)).encode()
    assert retry_after_s({}, read_error_body(body)) == 59.698
    assert retry_after_s({"retry-after": "2"}, read_error_body(body)) == 2
    assert retry_after_s({}, read_error_body(b'{"error":{"details":[{"retryDelay":"soon"}]}}')) is None
    assert retry_after_s({}, read_error_body(b'{"retryDelay": 3')) is None


@pytest.mark.parametrize("name", APIS)
def test_named_pause_is_in_the_error(name: str) -> None:
    error = failure(name, 429, b"", {"retry-after": "40"})
    assert type(error) is ProviderRateLimitedError
    assert error.data == {"retry_after_s": 40.0}
    assert "40 s" in error.message
    assert failure(name, 429, b"").data == {}


@pytest.mark.parametrize("name", APIS)
def test_busy_provider_with_retry_after_is_rate_limited(name: str) -> None:
    error = failure(name, 503, b"", {"retry-after": "7"})
    assert type(error) is ProviderRateLimitedError
    assert error.data == {"retry_after_s": 7.0}


def test_pause_in_googles_body_is_in_the_error() -> None:
    body = google(429, "RESOURCE_EXHAUSTED", "", quota("PerMinute"), RETRY)
    assert failure("gemini", 429, body).data == {"retry_after_s": 59.698}


@given(st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms", "date"]), st.text()), st.binary())
def test_any_headers_and_body_name_a_pause_of_at_most_a_day_or_none(
    headers: dict[str, str], body: bytes
) -> None:
    pause = retry_after_s(headers, read_error_body(body))
    assert pause is None or 0 <= pause <= 86400


# --- secrecy ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", APIS)
@pytest.mark.parametrize("status", [302, 400, 401, 402, 403, 404, 413, 422, 429, 500, 503])
def test_error_contains_no_key_or_text_that_the_provider_repeats(name: str, status: int) -> None:
    for body in (
        f"{SECRET_KEY} {TEXT}".encode(),
        openai(f"{TEXT}: {SECRET_KEY}", SECRET_KEY, SECRET_KEY, TEXT),
        openai(SECRET_KEY[8:], SECRET_KEY[8:], SECRET_KEY[8:], SECRET_KEY[8:]),
        {"detail": [{"msg": TEXT, "type": TEXT, "input": TEXT, "ctx": {"reason": SECRET_KEY}}]},
        {"error": SECRET_KEY},
        google(
            status,
            SECRET_KEY,
            TEXT,
            {"reason": SECRET_KEY, "quotaId": f"PerDay{SECRET_KEY}", "retryDelay": SECRET_KEY},
        ),
    ):
        error = failure(
            name, status, body, {"location": f"http://h.test/{SECRET_KEY}", "retry-after": SECRET_KEY}
        )
        said = f"{error.message} {error.hint} {error.data} {error!r} {error.to_wire()}"
        assert SECRET_KEY not in said
        assert SECRET_KEY[8:] not in said
        assert TEXT not in said


def test_short_code_of_the_provider_is_shown() -> None:
    body = openai("x", "requests", "rate_limit_exceeded")
    assert "(rate_limit_exceeded)" in failure("openai", 429, body).message
    assert "(API_KEY_INVALID)" not in failure("gemini", 400, google(400, "INVALID_ARGUMENT")).message
    assert "(INVALID_ARGUMENT)" in failure("gemini", 400, google(400, "INVALID_ARGUMENT")).message
    assert failure("mistral", 429, mistral("x", "", "1300")).message.startswith("mistral answered 429 (1300)")
    assert failure("openai", 500, openai("x", "a sentence is no code", None)).message == "openai answered 500"


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text() | st.just(SECRET_KEY),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.sampled_from(["error", "code", "type", "message", "detail", "details", "status",
                                       "reason", "retryDelay", "quotaId", "param", "input"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(
    st.sampled_from(sorted(APIS)),
    st.one_of(st.sampled_from([400, 401, 403, 404, 413, 422, 429, 500, 503]), st.integers(300, 599)),
    st.one_of(st.binary(), json_values.map(lambda value: json.dumps(value).encode())),
)
def test_any_reply_becomes_a_provider_error_without_the_key(name: str, status: int, body: bytes) -> None:
    error = failure(name, status, body)
    assert isinstance(error, ProviderFailedError)
    assert error.message.startswith(f"{name} answered {status}")
    assert SECRET_KEY not in error.message + error.hint + str(error.data)


def test_deep_and_huge_error_bodies_are_read_partially() -> None:
    assert type(failure("openai", 400, b"[" * 100_000)) is ProviderFailedError
    assert type(failure("openai", 500, b'{"error":"' + b"x" * 50_000_000)) is ProviderFailedError
