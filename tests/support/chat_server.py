"""A chat model's API on loopback that says what a test's script makes of each request."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.support.provider_dialects import Asked
from tests.support.provider_errors import Reply, json_reply
from tests.support.provider_wire import listening

Script = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Takes the path and the body of a request; returns the body of the reply."""


class ChatServer:
    """One server. `asked` holds the body of every request, oldest first."""

    def __init__(self, script: Script) -> None:
        self.closing = threading.Event()
        self.asked: list[dict[str, Any]] = []
        self.url = ""
        self._script = script

    def answer(self, asked: Asked) -> tuple[Reply, None]:
        """Return what the script makes of a request."""
        body = json.loads(asked.body)
        self.asked.append(body)
        return json_reply(self._script(asked.path, body)), None


@contextmanager
def chatting(script: Script) -> Iterator[ChatServer]:
    """Give a chat server that follows a script."""
    server = ChatServer(script)
    with listening(server) as url:
        server.url = url
        yield server
