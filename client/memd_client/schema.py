"""What the protocol's records are made of: their base, their conversion to maps in a frame, and what a request is.

A record is frozen. A peer's fields that this release doesn't know are ignored, and fields that an older peer leaves
out get their default.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")

_NEVER_INFINITE = frozenset({str, int, bool, bytes, type(None)})
"""Types of values that `require_finite` need not look at: most values of a reply."""

NO_DEADLINE = float("inf")
"""Value of `Request.timeout_s` for a request without a deadline."""


class Record(msgspec.Struct, frozen=True):
    """Base of everything that is sent: parameters, replies, and the records inside them."""


class Request(NamedTuple):
    """What both sides know about a request.

    Attributes:
        params: The record of its parameters; its docstring is that of the clients' methods.
        reply: The record of its reply.
        timeout_s: The shortest timeout in seconds, even if the client's own is shorter; or a function of the
            parameters.
        renews_deadline: It reports progress, and each progress restarts the timeout.
        uses_client_agent: If the parameters name no agent, the client's own agent is filled in.
        repeatable: Executing it twice has the same effect as once, so the client sends it again if the connection
            breaks before the reply. Otherwise it is sent again only if the daemon can't have received it. Or a
            function of the parameters.
        positional: How many parameters a method takes by position; None: those without a default.
    """

    params: type[Any]
    reply: type[Any]
    timeout_s: float | Callable[[Any], float] = 0.0
    renews_deadline: bool = False
    uses_client_agent: bool = True
    repeatable: bool | Callable[[Any], bool] = True
    positional: int | None = None


def to_wire(message: Any) -> Any:
    """Return a message as maps, lists and scalars for msgpack.

    Args:
        message: A record, or a value inside one.

    Raises:
        TypeError: A value can't be sent.
    """
    return msgspec.to_builtins(message, builtin_types=(bytes, bytearray, memoryview))


def from_wire(kind: type[T], value: Any) -> T:
    """Return a map as a record.

    Args:
        kind: The record's class, such as a reply of `REQUESTS`.
        value: The map.

    Raises:
        ValueError: A field without a default is missing, or a value has the wrong type.
    """
    return msgspec.convert(value, kind)


def require_finite(value: Any, name: str = "") -> None:
    """Raise if a number in a value received from a peer is infinite or NaN: neither can be compared or is JSON.

    Raises:
        ValueError: The value has such a number; the message names its field.
    """
    if isinstance(value, float):
        if value - value != 0:
            raise ValueError(f"`{name}` is {value}, not a finite number")
    elif isinstance(value, dict):
        for key, item in value.items():
            if type(item) not in _NEVER_INFINITE:
                require_finite(item, str(key))
    elif isinstance(value, list):
        for item in value:
            if type(item) not in _NEVER_INFINITE:
                require_finite(item, name)
