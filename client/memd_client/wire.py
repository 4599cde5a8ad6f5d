"""Messages to maps and back: what a frame holds of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from .record import names_of

TYPE_CHECKING = False  # typing's own costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})
"""What msgpack takes as it is: most of what a reply is made of."""

_known: dict[type[Any], dict[str, tuple[type[Any] | None, bool]]] = {}


def to_wire(message: Any) -> Any:
    """Return a message as maps, lists and scalars for msgpack.

    Args:
        message: A message of this module, or anything inside one.
    """
    names = names_of(type(message))
    if names is not None:
        facts = vars(message)
        return {name: fact if type(fact := facts[name]) in _PLAIN else to_wire(fact) for name in names}
    if isinstance(message, list | tuple):
        return [to_wire(item) for item in message]
    return message


def from_wire(kind: type[T], value: Mapping[str, Any]) -> T:
    """Return the reply of a type that arrived as a map.

    Args:
        kind: The reply type, from `REQUESTS`.
        value: The map of the reply.

    Raises:
        TypeError: A field this version needs is missing.
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


def _fields_of(kind: type[Any]) -> dict[str, tuple[type[Any] | None, bool]]:
    """Return a record's fields: for each the record it holds, if any, and whether it holds a list of them.

    A record's annotations are texts (`list[Hit]`, `Degraded | None`), and what they name stands in its module.
    """
    names = vars(sys.modules[kind.__module__])
    found: dict[str, tuple[type[Any] | None, bool]] = {}
    for name in names_of(kind) or ():
        said = str(kind.__annotations__[name]).removesuffix(" | None")
        many = said.startswith("list[")
        inner = names.get(said[5:-1] if many else said)
        found[name] = (inner if names_of(inner) is not None else None, many)
    _known[kind] = found
    return found
