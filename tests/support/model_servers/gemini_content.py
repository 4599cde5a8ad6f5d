"""Google's Gemini API: `POST /v1beta/models/<model>:streamGenerateContent?alt=sse`, and without a stream."""

from __future__ import annotations

import json
from typing import Any

from tests.support.model_servers.dialect import (
    BadModelRequestError,
    error_reply,
    event_stream,
    json_of,
    parts_of,
)
from tests.support.openclaw import ModelRequest, TextReply, ToolCall
from tests.support.provider_dialects import HttpRequest
from tests.support.provider_errors import ProviderReply, json_reply

STREAMED, WHOLE = ":streamGenerateContent", ":generateContent"

STATUS_NAMES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND"}


class GeminiContent:
    """The dialect of Gemini CLI."""

    def is_for(self, asked: HttpRequest) -> bool:
        """Return whether a request is one for content."""
        return asked.path.startswith("/v1beta/models/") and asked.path.endswith((STREAMED, WHOLE))

    def read(self, asked: HttpRequest) -> ModelRequest:
        """Return what a request says."""
        if not asked.headers.get("x-goog-api-key") and "key=" not in asked.query:
            raise BadModelRequestError(401, "an API key is required")
        body = json_of(asked)
        is_streamed = asked.path.endswith(STREAMED)
        if (is_streamed and "alt=sse" not in asked.query) or not isinstance(body.get("contents"), list):
            raise BadModelRequestError(400, "alt=sse and contents are required")
        system = parts_of((body.get("systemInstruction") or {}).get("parts"))
        prompt: list[str] = []
        results: list[str] = []
        for content in body["contents"]:
            for part in parts_of(content.get("parts")):
                if "functionResponse" in part:
                    results.append(json.dumps(part["functionResponse"].get("response")))
                elif "text" in part and content.get("role") == "user":
                    prompt.append(part["text"])
        tools = [each.get("functionDeclarations", []) for each in body.get("tools") or []]
        names = tuple(tool["name"] for declared in tools for tool in declared)
        said = "\n".join(part.get("text", "") for part in system)
        return ModelRequest(said, "\n".join(prompt), names, tuple(results))

    def reply(self, asked: HttpRequest, act: TextReply | ToolCall, number: int) -> ProviderReply:
        """Return a response, as events if they are asked for."""
        part: dict[str, Any]
        if isinstance(act, TextReply):
            part = {"text": act.text}
        else:
            part = {"functionCall": {"name": act.tool, "args": act.arguments}}
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": [part]}, "index": 0}
        tokens = len(asked.body) // 4  # Gemini CLI doesn't compact a prompt that is smaller than the summary
        usage = {
            "promptTokenCount": tokens,
            "candidatesTokenCount": 10,
            "totalTokenCount": tokens + 10,
        }
        shared = {"modelVersion": "scripted", "responseId": f"response-{number}"}
        end = {"content": {"role": "model", "parts": [{"text": ""}]}, "index": 0, "finishReason": "STOP"}
        if asked.path.endswith(WHOLE):
            candidate["finishReason"] = "STOP"
            return json_reply({"candidates": [candidate], "usageMetadata": usage, **shared})
        events = [
            {"candidates": [candidate], **shared},
            {"candidates": [end], "usageMetadata": usage, **shared},
        ]
        return event_stream(b"".join(f"data: {json.dumps(each)}\r\n\r\n".encode() for each in events))

    def error(self, status: int, detail: str) -> ProviderReply:
        """Return an error."""
        error = {"code": status, "message": detail, "status": STATUS_NAMES.get(status, "INTERNAL")}
        return error_reply(status, {"error": error})
