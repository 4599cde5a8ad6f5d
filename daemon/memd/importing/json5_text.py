"""One value more in a JSON5 text, with everything else left as it is: comments, quotes, commas. Pure.

This finds places; it doesn't check the text. Whoever uses it reads both texts as JSON5 and compares.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_SPACE = re.compile(r"(?:\s|\ufeff|//[^\n\r\u2028\u2029]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', re.DOTALL)
_BARE = re.compile(r"[^\s,:{}\[\]\"'/]+")
_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")

MOST_NESTED = 200
"""Settings are some levels deep; what nests more is not edited."""


class NotFoundError(ValueError):
    """There is no place for the value: the text is no JSON5, or something else stands there."""


@dataclass(slots=True)
class Node:
    """A value's place in the text: a map, a list, or something that holds no others.

    Attributes:
        start: Its first character.
        end: One behind its last.
        members: Of a map, by key.
        items: Of a list.
        first: Where the first member or item begins; -1 where there is none.
    """

    start: int
    end: int = 0
    members: dict[str, Node] | None = None
    items: list[Node] | None = None
    first: int = field(default=-1)


def with_item_first(text: str, keys: Sequence[str | int], value: object) -> str:
    """Return a text with a value at the head of a list, which is made where it is missing.

    At the head, since what follows then keeps its commas and the comments beside it.
    """
    node = _value(text, _SPACE.match(text, 0).end(), 0)  # type: ignore[union-attr]
    for place, key in enumerate(keys):
        if isinstance(key, int):
            if node.items is None or key >= len(node.items):
                raise NotFoundError("there is no such list")
            node = node.items[key]
            continue
        if node.members is None:
            raise NotFoundError("there is no such object")
        if key not in node.members:
            return _insert(text, node, _member(text, node, keys[place:], value))
        node = node.members[key]
    if node.items is None:
        raise NotFoundError("there is no such list")
    return _insert(text, node, json.dumps(value, ensure_ascii=False))


def _member(text: str, node: Node, keys: Sequence[str | int], value: object) -> str:
    """Return a member of a map that leads to a list of one value; its key is written as its neighbours are."""
    made: object = [value]
    for key in reversed(keys[1:]):
        if isinstance(key, int):
            raise NotFoundError("there is no such list")
        made = {key: made}
    name = str(keys[0])
    bare = node.first >= 0 and text[node.first] not in "\"'" and _NAME.fullmatch(name) is not None
    return f"{name if bare else json.dumps(name)}: {json.dumps(made, ensure_ascii=False)}"


def _insert(text: str, node: Node, piece: str) -> str:
    """Return the text with a piece as the first of a map or list: on a line of its own where the others are."""
    inside = node.start + 1
    if node.first < 0:
        return text[:inside] + piece + text[inside:]
    line_end = text.find("\n", inside, node.first)
    if line_end < 0:
        return f"{text[: node.first]}{piece}, {text[node.first :]}"
    line_end -= text[line_end - 1] == "\r"
    line_start = text.rfind("\n", 0, node.first) + 1
    indent = re.match(r"[ \t]*", text[line_start:])
    assert indent is not None
    newline = "\r\n" if text[line_end] == "\r" else "\n"
    return f"{text[:line_end]}{newline}{indent[0]}{piece},{text[line_end:]}"


def _value(text: str, at: int, depth: int) -> Node:
    """Return the value that begins at a place."""
    if depth > MOST_NESTED:
        raise NotFoundError("it is nested too deeply")
    opening = text[at : at + 1]
    if opening in ("{", "["):
        return _inside(text, Node(at), depth, is_map=opening == "{")
    found = _STRING.match(text, at) or _BARE.match(text, at)
    if found is None:
        raise NotFoundError(f"no value at character {at}")
    return Node(at, found.end())


def _inside(text: str, node: Node, depth: int, *, is_map: bool) -> Node:
    """Return a map or list with what is in it."""
    members: dict[str, Node] = {}
    items: list[Node] = []
    closing = "}" if is_map else "]"
    at = _next(text, node.start + 1)
    while text[at : at + 1] != closing:
        if node.first < 0:
            node.first = at
        if is_map:
            key = _STRING.match(text, at) or _BARE.match(text, at)
            colon = _next(text, key.end()) if key else at
            if key is None or text[colon : colon + 1] != ":":
                raise NotFoundError(f"no key at character {at}")
            at = _next(text, colon + 1)
        value = _value(text, at, depth + 1)
        if is_map:
            assert key is not None
            members[_plain_key(key[0])] = value
        else:
            items.append(value)
        at = _next(text, value.end)
        if text[at : at + 1] == ",":
            at = _next(text, at + 1)
        elif text[at : at + 1] != closing:
            raise NotFoundError(f"neither a comma nor an end at character {at}")
    node.end = at + 1
    node.members, node.items = (members, None) if is_map else (None, items)
    return node


def _next(text: str, at: int) -> int:
    """Return where the next thing begins that is neither space nor comment."""
    found = _SPACE.match(text, at)
    assert found is not None
    return found.end()


def _plain_key(written: str) -> str:
    """Return a key without its quotes; one with escapes stays as it is written, and is not found."""
    return written[1:-1] if written[0] in "\"'" else written
