"""Messages to maps and back: what a frame holds of them."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

TYPE_CHECKING = False  # typing's own costs a client 6 ms at import; type checkers know the name
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

_NESTING = re.compile(r"(?P<many>list\[)?(?P<name>\w+)\]?(?: \| None)?")
"""An annotation that may name a record: `Degraded | None`, `list[Hit]`."""

_known: dict[type[Any], dict[str, tuple[type[Any] | None, bool]]] = {}


def to_wire(message: Any) -> Any:
    """Return a message as maps, lists and scalars for msgpack.

    Args:
        message: A message of this module, or anything inside one.
    """
    if is_dataclass(message) and not isinstance(message, type):
        return {name: to_wire(getattr(message, name)) for name in type(message).__dataclass_fields__}
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

    A record's annotations are texts, and what they name stands in its module.
    """
    names = vars(sys.modules[kind.__module__])
    found: dict[str, tuple[type[Any] | None, bool]] = {}
    for field in fields(kind):
        said = _NESTING.fullmatch(str(field.type))
        inner = names.get(said["name"]) if said else None
        found[field.name] = (inner if is_dataclass(inner) else None, bool(said and said["many"]))  # type: ignore[assignment]
    _known[kind] = found
    return found
