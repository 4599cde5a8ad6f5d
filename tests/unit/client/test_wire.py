"""Replies survive the wire with everything inside them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest

from memd_client.messages import REQUESTS
from memd_client.wire import from_wire, to_wire

PLAIN: dict[type[Any], Any] = {str: "text", int: 3, float: 1.5, bool: True, bytes: b"\x00", dict: {"a": 1}}


def example_of(kind: Any) -> Any:
    """Return a value of a type, with one of everything inside it."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return example_of(next(each for each in inner if each is not NoneType))
    if origin is list:
        return [example_of(inner[0])]
    if origin is dict:
        return {example_of(inner[0]): example_of(inner[1])}
    if is_dataclass(kind) and isinstance(kind, type):
        hints = get_type_hints(kind)
        return kind(**{field.name: example_of(hints[field.name]) for field in fields(kind)})
    return PLAIN.get(kind, "text")


@pytest.mark.parametrize("name", REQUESTS)
def test_a_reply_is_the_same_after_the_wire(name: str) -> None:
    _, reply = REQUESTS[name]
    example = example_of(reply)
    assert from_wire(reply, to_wire(example)) == example
