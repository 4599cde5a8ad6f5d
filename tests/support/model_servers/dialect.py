"""What the dialects of model providers share: a request that was read, and a streamed response."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from tests.support.openclaw import ModelRequest, TextReply, ToolCall
from tests.support.provider_dialects import HttpRequest
from tests.support.provider_errors import ProviderReply, json_reply


class BadModelRequestError(Exception):
    """A request differs from the provider's documentation."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class ModelDialect(Protocol):
    """How a provider's requests and streamed responses look."""

    def is_for(self, asked: HttpRequest) -> bool:
        """Return whether a request is one to this provider's model."""

    def read(self, asked: HttpRequest) -> ModelRequest:
        """Return what a request says.

        Raises:
            BadModelRequestError: The provider would refuse it.
        """

    def reply(self, asked: HttpRequest, act: TextReply | ToolCall, number: int) -> ProviderReply:
        """Return the response to a request, as a stream if it is asked for."""

    def error(self, status: int, detail: str) -> ProviderReply:
        """Return an error in the provider's form."""


def json_of(asked: HttpRequest) -> dict[str, Any]:
    """Return the JSON object of a request."""
    try:
        body = json.loads(asked.body)
    except ValueError as error:
        raise BadModelRequestError(400, "the body is not JSON") from error
    if not isinstance(body, dict):
        raise BadModelRequestError(400, "the body is not an object")
    return body


def parts_of(content: Any, kind: str = "text") -> list[dict[str, Any]]:
    """Return the parts of a content, which may be a text."""
    if isinstance(content, str):
        return [{"type": kind, "text": content}]
    return [part for part in content or [] if isinstance(part, dict)]


def event_stream(body: bytes) -> ProviderReply:
    """Return a reply of server-sent events."""
    return ProviderReply(200, body, {"Content-Type": "text/event-stream"})


def named_events(events: Iterable[Mapping[str, Any]]) -> ProviderReply:
    """Return a reply of server-sent events, each named by its `type`."""
    lines = (f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)
    return event_stream("".join(lines).encode())


def error_reply(status: int, error: Mapping[str, Any]) -> ProviderReply:
    """Return an error as JSON."""
    return json_reply(error, status)
