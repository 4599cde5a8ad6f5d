"""One prompt to a chat model with OpenAI's interface, with the connections, keys and errors of embedding providers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import trio

from memd.embedding.choose.credentials import find_key, usable_headers
from memd.embedding.choose.remote_choice import vendor_of
from memd.embedding.redaction import WINDOW
from memd.embedding.remote.endpoint import Endpoint, Timeouts
from memd.embedding.remote.failures import failure_of
from memd.embedding.remote.http import Http
from memd.settings.layers import shown_key
from memd.settings.schema import ProviderEntry
from memd_client.errors import ConfigInvalidError, ProviderReplyError

MAX_REPLY_BYTES: Final = 256 * 1024

CHAT_TIMEOUTS: Final = Timeouts(connect_s=5, read_s=15, write_s=15, total_s=15)

CLOSE_S: Final = 1.0
"""How long closing a connection may take."""

_CHAT_DIALECTS: Final = ("openai", "mistral", "compatible", "ollama")
"""Interfaces with `/chat/completions`."""


class _Message(msgspec.Struct):
    content: Any = None


class _Choice(msgspec.Struct):
    message: _Message


class _Shape(msgspec.Struct):
    choices: list[_Choice]


_DECODER = msgspec.json.Decoder(_Shape)


async def ask_once(find_endpoint: Callable[[], Endpoint], prompt: str) -> str:
    """Return what a model answers to one prompt, over a new connection.

    Cancellation: the connection is given up.
    """
    endpoint = await trio.to_thread.run_sync(find_endpoint)
    http = Http()
    try:
        return await complete(http, endpoint, prompt)
    finally:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + CLOSE_S):
            await http.aclose()


async def complete(http: Http, endpoint: Endpoint, prompt: str, *, timeouts: Timeouts = CHAT_TIMEOUTS) -> str:
    """Return what a model answers.

    Cancellation: the connection is given up.
    """
    url = f"{endpoint.base_url}/chat/completions"
    payload = {  # no limits: servers disagree on their names
        "model": endpoint.model,
        "messages": [{"role": "user", "content": prompt}],
        "stream": False,
    }
    request = endpoint.post_json(url, endpoint.bearer, payload)
    reply = await http.send(request, timeouts, max_bytes=MAX_REPLY_BYTES)
    if not 200 <= reply.status < 300:
        raise failure_of(endpoint, url, reply.status, reply.headers, reply.body)
    text = answer_in(reply.body, endpoint.provider)
    if await trio.to_thread.run_sync(endpoint.redactor.shows, text, WINDOW):  # it becomes the name of a file
        raise ProviderReplyError(f"{endpoint.provider} answered with the key or a header it was sent")
    return text


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
    """Return the endpoint of a chat model. Blocks on the disk: its key may be in a file."""
    name, _, model = reference.strip().partition("/")
    if not name or not model.strip():
        raise ConfigInvalidError(
            f"{shown_key(reference)!r} names no chat model",
            hint="Write provider/model, with a provider of models.providers.",
            data={"key": "slugModel"},
        )
    vendor = vendor_of(name, entries)
    if vendor.known.name not in _CHAT_DIALECTS:
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
    url = vendor.address(environ, f"models.providers.{shown_key(vendor.name)}.baseUrl", "slugModel")
    if vendor.known.name == "ollama" and not url.endswith("/v1"):
        url += "/v1"
    return Endpoint(vendor.name, model.strip(), url, key, headers)
