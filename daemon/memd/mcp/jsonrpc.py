"""JSON-RPC 2.0 over lines, as MCP uses it on standard input and output. Knows no method."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import CancelledError
from typing import Any, BinaryIO, Final, TypeGuard

INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

MAX_LINE_BYTES: Final = 16 * 1024 * 1024
"""Longest message that is read; a tool call has a few hundred bytes."""

GRACE_S: Final = 1.0
"""How long requests may continue after the input has ended, so that `printf ... | memctl mcp` prints their results."""

Params = dict[str, Any]
Handler = Callable[[Params], Awaitable[Params]]
"""Returns the result of a request with the given parameters; raises `ProtocolError`."""


class ProtocolError(Exception):
    """An error that is returned to the client."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


class JsonRpcServer:
    """Answers one client, each request in a task of its own.

    Args:
        handlers: By method.
        write: Writes a line without blocking.
    """

    def __init__(self, handlers: Mapping[str, Handler], write: Callable[[bytes], object]) -> None:
        self._handlers = handlers
        self._write = write
        self._running: dict[int | str, asyncio.Task[None]] = {}

    def __repr__(self) -> str:
        return f"<JsonRpcServer, {len(self._running)} requests>"

    async def serve(self, source: BinaryIO) -> None:
        """Answer requests until the input ends."""
        loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as tasks:

            def read() -> None:
                while line := source.readline(MAX_LINE_BYTES):
                    received = asyncio.run_coroutine_threadsafe(self._receive(line, tasks), loop)
                    try:
                        received.result()  # so that the client waits while this process is busy
                    except CancelledError:
                        return

            await asyncio.to_thread(read)
            if self._running:
                await asyncio.wait(self._running.values(), timeout=GRACE_S)
            for each in self._running.values():
                each.cancel()

    def notify(self, method: str, params: Params) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    async def _receive(self, line: bytes, tasks: asyncio.TaskGroup) -> None:
        """Start the request in a line, or cancel one."""
        message = _read(line)
        request, method, params = message.get("id"), message.get("method"), message.get("params") or {}
        if not _is_id(request):
            if "id" in message or not isinstance(method, str):
                sys.stderr.write("memctl mcp: ignored a line that is not a JSON-RPC message\n")
            elif method == "notifications/cancelled" and isinstance(params, dict):
                self._cancel(params.get("requestId"))
        elif "result" in message or "error" in message:
            pass  # a reply, though this server sends no requests
        elif isinstance(method, str) and isinstance(params, dict) and _is_unicode(line, message):
            task = tasks.create_task(self._answer(request, method, params))
            self._running[request] = task
            task.add_done_callback(lambda _: self._running.pop(request, None))
        else:
            text = "not a request: expected a JSON-RPC object in valid Unicode, with an object as `params`"
            self._send_error(request, INVALID_REQUEST, text)

    def _cancel(self, request: object) -> None:
        """Cancel a request; a client that does so expects no reply."""
        if _is_id(request) and request in self._running:
            self._running[request].cancel()

    async def _answer(self, request: int | str, method: str, params: Params) -> None:
        handler = self._handlers.get(method)
        if handler is None:
            self._send_error(request, METHOD_NOT_FOUND, f"no method {method[:60]!r}")
            return
        try:
            self._send({"id": request, "result": await handler(params)})
        except ProtocolError as error:
            self._send({"id": request, "error": error.error})
        except Exception as error:  # noqa: BLE001 - it must not end the other requests
            self._send_error(request, INTERNAL_ERROR, f"internal error: {type(error).__name__}")

    def _send_error(self, request: int | str, code: int, message: str) -> None:
        self._send({"id": request, "error": {"code": code, "message": message}})

    def _send(self, message: Params) -> None:
        text = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
        self._write(text.encode("utf-8", "replace") + b"\n")


def _read(line: bytes) -> Params:
    """Return the message in a line; empty if it has none."""
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _is_id(value: object) -> TypeGuard[int | str]:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _is_unicode(line: bytes, message: Params) -> bool:
    """Return whether no text of a message has half a pair of surrogates."""
    if b"\\ud" not in line.lower():
        return True
    try:
        json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
