"""A loopback server of a scripted model that speaks the dialects of several providers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from tests.support.model_servers.anthropic_messages import AnthropicMessages
from tests.support.model_servers.dialect import BadModelRequestError, ModelDialect
from tests.support.model_servers.gemini_content import GeminiContent
from tests.support.model_servers.openai_chat import OpenAIChat
from tests.support.model_servers.openai_responses import OpenAIResponses
from tests.support.openclaw import ModelRequest, Script
from tests.support.provider_dialects import HttpRequest
from tests.support.provider_errors import ProviderReply, json_reply
from tests.support.provider_wire import serve_http

DIALECTS: Final[tuple[ModelDialect, ...]] = (
    AnthropicMessages(),
    OpenAIResponses(),
    GeminiContent(),
    OpenAIChat(),
)


class DialectServer:
    """Answers requests by a script, which refuses one with a `BadModelRequestError`.

    Attributes:
        asked: Every request to the model, oldest first.
        bodies: The same as they were sent.
        other: Methods and paths of other requests.
    """

    def __init__(self, script: Script) -> None:
        self.closing = threading.Event()
        self.asked: list[ModelRequest] = []
        self.bodies: list[bytes] = []
        self.other: list[str] = []
        self.url = ""
        self._script = script

    def answer(self, asked: HttpRequest) -> tuple[ProviderReply, None]:
        """Return the scripted reply in the dialect of the request."""
        dialect = next((each for each in DIALECTS if each.is_for(asked)), None)
        if dialect is None or asked.method != "POST":
            self.other.append(f"{asked.method} {asked.path}")
            return json_reply({"error": {"message": "not found"}}, 404), None
        try:
            request = dialect.read(asked)
            self.asked.append(request)
            self.bodies.append(asked.body)
            act = self._script(request)
        except BadModelRequestError as refused:
            return dialect.error(refused.status, str(refused)), None
        return dialect.reply(asked, act, len(self.asked)), None


@contextmanager
def serve_dialects(script: Script) -> Iterator[DialectServer]:
    """Run a server of a scripted model inside the block."""
    server = DialectServer(script)
    with serve_http(server) as url:
        server.url = url
        yield server
