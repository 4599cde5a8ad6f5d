"""A request's name to its method; its parameters to their type; whatever fails to the one shape."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import structlog

from memd.rpc.call import Call
from memd.rpc.counting import count_reply
from memd.rpc.methods import (
    append_note,
    call_tool,
    cancel,
    capture_from,
    compaction_done,
    curated_entries,
    embed,
    facts,
    files,
    flush_check,
    flush_done,
    get,
    hello,
    index,
    memory_edit,
    memory_forget,
    memory_recall,
    memory_store,
    metrics,
    model,
    prompt_section,
    recall_for,
    reset,
    search,
    search_agents,
    session_ended,
    session_started,
    show,
    status,
    subscribe,
    tools,
    vacuum,
)
from memd.rpc.param_bounds import check_bounds
from memd_client.errors import BadParamsError, MemdError, MethodUnknownError
from memd_client.messages import REQUESTS
from memd_client.wire import to_wire

log = structlog.get_logger(__name__)

Handler = Callable[[Call, Any], Awaitable[Any]]

HANDLERS: dict[str, Handler] = {
    "hello": hello.handle,
    "status": status.handle,
    "metrics": metrics.handle,
    "search": search.handle,
    "search_agents": search_agents.handle,
    "get": get.handle,
    "files": files.handle,
    "curated_entries": curated_entries.handle,
    "index": index.handle,
    "reset": reset.handle,
    "vacuum": vacuum.handle,
    "embed": embed.handle,
    "model": model.handle,
    "tools": tools.handle,
    "call_tool": call_tool.handle,
    "prompt_section": prompt_section.handle,
    "session_started": session_started.handle,
    "session_ended": session_ended.handle,
    "flush_check": flush_check.handle,
    "flush_done": flush_done.handle,
    "compaction_done": compaction_done.handle,
    "append_note": append_note.handle,
    "memory_store": memory_store.handle,
    "memory_recall": memory_recall.handle,
    "memory_edit": memory_edit.handle,
    "memory_forget": memory_forget.handle,
    "facts": facts.handle,
    "recall_for": recall_for.handle,
    "capture_from": capture_from.handle,
    "show": show.handle,
    "subscribe": subscribe.handle,
    "cancel": cancel.handle,
}
"""Every request's method. The types of its parameters and reply stand in `messages.REQUESTS`."""

MAX_MESSAGE_CHARS = 500
"""An error's sentence is cut here, so that no input comes back at length."""

MAX_ECHO_CHARS = 60
"""A name the client sent (of a method, of an agent) is cut here where an error repeats it."""


async def dispatch(name: str, params: Any, call: Call) -> Any:
    """Run a request and return its reply, ready for msgpack."""
    handler = HANDLERS.get(name)
    if handler is None:
        raise MethodUnknownError(f"there is no request {name[:MAX_ECHO_CHARS]!r}")
    reply = await handler(call, decode_params(name, params))
    count_reply(call.daemon.meter, reply)
    return to_wire(reply)


def decode_params(name: str, params: Any) -> Any:
    """Return a request's parameters as their type. Keys this version doesn't know are ignored."""
    if not isinstance(params, dict):
        raise BadParamsError(f"{name}: params must be a map, not {_type_name(params)}")
    check_bounds(name, params)
    try:
        return msgspec.convert(params, REQUESTS[name][0], strict=True)
    except msgspec.ValidationError as error:
        raise _bad_params(name, str(error)) from None


def _bad_params(name: str, reason: str) -> BadParamsError:
    """Turn a sentence like "Expected `str`, got `int` - at `$.query`" into ours."""
    missing = re.match(r"Object missing required field `(\w+)`", reason)
    if missing:
        return BadParamsError(f"{name}: `{missing[1]}` is missing", data={"field": missing[1]})
    wrong = re.match(r"Expected `(.+?)`, got `(.+?)`(?: - at `\$\.(.+)`)?$", reason)
    if wrong:
        where = wrong[3] or "params"
        kinds = {"expected": wrong[1], "got": wrong[2]}
        message = f"{name}: `{where}` must be {wrong[1]}, not {wrong[2]}"
        return BadParamsError(message, data={"field": where, **kinds})
    return BadParamsError(f"{name}: {reason[:200]}")


def _type_name(value: Any) -> str:
    """Return a type's name as the protocol calls it."""
    return {"NoneType": "nil", "list": "array"}.get(type(value).__name__, type(value).__name__)


def error_shape(error: BaseException, **facts: Any) -> dict[str, Any]:
    """Return the one shape of an error on the wire.

    A `MemdError` is told as it is, its sentence cut to size. Anything else is a fault of ours: it is
    logged with its traceback, and the client only learns that it happened.
    """
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
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
