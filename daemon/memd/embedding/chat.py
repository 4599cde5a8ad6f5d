"""One question to a chat model that speaks as OpenAI does, for a few words of answer.

It goes the way of the embedding providers: the same connections, keys and errors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import trio

from memd.embedding.choose.credentials import find_key, usable_headers
from memd.embedding.choose.vendor import Vendor, checked_url, vendor_of
from memd.embedding.redaction import WINDOW
from memd.embedding.remote.providers.api import ApiRequest, Endpoint
from memd.embedding.remote.providers.failures import failure_of
from memd.embedding.remote.providers.http import Http, Patience
from memd.embedding.remote.providers.json_shape import bearer, post_json
from memd.settings.layers import shown_key
from memd.settings.schema import ProviderEntry
from memd_client.errors import ConfigInvalidError, ProviderReplyError

MOST_BYTES: Final = 256 * 1024
"""What an answer may come to, what the server says beside it included."""

PATIENCE: Final = Patience(connect_s=5, read_s=15, write_s=15, total_s=15)

CLOSE_S: Final = 1.0
"""How long closing a connection may take."""

_SPOKEN: Final = ("openai", "mistral", "compatible", "ollama")
"""Who answers at `/chat/completions`."""


class _Message(msgspec.Struct):
    content: Any = None


class _Choice(msgspec.Struct):
    message: _Message


class _Shape(msgspec.Struct):
    choices: list[_Choice]


_DECODER = msgspec.json.Decoder(_Shape)


async def ask_once(find_endpoint: Callable[[], Endpoint], prompt: str) -> str:
    """Return what a model answers to one question, over a connection of its own.

    Cancellation: the connection is given up.
    """
    endpoint = await trio.to_thread.run_sync(find_endpoint)
    http = Http()
    try:
        return await complete(http, endpoint, prompt)
    finally:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + CLOSE_S):
            await http.aclose()


async def complete(http: Http, endpoint: Endpoint, prompt: str, *, patience: Patience = PATIENCE) -> str:
    """Return what a model answers.

    Cancellation: the connection is given up.
    """
    url = f"{endpoint.base_url}/chat/completions"
    reply = await http.send(request_for(endpoint, url, prompt), patience, max_bytes=MOST_BYTES)
    if not 200 <= reply.status < 300:
        raise failure_of(endpoint, url, reply.status, reply.headers, reply.body)
    text = answer_in(reply.body, endpoint.provider)
    if await trio.to_thread.run_sync(endpoint.redactor.shows, text, WINDOW):  # it becomes the name of a file
        raise ProviderReplyError(f"{endpoint.provider} answered with the key or a header it was sent")
    return text


def request_for(endpoint: Endpoint, url: str, prompt: str) -> ApiRequest:
    """Return the request; it names no limits, for servers don't agree on how."""
    fields = {
        "model": endpoint.model,
        "messages": [{"role": "user", "content": prompt}],
        "stream": False,
    }
    return post_json(endpoint, url, bearer(endpoint), fields)


def answer_in(body: bytes, whose: str) -> str:
    """Return the text of an answer."""
    try:
        choices = _DECODER.decode(body).choices
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ProviderReplyError(f"{whose} answered with something that is no chat completion") from None
    content = choices[0].message.content if choices else None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        raise ProviderReplyError(f"{whose} answered without text")
    return content


def chat_endpoint(
    reference: str,
    entries: Mapping[str, ProviderEntry],
    agent_id: str,
    state_dir: Path,
    environ: Mapping[str, str],
) -> Endpoint:
    """Return where a chat model is. Blocks for as long as the disk does: its key may be in a file."""
    name, _, model = reference.strip().partition("/")
    if not name or not model.strip():
        raise ConfigInvalidError(
            f"{shown_key(reference)!r} names no chat model",
            hint="Write provider/model, with a provider of models.providers.",
            data={"key": "slugModel"},
        )
    vendor = vendor_of(name, entries)
    if vendor.known.name not in _SPOKEN:
        raise ConfigInvalidError(
            f"the provider {shown_key(name)} can't be asked for names: it doesn't speak as OpenAI does",
            hint="Choose a provider whose `api` is openai-completions.",
            data={"key": "slugModel"},
        )
    headers: dict[str, str] = {}
    if vendor.entry is not None:
        place = f"models.providers.{shown_key(vendor.entry.id)}.headers"
        headers = usable_headers(vendor.entry.headers, environ, place)
    key = find_key(vendor.known, vendor.entry, None, agent_id, state_dir, environ)
    return Endpoint(vendor.name, model.strip(), _address(vendor, environ), key, headers)


def _address(vendor: Vendor, environ: Mapping[str, str]) -> str:
    """Return the base URL of a provider's chat models."""
    entry = vendor.entry
    if entry is not None and (entry.base_url or "").strip():
        place = f"models.providers.{shown_key(entry.id)}.baseUrl"
        url = checked_url(entry.base_url or "", place, environ)
    else:
        url = vendor.known.base_url
    if not url:
        raise ConfigInvalidError(
            f"the address of the provider {shown_key(vendor.name)} is not known",
            hint=f"Set models.providers.{shown_key(vendor.name)}.baseUrl, such as http://127.0.0.1:8080/v1.",
            data={"key": "slugModel"},
        )
    return f"{url}/v1" if vendor.known.name == "ollama" and not url.endswith("/v1") else url
