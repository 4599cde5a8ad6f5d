"""A chat model's API on loopback with scripted replies."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.provider_dialects import HttpRequest
from tests.support.provider_errors import ProviderReply, json_reply
from tests.support.provider_wire import serve_http

Script = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Takes the path and the body of a request; returns the body of the reply."""


class ChatServer:
    """A server with scripted replies. `asked` has the body of every request, oldest first."""

    def __init__(self, script: Script) -> None:
        self.closing = threading.Event()
        self.asked: list[dict[str, Any]] = []
        self.url = ""
        self._script = script

    def answer(self, asked: HttpRequest) -> tuple[ProviderReply, None]:
        """Return the scripted reply to a request."""
        body = json.loads(asked.body)
        self.asked.append(body)
        return json_reply(self._script(asked.path, body)), None


@contextmanager
def serve_chat(script: Script) -> Iterator[ChatServer]:
    """Run a chat server inside the block."""
    server = ChatServer(script)
    with serve_http(server) as url:
        server.url = url
        yield server
