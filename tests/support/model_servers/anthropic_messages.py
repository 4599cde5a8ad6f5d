"""Anthropic's Messages API: `POST /v1/messages` with `stream`, and `/v1/messages/count_tokens`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tests.support.model_servers.dialect import (
    BadModelRequestError,
    error_reply,
    json_of,
    named_events,
    parts_of,
)
from tests.support.openclaw import ModelRequest, TextReply, ToolCall
from tests.support.provider_dialects import HttpRequest
from tests.support.provider_errors import ProviderReply

ERROR_TYPES = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}


class AnthropicMessages:
    """The dialect of Claude Code."""

    def is_for(self, asked: HttpRequest) -> bool:
        """Return whether a request is one for a message."""
        return asked.path == "/v1/messages"

    def read(self, asked: HttpRequest) -> ModelRequest:
        """Return what a request says."""
        if not (asked.headers.get("x-api-key") or asked.headers.get("authorization")):
            raise BadModelRequestError(401, "x-api-key header is required")
        if not asked.headers.get("anthropic-version"):
            raise BadModelRequestError(400, "anthropic-version header is required")
        body = json_of(asked)
        if not isinstance(body.get("max_tokens"), int) or not isinstance(body.get("messages"), list):
            raise BadModelRequestError(400, "max_tokens and messages are required")
        system = [part.get("text", "") for part in parts_of(body.get("system"))]
        prompt: list[str] = []
        results: list[str] = []
        for message in body["messages"]:
            for part in parts_of(message.get("content")):
                if part.get("type") == "tool_result":
                    results += [inner.get("text", "") for inner in parts_of(part.get("content"))]
                elif part.get("type") == "text":
                    (system if message["role"] == "system" else prompt).append(part["text"])
        tools = tuple(tool["name"] for tool in body.get("tools", []))
        return ModelRequest("\n".join(system), "\n".join(prompt), tools, tuple(results))

    def reply(self, asked: HttpRequest, act: TextReply | ToolCall, number: int) -> ProviderReply:
        """Return a response as events."""
        return named_events(_events(act, number))

    def error(self, status: int, detail: str) -> ProviderReply:
        """Return an error."""
        kind = ERROR_TYPES.get(status, "api_error")
        return error_reply(status, {"type": "error", "error": {"type": kind, "message": detail}})


def _events(act: TextReply | ToolCall, number: int) -> Iterator[dict[str, Any]]:
    message: dict[str, Any] = {
        "id": f"msg_{number:024}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 1},
    }
    yield {"type": "message_start", "message": message}
    block: dict[str, Any]
    delta: dict[str, Any]
    if isinstance(act, TextReply):
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": act.text}
    else:
        block = {"type": "tool_use", "id": f"toolu_{number:024}", "name": act.tool, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(act.arguments)}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "ping"}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    reason = "end_turn" if isinstance(act, TextReply) else "tool_use"
    end = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 10}}
    yield {"type": "message_stop"}
