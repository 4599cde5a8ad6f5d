"""What a provider's error reply means: the class of the error, the pause it asks for, and what may be shown of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

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

_TRANSIENT: Final = frozenset({408, 409, 425})
"""Statuses below 500 that may pass without action."""

MAX_PAUSE_S: Final = 24 * 3600.0
"""The longest pause taken from a header."""

_NUMBER: Final = re.compile(r"\s*-?\d+(\.\d+)?\s*", re.ASCII)
_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?)s", re.ASCII)

MAX_ERROR_BYTES: Final = 64 * 1024
"""The part of an error body that is read."""

_CODE_KEYS: Final = ("code", "type", "status", "reason", "error_type")
_WORD_KEYS: Final = ("message", "msg", "error", "detail", "details", "errors", "error_msg", *_CODE_KEYS)
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
_SURELY_TOO_LONG: Final = re.compile(
    r"input (?:length exceeds|is too (?:large|long))|exceeds? the (?:available )?context|maximum context length"
)
"""Said with a status of 500 and above, where "too large" may also be what a card's memory has to hold."""

_BAD_TEXT: Final = re.compile(
    r"input['\"]? is invalid|invalid ['\"]input|(?:input|text|content|string)[^.]{0,40}\bempty\b"
    r"|\bempty (?:input|text|string|content)|content (?:policy|filter|management)|safety"
)
_NO_MODEL: Final = re.compile(
    r"(?:invalid|unknown|unsupported|no such) model"
    r"|\bmodels?\b.{0,120}?(?:not found|does not exist|not exist|not supported|not available|isn't available)"
)
_INPUT: Final = re.compile(r"\$?\.?input\b(?!_)")


def failure_of(
    endpoint: Endpoint, url: str, status: int, headers: Mapping[str, str], body: bytes
) -> ProviderFailedError:
    """Return what a reply of a status other than 2xx means at most providers."""
    error = read_error_body(body)
    answered = answer(endpoint, status, error)
    if status == 402 or (status < 500 and error.is_no_quota()):
        return ProviderQuotaError(f"{answered}: the account has no credit or quota left")
    pause = retry_after_s(headers, error)
    if status == 429 or (status == 503 and pause is not None):
        named = "" if pause is None else f" of {pause:g} s"
        return ProviderRateLimitedError(
            f"{answered}: it asks for a pause{named}", data={} if pause is None else {"retry_after_s": pause}
        )
    if status < 500 and error.is_no_model(by_words=False):
        return _unknown_model(endpoint, answered)
    if status in (401, 403):
        return refused_key(answered)
    if status == 404:
        if error.is_no_model(by_words=True):
            return _unknown_model(endpoint, answered)
        return _wrong_path(endpoint, answered, url)
    if status >= 500 and error.is_too_long(status):  # so Ollama and llama.cpp's server put it
        return _refused_text(answered)
    if status >= 500 or status in _TRANSIENT:
        return ProviderFailedError(answered, data={"transient": True})
    if 300 <= status < 400:
        return _moved(endpoint, answered, headers)
    if status in (400, 413, 422):
        return _bad_request(endpoint, answered, status, error)
    if status == 405:
        return _wrong_path(endpoint, answered, url)
    return ProviderFailedError(answered)


def answer(endpoint: Endpoint, status: int, error: ErrorBody) -> str:
    """Return the beginning of a message: provider, status and the provider's first short code.

    A code that shows the key or a configured header is left out: some servers repeat what they were given.
    """
    words = [code for code in error.codes if not code.isdigit()]
    numbers = [code for code in error.codes if code.isdigit() and code != str(status)]
    redactor = endpoint.redactor
    shown = next((code for code in words + numbers if not redactor.shows(code)), None)
    return f"{endpoint.provider} answered {status}" + (f" ({shown})" if shown else "")


def _refused_text(answered: str) -> TextRefusedError:
    return TextRefusedError(f"{answered}: it refuses the text")


def refused_key(answered: str) -> ProviderAuthError:
    """Return the error for a rejected key."""
    return ProviderAuthError(f"{answered}: it refuses the key")


def _unknown_model(endpoint: Endpoint, answered: str) -> ProviderModelError:
    return ProviderModelError(f"{answered}: it has no embedding model {endpoint.model!r} for this account")


def _bad_request(endpoint: Endpoint, answered: str, status: int, error: ErrorBody) -> ProviderFailedError:
    """Return which part of a request was wrong."""
    if status == 413 or error.is_too_long(status):
        return _refused_text(answered)
    if error.is_dimensions() and endpoint.dims is not None:
        return ProviderFailedError(
            f"{answered}: the model {endpoint.model!r} can't return {endpoint.dims} dimensions",
            hint="Correct or remove search.outputDimensionality.",
        )
    if error.is_no_model(by_words=True):
        return _unknown_model(endpoint, answered)
    if error.is_bad_text():
        return _refused_text(answered)
    return ProviderFailedError(f"{answered}: it does not understand the request")


def _wrong_path(endpoint: Endpoint, answered: str, url: str) -> ProviderFailedError:
    """Return the error for an address with no embeddings behind it."""
    path = urlsplit(url).path
    if Redactor([endpoint.key.reveal()] if endpoint.key else []).shows(path):
        path = "this path"
    return ProviderFailedError(
        f"{answered}: there are no embeddings at {path}",
        hint="Check remote.baseUrl: most end in /v1, and none in /embeddings.",
    )


def _moved(endpoint: Endpoint, answered: str, headers: Mapping[str, str]) -> ProviderFailedError:
    """Return the error for a redirect, which is never followed: the key would go along."""
    try:
        host = urlsplit(headers.get("location", "")).hostname
    except ValueError:
        host = None
    return ProviderFailedError(
        f"{answered}: it sends the request on" + (f" to {endpoint.redactor.clean(host)}" if host else ""),
        hint="Set remote.baseUrl to the address it ends at: with a key no redirect is followed.",
    )


# --- the error body --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """A provider's error, parsed.

    `codes` are its short codes, fit for a message. `words` is its free text in lower case: it may repeat the
    input or a part of the key, so it is matched and never shown. `facts` are the structured details.
    """

    codes: tuple[str, ...] = ()
    words: str = ""
    facts: tuple[Mapping[str, Any], ...] = ()

    def has_code(self, *codes: str) -> bool:
        """Return whether it has one of the codes, in any case."""
        return any(code.lower() in codes for code in self.codes)

    def is_no_quota(self) -> bool:
        """Return whether the account has no quota left."""
        return self.has_code(*_QUOTA_CODES)

    def is_too_long(self, status: int) -> bool:
        """Return whether a text, or all texts together, were too long."""
        said = _TOO_LONG if status < 500 else _SURELY_TOO_LONG
        return self.has_code(*_TEXT_CODES) or said.search(self.words) is not None

    def is_bad_text(self) -> bool:
        """Return whether a text is empty, or against the provider's policy."""
        params = [str(fact.get("param")) for fact in self.facts]
        return _BAD_TEXT.search(self.words) is not None or any(map(_INPUT.match, params))

    def is_no_model(self, *, by_words: bool) -> bool:
        """Return whether the model does not exist: by a code alone, or by the words, too."""
        return self.has_code(*_MODEL_CODES) or (by_words and _NO_MODEL.search(self.words) is not None)

    def is_dimensions(self) -> bool:
        """Return whether it mentions the vector size."""
        return "dimension" in self.words


def read_error_body(body: bytes) -> ErrorBody:
    """Return a parsed error body; one that is not JSON has words alone, a web page nothing."""
    start = body[:MAX_ERROR_BYTES]
    try:
        value = msgspec.json.decode(start)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = start.decode("utf-8", "replace").strip()
        return ErrorBody(words="" if text.startswith("<") else text[:2000].lower())
    facts = tuple(_objects(value))
    codes: list[str] = []
    words: list[str] = []
    for fact in facts:
        named = [fact.get(key) for key in _CODE_KEYS]  # the most exact one first
        codes += [str(code) for code in named if isinstance(code, str | int) and _CODE.fullmatch(str(code))]
        for key, inner in fact.items():
            if key in _WORD_KEYS:
                texts = inner if isinstance(inner, list) else [inner]
                words += [text for text in texts if isinstance(text, str)]
    return ErrorBody(tuple(codes), " ".join(words)[:20_000].lower(), facts)


def _objects(value: object, depth: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield an error's objects from the outside in, except those under `input`, which repeat what was sent."""
    if depth > 6:
        return
    if isinstance(value, str) and value.startswith("{"):  # Ollama wraps its runner's own error like this
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


# --- the pause it asks for ----------------------------------------------------------------------------


def retry_after_s(headers: Mapping[str, str], error: ErrorBody) -> float | None:
    """Return the pause a reply asks for, in seconds."""
    named = [
        _seconds(headers.get("retry-after-ms"), 1000.0),
        _seconds(headers.get("retry-after"), 1.0),
        _until(headers.get("retry-after"), headers.get("date")),
        _retry_info(error),
    ]
    pause = next((seconds for seconds in named if seconds is not None), None)
    return None if pause is None else min(max(pause, 0.0), MAX_PAUSE_S)


def _seconds(text: str | None, divisor: float) -> float | None:
    """Return a header's number in seconds."""
    if text is None or not _NUMBER.fullmatch(text):
        return None
    return float(text) / divisor


def _until(text: str | None, date: str | None) -> float | None:
    """Return the seconds from the reply's date to the one it names."""
    if text is None or date is None:
        return None
    from email.utils import parsedate_to_datetime  # large, and hardly a provider names a date

    try:
        return (parsedate_to_datetime(text) - parsedate_to_datetime(date)).total_seconds()
    except (ValueError, TypeError, OverflowError):  # no date, or one with a zone and one without
        return None


def _retry_info(error: ErrorBody) -> float | None:
    """Return the seconds of Google's RetryInfo."""
    delays = (fact.get("retryDelay") for fact in error.facts)
    found = (_DURATION.fullmatch(delay) for delay in delays if isinstance(delay, str))
    return next((float(match[1]) for match in found if match), None)
