"""OpenAI's Chat Completions API: `POST …/chat/completions`, with `stream` and without."""

from __future__ import annotations

from tests.support.model_servers.dialect import (
    BadModelRequestError,
    error_reply,
    event_stream,
    json_of,
)
from tests.support.openclaw import (
    MODEL,
    ModelRequest,
    TextReply,
    ToolCall,
    chat_events,
    chat_message,
    read_chat,
)
from tests.support.provider_dialects import HttpRequest
from tests.support.provider_errors import ProviderReply, json_reply


class OpenAIChat:
    """The dialect of most programs that accept a model server of their user's."""

    def is_for(self, asked: HttpRequest) -> bool:
        """Return whether a request is one for a completion."""
        return asked.path.endswith("/chat/completions")

    def read(self, asked: HttpRequest) -> ModelRequest:
        """Return what a request says."""
        if not asked.headers.get("authorization", "").startswith("Bearer "):
            raise BadModelRequestError(401, "an API key is required in the Authorization header")
        body = json_of(asked)
        if not isinstance(body.get("model"), str) or not isinstance(body.get("messages"), list):
            raise BadModelRequestError(400, "model and messages are required")
        return read_chat(body)

    def reply(self, asked: HttpRequest, act: TextReply | ToolCall, number: int) -> ProviderReply:
        """Return a response, as events if they are asked for."""
        if json_of(asked).get("stream"):
            return event_stream(chat_events(act, number))
        message, reason = chat_message(act, number)
        head = {"id": f"chat_{number}", "object": "chat.completion", "created": 1_795_000_000, "model": MODEL}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return json_reply({**head, "choices": [choice], "usage": usage})

    def error(self, status: int, detail: str) -> ProviderReply:
        """Return an error."""
        error = {"message": detail, "type": "invalid_request_error", "param": None, "code": None}
        return error_reply(status, {"error": error})
