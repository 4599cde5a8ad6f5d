"""OpenAI's Responses API: `POST /v1/responses` with `stream`."""

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


class OpenAIResponses:
    """The dialect of Codex."""

    def is_for(self, asked: HttpRequest) -> bool:
        """Return whether a request is one for a response."""
        return asked.path == "/v1/responses"

    def read(self, asked: HttpRequest) -> ModelRequest:
        """Return what a request says."""
        if not asked.headers.get("authorization", "").startswith("Bearer "):
            raise BadModelRequestError(401, "an API key is required in the Authorization header")
        body = json_of(asked)
        if not isinstance(body.get("model"), str) or not body.get("stream"):
            raise BadModelRequestError(400, "model and stream are required")
        system = [str(body.get("instructions") or "")]
        prompt: list[str] = []
        results: list[str] = []
        for item in parts_of(body.get("input"), "message"):
            if item.get("type") in ("function_call_output", "custom_tool_call_output"):
                results += [part.get("text", "") for part in parts_of(item.get("output"))]
            elif item.get("role") in ("user", "developer"):
                texts = [part.get("text", "") for part in parts_of(item.get("content"))]
                (prompt if item["role"] == "user" else system).extend(texts)
        tools = tuple(str(tool.get("name", tool.get("type"))) for tool in _tools_of(body))
        return ModelRequest("\n".join(system), "\n".join(prompt), tools, tuple(results))

    def reply(self, asked: HttpRequest, act: TextReply | ToolCall, number: int) -> ProviderReply:
        """Return a response as events."""
        custom = {tool.get("name") for tool in _tools_of(json_of(asked)) if tool.get("type") == "custom"}
        is_custom = isinstance(act, ToolCall) and act.tool in custom
        events = _events(act, number, is_custom=is_custom)
        return named_events({**event, "sequence_number": at} for at, event in enumerate(events))

    def error(self, status: int, detail: str) -> ProviderReply:
        """Return an error."""
        error = {"message": detail, "type": "invalid_request_error", "param": None, "code": None}
        return error_reply(status, {"error": error})


def _tools_of(body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the tools of a request, which also stand in its input, and in namespaces."""
    added = [item for item in parts_of(body.get("input")) if item.get("type") == "additional_tools"]
    groups = [body, *added]
    for group in groups:
        for tool in parts_of(group.get("tools")):
            if tool.get("type") == "namespace":
                groups.append(tool)
            yield tool


def _events(act: TextReply | ToolCall, number: int, *, is_custom: bool) -> Iterator[dict[str, Any]]:
    """Yield the events of a response; a custom tool takes free text, here the argument `input`."""
    response: dict[str, Any] = {"id": f"resp_{number}", "object": "response", "created_at": 1_795_000_000}
    yield {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}
    item: dict[str, Any]
    if isinstance(act, TextReply):
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "in_progress"}
        at = {"item_id": item["id"], "output_index": 0, "content_index": 0}
        yield {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}}
        yield {"type": "response.output_text.delta", **at, "delta": act.text}
        yield {"type": "response.output_text.done", **at, "text": act.text}
        content = [{"type": "output_text", "text": act.text, "annotations": []}]
        item = {**item, "status": "completed", "content": content}
    elif is_custom:
        item = {
            "type": "custom_tool_call",
            "id": f"ctc_{number}",
            "call_id": f"call_{number}",
            "name": act.tool,
        }
        yield {"type": "response.output_item.added", "output_index": 0, "item": {**item, "input": ""}}
        item = {**item, "input": act.arguments["input"], "status": "completed"}
    else:
        arguments = json.dumps(act.arguments)
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": act.tool}
        yield {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}}
        item = {**item, "arguments": arguments, "status": "completed"}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 110,
    }
    done = {**response, "status": "completed", "output": [item], "usage": usage}
    yield {"type": "response.completed", "response": done}
