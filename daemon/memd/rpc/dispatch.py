"""Dispatch of requests by name, and conversion of replies and errors to their wire form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cache
from importlib import import_module
from typing import Any

from memd.rpc.call import Call, single_error
from memd.rpc.metrics import count_reply
from memd.rpc.params import decode_params
from memd.system.log import log
from memd_client.errors import MemdError, MethodUnknownError
from memd_client.messages import REQUESTS
from memd_client.schema import to_wire

Handler = Callable[[Call, Any], Awaitable[Any]]

MAX_MESSAGE_CHARS = 500
"""Longest message of an error, so that it doesn't repeat long input."""

MAX_ECHO_CHARS = 60
"""Longest part of a name sent by the client (of a method, of an agent) in an error message."""


@cache
def handler_of(name: str) -> Handler:
    """Return the handler of a request, in the module of its name, which is imported on the first such request."""
    handler: Handler = import_module(f"memd.rpc.methods.{name}").handle
    return handler


def find_handler(name: str, params: Any) -> tuple[Handler, Any]:
    """Return the handler of a request and its decoded parameters."""
    if name not in REQUESTS:
        raise MethodUnknownError(f"there is no request {name[:MAX_ECHO_CHARS]!r}")
    return handler_of(name), decode_params(name, params)


def wire_reply(call: Call, reply: Any) -> Any:
    """Count a reply and return it ready for msgpack."""
    count_reply(call.daemon.meter, reply)
    return to_wire(reply)


def error_shape(error: BaseException, **facts: Any) -> dict[str, Any]:
    """Return an error as a map for the wire.

    A `MemdError` keeps its message, truncated. Any other error is a defect of the daemon: it is logged with its
    traceback, and the client gets a general message.
    """
    error = single_error(error)
    if not isinstance(error, MemdError):
        log.error("rpc.request_crashed", exc_info=error, **facts)
        error = MemdError("the daemon failed to handle this request; its log has the details")
    shape = error.to_wire()
    shape["message"] = _cut(shape["message"], MAX_MESSAGE_CHARS)
    shape["data"] = {key: _plain(value) for key, value in shape["data"].items()}
    return shape


def _plain(value: Any) -> Any:
    """Return a value for an error's data: a scalar unchanged, anything else as short text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return _cut(value if isinstance(value, str) else repr(value), MAX_MESSAGE_CHARS)


def _cut(text: str, limit: int) -> str:
    """Truncate a text with an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
