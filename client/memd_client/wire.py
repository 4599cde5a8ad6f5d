"""Conversion of records to the maps in a frame, and back."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from .record import field_names

TYPE_CHECKING = False  # importing typing takes a client several milliseconds; type checkers know the name
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})
"""Types that msgpack encodes without conversion: most values of a reply."""

_CHECKED = _PLAIN - {float}
"""Types that have no numbers to check."""

_known: dict[type[Any], dict[str, tuple[type[Any] | None, bool]]] = {}


def to_wire(message: Any) -> Any:
    """Return a message as maps, lists and scalars for msgpack.

    Args:
        message: A record, or a value inside one.
    """
    names = field_names(type(message))
    if names is not None:
        facts = vars(message)
        return {name: fact if type(fact := facts[name]) in _PLAIN else to_wire(fact) for name in names}
    if isinstance(message, list | tuple):
        return [to_wire(item) for item in message]
    return message


def from_wire(kind: type[T], value: Mapping[str, Any]) -> T:
    """Return a map as a record; unknown fields are ignored.

    Args:
        kind: The record's class, such as a reply of `REQUESTS`.
        value: The map.

    Raises:
        TypeError: A field without a default is missing.
    """
    known = _known.get(kind) or _fields_of(kind)
    facts: dict[str, Any] = {}
    for name, item in value.items():
        if name not in known:
            continue
        nested, many = known[name]
        if nested is None or item is None:
            facts[name] = item
        else:
            facts[name] = [from_wire(nested, each) for each in item] if many else from_wire(nested, item)
    return kind(**facts)


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
            if type(item) not in _CHECKED:
                require_finite(item, str(key))
    elif isinstance(value, list):
        for item in value:
            if type(item) not in _CHECKED:
                require_finite(item, name)


def _fields_of(kind: type[Any]) -> dict[str, tuple[type[Any] | None, bool]]:
    """Return a record's fields: for each the class of nested records, if any, and whether it is a list of them.

    A record's annotations are strings (`list[Hit]`, `Degradation | None`), whose names its module defines.
    """
    names = vars(sys.modules[kind.__module__])
    found: dict[str, tuple[type[Any] | None, bool]] = {}
    for name in field_names(kind) or ():
        said = str(kind.__annotations__[name]).removesuffix(" | None")
        many = said.startswith("list[")
        inner = names.get(said[5:-1] if many else said)
        found[name] = (inner if field_names(inner) is not None else None, many)
    _known[kind] = found
    return found
