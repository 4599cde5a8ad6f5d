"""Error replies of providers: class, requested pause, and safe text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from memd.embedding.redaction import Redactor
from memd.embedding.remote.endpoint import Endpoint
from memd_client.errors import (
    ProviderAuthError,
    ProviderFailedError,
    ProviderModelError,
    ProviderQuotaError,
    ProviderRateLimitedError,
    TextRefusedError,
)

_TRANSIENT_STATUSES: Final = frozenset({408, 409, 425})
"""Statuses below 500 that may pass without action."""

MAX_PAUSE_S: Final = 24 * 3600.0
"""The longest pause taken from a header."""

_NUMBER: Final = re.compile(r"\s*-?\d+(\.\d+)?\s*", re.ASCII)
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)s", re.ASCII)

MAX_ERROR_BYTES: Final = 64 * 1024
"""The part of an error body that is read."""

_CODE_KEYS: Final = ("code", "type", "status", "reason", "error_type")
_TEXT_KEYS: Final = ("message", "msg", "error", "detail", "details", "errors", "error_msg", *_CODE_KEYS)
_CODE: Final = re.compile(r"(?=.{1,48}$)[A-Za-z]+(?:[_-][A-Za-z0-9]+)*|[0-9]{1,6}")

_QUOTA_CODES: Final = (
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_balance",
    "insufficient_credits",
)
_MODEL_CODES: Final = ("model_not_found", "invalid_model", "unknown_model", "model_not_available")
_TEXT_CODES: Final = (
    "context_length_exceeded",
    "exceed_context_size_error",
    "max_tokens_per_request",
    "string_above_max_length",
    "array_above_max_length",
    "string_too_long",
    "string_too_short",
    "empty_string",
    "content_filter",
    "content_policy_violation",
)
_TOO_LONG: Final = re.compile(
    r"too (?:long|large|many (?:tokens|inputs))|context (?:length|size|window)|exceeds? the (?:max|context|limit)"
    r"|max(?:imum)? (?:allowed tokens|input|number of tokens|length)|token limit|must have less than"
    r"|batch size|requests can be in one batch|payload size"
    r"|reduce (?:your|the) (?:prompt|input|length)|lower the number of tokens"
)
_CERTAINLY_TOO_LONG: Final = re.compile(
    r"input (?:length exceeds|is too (?:large|long))|exceeds? the (?:available )?context|maximum context length"
)
"""For statuses of 500 and above: there, "too large" alone may also mean that the GPU is out of memory."""

_BAD_TEXT: Final = re.compile(
    r"input['\"]? is invalid|invalid ['\"]input|(?:input|text|content|string)[^.]{0,40}\bempty\b"
    r"|\bempty (?:input|text|string|content)|content (?:policy|filter|management)|safety"
)
_NO_MODEL: Final = re.compile(
    r"(?:invalid|unknown|unsupported|no such) model"
    r"|\bmodels?\b.{0,120}?(?:not found|does not exist|not exist|not supported|not available|isn't available)"
)
_INPUT: Final = re.compile(r"\$?\.?input\b(?!_)")


def error_for_reply(
    endpoint: Endpoint, url: str, status: int, headers: Mapping[str, str], body: bytes
) -> ProviderFailedError:
    """Return the error for a reply with a status other than 2xx."""
    error = read_error_body(body)
    summary = describe_reply(endpoint, status, error)
    if status == 402 or (status < 500 and error.is_quota_used_up()):
        return ProviderQuotaError(f"{summary}: the account has no credit or quota left")
    pause = retry_after_s(headers, error)
    if status == 429 or (status == 503 and pause is not None):
        named = "" if pause is None else f" of {pause:g} s"
        return ProviderRateLimitedError(
            f"{summary}: it asks for a pause{named}", data={} if pause is None else {"retry_after_s": pause}
        )
    if status < 500 and error.is_unknown_model(match_text=False):
        return _unknown_model_error(endpoint, summary)
    if status in (401, 403):
        return key_refused_error(summary)
    if status == 404:
        if error.is_unknown_model(match_text=True):
            return _unknown_model_error(endpoint, summary)
        return _no_embeddings_error(endpoint, summary, url)
    if status >= 500 and error.is_too_long(status):  # sent by Ollama and llama.cpp's server
        return _text_refused_error(summary)
    if status >= 500 or status in _TRANSIENT_STATUSES:
        return ProviderFailedError(summary, data={"transient": True})
    if 300 <= status < 400:
        return _redirect_error(endpoint, summary, headers)
    if status in (400, 413, 422):
        return _bad_request_error(endpoint, summary, status, error)
    if status == 405:
        return _no_embeddings_error(endpoint, summary, url)
    return ProviderFailedError(summary)


def describe_reply(endpoint: Endpoint, status: int, error: ErrorBody) -> str:
    """Return the start of an error message: provider, status and its first short code.

    A code that contains the key or a configured header is left out: some servers repeat what they received.
    """
    text = [code for code in error.codes if not code.isdigit()]
    numbers = [code for code in error.codes if code.isdigit() and code != str(status)]
    redactor = endpoint.redactor
    shown = next((code for code in text + numbers if not redactor.has_secret(code)), None)
    return f"{endpoint.provider} answered {status}" + (f" ({shown})" if shown else "")


def _text_refused_error(summary: str) -> TextRefusedError:
    return TextRefusedError(f"{summary}: it refuses the text")


def key_refused_error(summary: str) -> ProviderAuthError:
    """Return the error for a rejected key."""
    return ProviderAuthError(f"{summary}: it refuses the key")


def _unknown_model_error(endpoint: Endpoint, summary: str) -> ProviderModelError:
    return ProviderModelError(f"{summary}: it has no embedding model {endpoint.model!r} for this account")


def _bad_request_error(
    endpoint: Endpoint, summary: str, status: int, error: ErrorBody
) -> ProviderFailedError:
    """Return the error for the part of the request that was wrong."""
    if status == 413 or error.is_too_long(status):
        return _text_refused_error(summary)
    if error.mentions_dimensions() and endpoint.dims is not None:
        return ProviderFailedError(
            f"{summary}: the model {endpoint.model!r} can't return {endpoint.dims} dimensions",
            hint="correct or remove search.outputDimensionality",
        )
    if error.is_unknown_model(match_text=True):
        return _unknown_model_error(endpoint, summary)
    if error.is_bad_text():
        return _text_refused_error(summary)
    return ProviderFailedError(f"{summary}: it does not understand the request")


def _no_embeddings_error(endpoint: Endpoint, summary: str, url: str) -> ProviderFailedError:
    """Return the error for an address without an embeddings interface."""
    path = urlsplit(url).path
    if Redactor([endpoint.key.reveal()] if endpoint.key else []).has_secret(path):
        path = "this path"
    return ProviderFailedError(
        f"{summary}: there are no embeddings at {path}",
        hint="check endpoint.baseUrl: most end in /v1, and none in /embeddings",
    )


def _redirect_error(endpoint: Endpoint, summary: str, headers: Mapping[str, str]) -> ProviderFailedError:
    """Return the error for a redirect, which would carry the key elsewhere."""
    try:
        host = urlsplit(headers.get("location", "")).hostname
    except ValueError:
        host = None
    return ProviderFailedError(
        f"{summary}: it redirects the request" + (f" to {endpoint.redactor.clean(host)}" if host else ""),
        hint="set endpoint.baseUrl to the final address: redirects are not followed, since they would carry the key",
    )


# --- the error body --------------------------------------------------------------------------------


class ErrorBody(Struct, frozen=True):
    """A provider's error, parsed.

    `codes` are its short codes, safe to show. `text` is its free text in lower case: it may repeat the input or a part
    of the key, so it is matched and never shown. `details` are all its objects.
    """

    codes: tuple[str, ...] = ()
    text: str = ""
    details: tuple[Mapping[str, Any], ...] = ()

    def has_code(self, *codes: str) -> bool:
        """Return whether it has one of the codes; case doesn't matter."""
        return any(code.lower() in codes for code in self.codes)

    def is_quota_used_up(self) -> bool:
        """Return whether the account has no quota left."""
        return self.has_code(*_QUOTA_CODES)

    def is_too_long(self, status: int) -> bool:
        """Return whether a text, or all texts together, are too long."""
        pattern = _TOO_LONG if status < 500 else _CERTAINLY_TOO_LONG
        return self.has_code(*_TEXT_CODES) or pattern.search(self.text) is not None

    def is_bad_text(self) -> bool:
        """Return whether a text is empty, or against the provider's policy."""
        params = [str(detail.get("param")) for detail in self.details]
        return _BAD_TEXT.search(self.text) is not None or any(map(_INPUT.match, params))

    def is_unknown_model(self, *, match_text: bool) -> bool:
        """Return whether the model does not exist, by its codes, or also by its text."""
        return self.has_code(*_MODEL_CODES) or (match_text and _NO_MODEL.search(self.text) is not None)

    def mentions_dimensions(self) -> bool:
        """Return whether it mentions the vector size."""
        return "dimension" in self.text


def read_error_body(body: bytes) -> ErrorBody:
    """Return a parsed error body; not JSON gives `text`, a web page nothing."""
    start = body[:MAX_ERROR_BYTES]
    try:
        value = msgspec.json.decode(start)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = start.decode("utf-8", "replace").strip()
        return ErrorBody(text="" if text.startswith("<") else text[:2000].lower())
    details = tuple(_objects(value))
    codes: list[str] = []
    texts: list[str] = []
    for detail in details:
        named = [detail.get(key) for key in _CODE_KEYS]  # most specific first
        codes += [str(code) for code in named if isinstance(code, str | int) and _CODE.fullmatch(str(code))]
        for key, inner in detail.items():
            if key in _TEXT_KEYS:
                inner_texts = inner if isinstance(inner, list) else [inner]
                texts += [each for each in inner_texts if isinstance(each, str)]
    return ErrorBody(tuple(codes), " ".join(texts)[:20_000].lower(), details)


def _objects(value: object, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield an error's objects, outer first, without `input`, a copy of the text."""
    if depth > 6:
        return
    if isinstance(value, str) and value.startswith("{"):  # Ollama wraps the error of its runner like this
        try:
            value = msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return
    if isinstance(value, Mapping):
        yield value
        for key, inner in value.items():
            if key != "input":
                yield from _objects(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value[:100]:
            yield from _objects(inner, depth + 1)


# --- retry-after ----------------------------------------------------------------------------


def retry_after_s(headers: Mapping[str, str], error: ErrorBody) -> float | None:
    """Return the pause a reply asks for, in seconds."""
    named = [
        _seconds(headers.get("retry-after-ms"), 1000.0),
        _seconds(headers.get("retry-after"), 1.0),
        _until(headers.get("retry-after"), headers.get("date")),
        _google_retry_info(error),
    ]
    pause = next((seconds for seconds in named if seconds is not None), None)
    return None if pause is None else min(max(pause, 0.0), MAX_PAUSE_S)


def _seconds(text: str | None, divisor: float) -> float | None:
    """Return a header's number in seconds."""
    if text is None or not _NUMBER.fullmatch(text):
        return None
    return float(text) / divisor


def _until(text: str | None, date: str | None) -> float | None:
    """Return the seconds from the reply's date to the date of `retry-after`."""
    if text is None or date is None:
        return None
    from email.utils import parsedate_to_datetime  # a large module, and hardly any provider sends a date

    try:
        return (parsedate_to_datetime(text) - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError, OverflowError):  # not a date, or only one of them has a time zone
        return None


def _google_retry_info(error: ErrorBody) -> float | None:
    """Return the seconds of Google's RetryInfo."""
    delays = (detail.get("retryDelay") for detail in error.details)
    found = (_DURATION.fullmatch(delay) for delay in delays if isinstance(delay, str))
    return next((float(match[1]) for match in found if match), None)
