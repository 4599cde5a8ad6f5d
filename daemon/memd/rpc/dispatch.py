"""A request's name to its method, its reply to plain values, and each failure to the one shape of errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import Any

import structlog

from memd.rpc.call import Call, single_error
from memd.rpc.metrics import count_reply
from memd.rpc.params import decode_params
from memd_client.errors import MemdError, MethodUnknownError
from memd_client.messages import REQUESTS
from memd_client.wire import to_wire

log = structlog.get_logger(__name__)

Handler = Callable[[Call, Any], Awaitable[Any]]

HANDLERS: dict[str, Handler] = {name: import_module(f"memd.rpc.methods.{name}").handle for name in REQUESTS}
"""Every request's method: the module of its name. The types of its parameters and reply are in `messages.REQUESTS`."""

MAX_MESSAGE_CHARS = 500
"""An error's sentence is cut here, so that no input comes back at length."""

MAX_ECHO_CHARS = 60
"""A name the client sent (of a method, of an agent) is cut here where an error repeats it."""


def find_handler(name: str, params: Any) -> tuple[Handler, Any]:
    """Return the method of a request and its decoded parameters."""
    handler = HANDLERS.get(name)
    if handler is None:
        raise MethodUnknownError(f"there is no request {name[:MAX_ECHO_CHARS]!r}")
    return handler, decode_params(name, params)


def wire_reply(call: Call, reply: Any) -> Any:
    """Count a reply and return it ready for msgpack."""
    count_reply(call.daemon.meter, reply)
    return to_wire(reply)


def error_shape(error: BaseException, **facts: Any) -> dict[str, Any]:
    """Return the one shape of an error on the wire.

    A `MemdError` keeps its message, cut to size. Anything else is a defect of the daemon: it is logged with its
    traceback, and the client only learns that it happened.
    """
    error = single_error(error)
    if not isinstance(error, MemdError):
        log.error("rpc.request_crashed", exc_info=error, **facts)
        error = MemdError("the daemon failed at this request; its log has the details")
    shape = error.to_wire()
    shape["message"] = _cut(shape["message"], MAX_MESSAGE_CHARS)
    shape["data"] = {key: _plain(value) for key, value in shape["data"].items()}
    return shape


def _plain(value: Any) -> Any:
    """Return a fact that fits an error: a scalar as it is, anything else as short text."""
    if value is None or isinstance(value, bool | int | float):
        return value
    return _cut(value if isinstance(value, str) else repr(value), MAX_MESSAGE_CHARS)


def _cut(text: str, limit: int) -> str:
    """Shorten a text visibly."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
