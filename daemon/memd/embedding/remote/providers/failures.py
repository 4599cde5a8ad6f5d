"""What a provider's error reply means: which error of ours it is, and whether it may pass by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from memd.embedding.redaction import Redactor
from memd.embedding.remote.providers.api import Endpoint
from memd.embedding.remote.providers.pauses import retry_after_s as retry_after_s
from memd.embedding.remote.providers.problems import Problem, read_problem
from memd_client.errors import (
    ProviderAuthError,
    ProviderFailedError,
    ProviderModelError,
    ProviderQuotaError,
    ProviderRateLimitedError,
    TextRefusedError,
)

TRANSIENT: Final = frozenset({408, 409, 425})
"""Of the statuses below 500 those that may pass by themselves."""


def failure_of(
    endpoint: Endpoint, url: str, status: int, headers: Mapping[str, str], body: bytes
) -> ProviderFailedError:
    """Return what a reply of a status other than 2xx means, as most providers put it."""
    problem = read_problem(body)
    answered = answer(endpoint, status, problem)
    if status == 402 or (status < 500 and problem.is_no_quota()):
        return ProviderQuotaError(f"{answered}: the account has no credit or quota left")
    pause = retry_after_s(headers, body)
    if status == 429 or (status == 503 and pause is not None):
        return rate_limited(answered, pause)
    if status < 500 and problem.is_no_model(by_words=False):
        return unknown_model(endpoint, answered)
    if status in (401, 403):
        return refused_key(answered)
    if status == 404:
        if problem.is_no_model(by_words=True):
            return unknown_model(endpoint, answered)
        return _wrong_path(endpoint, answered, url)
    if status >= 500 and problem.is_too_long(status):  # so Ollama and llama.cpp's server put it
        return refused_text(answered)
    if status >= 500 or status in TRANSIENT:
        return ProviderFailedError(answered, data={"transient": True})
    if 300 <= status < 400:
        return _moved(endpoint, answered, headers)
    if status in (400, 413, 422):
        return _bad_request(endpoint, answered, status, problem)
    if status == 405:
        return _wrong_path(endpoint, answered, url)
    return ProviderFailedError(answered)


def answer(endpoint: Endpoint, status: int, problem: Problem) -> str:
    """Return the beginning of a message: who answered what, with the provider's first word of a code.

    A code that shows the key or a configured header is left out: some servers repeat what they were given.
    """
    words = [code for code in problem.codes if not code.isdigit()]
    numbers = [code for code in problem.codes if code.isdigit() and code != str(status)]
    redactor = endpoint.redactor
    shown = next((code for code in words + numbers if not redactor.shows(code)), None)
    return f"{endpoint.provider} answered {status}" + (f" ({shown})" if shown else "")


def refused_text(answered: str) -> TextRefusedError:
    """Return the error for a text that isn't taken."""
    return TextRefusedError(f"{answered}: it refuses the text")


def refused_key(answered: str) -> ProviderAuthError:
    """Return the error for a key that isn't taken."""
    return ProviderAuthError(f"{answered}: it refuses the key")


def rate_limited(answered: str, pause: float | None) -> ProviderRateLimitedError:
    """Return the error for a provider that asks for a pause of so many seconds, where it names one."""
    data: dict[str, Any] = {} if pause is None else {"retry_after_s": pause}
    named = "" if pause is None else f" of {pause:g} s"
    return ProviderRateLimitedError(f"{answered}: it asks for a pause{named}", data=data)


def unknown_model(endpoint: Endpoint, answered: str) -> ProviderModelError:
    """Return the error for a model that isn't there."""
    return ProviderModelError(f"{answered}: it has no embedding model {endpoint.model!r} for this account")


def _bad_request(endpoint: Endpoint, answered: str, status: int, problem: Problem) -> ProviderFailedError:
    """Return which part of a request was wrong."""
    if status == 413 or problem.is_too_long(status):
        return refused_text(answered)
    if problem.is_dimensions() and endpoint.dims is not None:
        return ProviderFailedError(
            f"{answered}: the model {endpoint.model!r} can't return {endpoint.dims} dimensions",
            hint="Correct or remove search.outputDimensionality.",
        )
    if problem.is_no_model(by_words=True):
        return unknown_model(endpoint, answered)
    if problem.is_bad_text():
        return refused_text(answered)
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
