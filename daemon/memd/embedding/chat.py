"""Sends a prompt to a chat model with OpenAI's interface."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
import trio

from memd.embedding.choose.credentials import find_key, usable_headers
from memd.embedding.choose.remote_resolver import vendor_of
from memd.embedding.redaction import WINDOW
from memd.embedding.remote.endpoint import Endpoint, Timeouts
from memd.embedding.remote.failures import error_for_reply
from memd.embedding.remote.http import HttpClient
from memd.settings.endpoints import ProviderEntry
from memd.settings.layers import shown_key
from memd_client.errors import ConfigInvalidError, ProviderReplyError

MAX_REPLY_BYTES: Final = 256 * 1024

CHAT_TIMEOUTS: Final = Timeouts(connect_s=5, read_s=15, write_s=15, total_s=15)

CLOSE_S: Final = 1.0
"""The timeout for closing a connection."""

_CHAT_DIALECTS: Final = ("openai", "mistral", "compatible", "ollama")
"""Interfaces with `/chat/completions`."""


class _Message(msgspec.Struct):
    content: Any = None


class _Choice(msgspec.Struct):
    message: _Message


class _ChatReply(msgspec.Struct):
    choices: list[_Choice]


_DECODER = msgspec.json.Decoder(_ChatReply)


async def ask_once(find_endpoint: Callable[[], Endpoint], prompt: str) -> str:
    """Return a model's reply to one prompt, over a new connection.

    Cancellation: closes the connection.
    """
    endpoint = await trio.to_thread.run_sync(find_endpoint)
    http = HttpClient()
    try:
        return await complete(http, endpoint, prompt)
    finally:
        with trio.CancelScope(shield=True, deadline=trio.current_time() + CLOSE_S):
            await http.aclose()


async def complete(
    http: HttpClient, endpoint: Endpoint, prompt: str, *, timeouts: Timeouts = CHAT_TIMEOUTS
) -> str:
    """Return a model's reply to one prompt.

    Cancellation: closes the connection.
    """
    url = f"{endpoint.base_url}/chat/completions"
    payload = {  # no token limit: servers disagree on its name
        "model": endpoint.model,
        "messages": [{"role": "user", "content": prompt}],
        "stream": False,
    }
    request = endpoint.post_json(url, endpoint.bearer, payload)
    reply = await http.send(request, timeouts, max_bytes=MAX_REPLY_BYTES)
    if not 200 <= reply.status < 300:
        raise error_for_reply(endpoint, url, reply.status, reply.headers, reply.body)
    text = text_of_reply(reply.body, endpoint.provider)
    if await trio.to_thread.run_sync(
        endpoint.redactor.has_secret, text, WINDOW
    ):  # the text becomes a file name
        raise ProviderReplyError(f"{endpoint.provider} repeated the key or a header in its reply")
    return text


def text_of_reply(body: bytes, provider: str) -> str:
    """Return the text of a chat completion."""
    try:
        choices = _DECODER.decode(body).choices
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ProviderReplyError(f"{provider} sent no chat completion") from None
    content = choices[0].message.content if choices else None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "".join(part for part in parts if isinstance(part, str))
    if not isinstance(content, str):
        raise ProviderReplyError(f"{provider} sent a chat completion without text")
    return content


def chat_endpoint(
    reference: str,
    entries: Mapping[str, ProviderEntry],
    agent_id: str,
    state_dir: Path,
    environ: Mapping[str, str],
) -> Endpoint:
    """Return the endpoint of a chat model. Blocks on disk: the key may be in a file."""
    name, _, model = reference.strip().partition("/")
    if not name or not model.strip():
        raise ConfigInvalidError(
            f"{shown_key(reference)!r} is not a chat model",
            hint="write it as provider/model, with a provider of models.providers",
            data={"key": "slugModel"},
        )
    vendor = vendor_of(name, entries)
    if vendor.known.name not in _CHAT_DIALECTS:
        raise ConfigInvalidError(
            f"the provider {shown_key(name)} has no chat interface compatible with OpenAI",
            hint="choose a provider whose `api` is openai-completions",
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
