"""Checks a client's messages before the SDK, which would refuse some without a reason."""

from __future__ import annotations

import json
import sys
from collections.abc import Container
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    CallToolResult,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    JSONRPCResponse,
    TextContent,
)
from pydantic import ValidationError

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Checked = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]

CALL = "tools/call"


async def relay(incoming: Incoming, checked: Checked, outgoing: Outgoing, methods: Container[str]) -> None:
    """Forward valid messages of a client, and reply to invalid ones; ends when the client disconnects."""
    async with checked, outgoing:
        async for message in incoming:
            answer: JSONRPCResponse | JSONRPCError | None = None
            if isinstance(message, Exception):
                answer = _reply_to_unreadable(message)
            elif isinstance(message.message.root, JSONRPCRequest):
                answer = answer_to(message.message.root, methods)
            if answer is not None:
                await outgoing.send(SessionMessage(JSONRPCMessage(answer)))
            elif not isinstance(message, Exception):
                try:
                    await checked.send(message)
                except anyio.BrokenResourceError:  # the server has ended
                    return


def answer_to(request: JSONRPCRequest, methods: Container[str]) -> JSONRPCResponse | JSONRPCError | None:
    """Return the reply to an invalid request; None for a valid one, whose arguments are normalized."""
    if request.method not in methods:
        return _error(request.id, METHOD_NOT_FOUND, f"no method {request.method[:60]!r}")
    if request.method != CALL:
        return None
    params: dict[str, Any] = request.params or {}
    name = params.get("name")
    if not isinstance(name, str):
        return _error(request.id, INVALID_PARAMS, "tools/call needs `name`, the name of a tool")
    given = _as_object(params.get("arguments"))
    if given is None:
        text = f"{name[:60]}: `arguments` must be a JSON object, as the tool's inputSchema says"
        return _failed(request.id, text)
    request.params = {**params, "arguments": given}
    return None


def _as_object(given: object) -> dict[str, Any] | None:
    """Return arguments as a map; None if they are not a JSON object."""
    if given is None:
        return {}
    if isinstance(given, str):
        try:
            given = json.loads(given) if given.strip() else {}
        except (ValueError, RecursionError):
            return None
    return given if isinstance(given, dict) else None


def _reply_to_unreadable(error: Exception) -> JSONRPCError | None:
    """Return the reply to a line that the SDK could not parse; None if it has no request id."""
    line = error.errors()[0].get("input") if isinstance(error, ValidationError) else None
    try:
        read = json.loads(line) if isinstance(line, str | bytes) else line
    except (ValueError, RecursionError):
        read = None
    request_id = read.get("id") if isinstance(read, dict) else None
    if isinstance(request_id, int | str) and not isinstance(request_id, bool):
        message = "not a request: expected a JSON-RPC object in valid Unicode, with an object as `params`"
        return _error(request_id, INVALID_REQUEST, message)
    sys.stderr.write("memctl mcp: ignored a line that is not a JSON-RPC message\n")
    return None


def _error(request_id: int | str, code: int, message: str) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=request_id, error=ErrorData(code=code, message=message))


def _failed(request_id: int | str, text: str) -> JSONRPCResponse:
    result = CallToolResult(content=[TextContent(type="text", text=text)], isError=True)
    return JSONRPCResponse(
        jsonrpc="2.0", id=request_id, result=result.model_dump(by_alias=True, mode="json", exclude_none=True)
    )
