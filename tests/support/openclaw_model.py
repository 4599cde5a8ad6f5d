"""A chat model's API on loopback as OpenClaw speaks it: OpenAI's chat completions, streamed, with tools.

The model is a function of the conversation: it says something, or calls a tool by a name it was offered.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from tests.support.provider_dialects import Asked
from tests.support.provider_errors import Reply
from tests.support.provider_wire import listening

MODEL: Final = "scripted"


@dataclass(frozen=True, slots=True)
class Say:
    """The model answers, and its turn is over."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """The model calls a tool, and is asked again with what that returned."""

    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Conversation:
    """What the model was sent."""

    system: str
    prompt: str
    tools: tuple[str, ...]
    results: tuple[str, ...] = ()


Script = Callable[[Conversation], Say | Call]


class ModelServer:
    """One server. `asked` holds every conversation it was sent, oldest first."""

    def __init__(self, script: Script) -> None:
        self.closing = threading.Event()
        self.asked: list[Conversation] = []
        self.url = ""
        self._script = script

    def answer(self, asked: Asked) -> tuple[Reply, None]:
        """Return what the script makes of a request, as a stream of events."""
        if not asked.path.endswith("/chat/completions"):
            return Reply(404, b"{}", {"Content-Type": "application/json"}), None
        conversation = _read(json.loads(asked.body))
        self.asked.append(conversation)
        body = _stream(self._script(conversation), len(self.asked))
        return Reply(200, body, {"Content-Type": "text/event-stream"}), None


@dataclass(frozen=True, slots=True)
class _Reader:
    """Collects what the messages of a request say."""

    system: list[str] = field(default_factory=list)
    prompt: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)

    def take(self, message: dict[str, Any]) -> None:
        """Take one message in."""
        text = _text(message.get("content"))
        match message.get("role"):
            case "system" | "developer":
                self.system.append(text)
            case "user":
                self.prompt.append(text)
            case "tool":
                self.results.append(text)


@contextmanager
def modelling(script: Script) -> Iterator[ModelServer]:
    """Give a server of a model that follows a script."""
    server = ModelServer(script)
    with listening(server) as url:
        server.url = url
        yield server


def _read(body: dict[str, Any]) -> Conversation:
    reader = _Reader()
    for message in body["messages"]:
        reader.take(message)
    tools = tuple(tool["function"]["name"] for tool in body.get("tools", []))
    return Conversation("\n".join(reader.system), "\n".join(reader.prompt), tools, tuple(reader.results))


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def _stream(act: Say | Call, number: int) -> bytes:
    """Return a whole reply as server-sent events."""
    if isinstance(act, Say):
        delta: dict[str, Any] = {"role": "assistant", "content": act.text}
        reason = "stop"
    else:
        function = {"name": act.tool, "arguments": json.dumps(act.arguments)}
        call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        delta = {"role": "assistant", "content": None, "tool_calls": [call]}
        reason = "tool_calls"
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    chunks = [
        _chunk(number, [{"index": 0, "delta": delta, "finish_reason": None}]),
        _chunk(number, [{"index": 0, "delta": {}, "finish_reason": reason}]),
        _chunk(number, [], usage=usage),
    ]
    return b"".join(f"data: {json.dumps(chunk)}\n\n".encode() for chunk in chunks) + b"data: [DONE]\n\n"


def _chunk(number: int, choices: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    head = {
        "id": f"chat_{number}",
        "object": "chat.completion.chunk",
        "created": 1_795_000_000,
        "model": MODEL,
    }
    return {**head, "choices": choices, **more}
