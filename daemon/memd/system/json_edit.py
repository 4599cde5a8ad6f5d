"""Edit one value in a JSON text; comments, order and indentation stay unchanged. Pure.

Comments and a trailing comma are allowed, as in editors' settings. An edited text is parsed again and refused if it has
any values other than the expected ones.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

MAX_DEPTH = 200

Keys = Sequence[str | int]


class UneditableTextError(ValueError):
    """The text is not valid JSON, or its layout can't be edited safely."""


_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_PLAIN = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_COMMENT = r"//[^\n\r\u2028\u2029]*|/\*.*?\*/"
_GAP = re.compile(rf"(?:\s|\ufeff|{_COMMENT})*", re.DOTALL)
_REST_OF_LINE = re.compile(r"[ \t]*(?:/\*[^\n\r]*?\*/[ \t]*)?(?://[^\n\r]*)?(?=\r?\n)")


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_SCAN = json.JSONDecoder(parse_constant=_refuse).raw_decode
"""Reads a value at the speed of C."""


@dataclass(frozen=True, slots=True)
class Node:
    """A value and its position in the text; `keys` are those of an object's members, in the order of `children`.

    Only the containers along the edited path have children.
    """

    start: int
    end: int
    value: Any
    keys: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()
    children: tuple[Node, ...] = ()

    def index_of(self, key: str | int) -> int | None:
        """Return the position of a key among the children, or None. Of duplicate keys the last one counts."""
        if isinstance(key, int):
            return key if isinstance(self.value, list) and key < len(self.children) else None
        return max((at for at, each in enumerate(self.keys) if each == key), default=None)


def value_of(text: str) -> Any:
    """Return the parsed value of a text; an empty object if the text is blank."""
    return _Parser(text, None).parse().value if text.strip("\ufeff \t\r\n") else {}


def put(text: str, keys: Keys, value: Any, *, merge: bool = False) -> str:
    """Return the text with a value set at a path of keys, or an object merged there; missing objects are created."""
    if not text.strip("\ufeff \t\r\n"):
        text += "{}\n"
    root = _Parser(text, keys).parse()
    path, indent = _walk(text, root, keys)
    node, missing = path[-1], keys[len(path) - 1 :]
    if merge and not missing and isinstance(node.value, dict):
        value = {**node.value, **value}
    if missing:
        new = value
        for key in reversed(missing[1:]):
            new = {key: new}
        after = _append(text, root, node, indent, new, str(missing[0]))
    elif node.value == value:
        return text
    else:
        after = text[: node.start] + _format_value(text, root, value, indent) + text[node.end :]
    return _checked(after, root, keys, value)


def append(text: str, keys: Keys, item: Any) -> str:
    """Return the text with an item appended to the list at a path of keys; a missing list is created."""
    root = _Parser(text, keys).parse()
    path, indent = _walk(text, root, keys)
    node = path[-1]
    if len(path) <= len(keys):
        return put(text, keys, [item])
    if not isinstance(node.value, list):
        raise UneditableTextError(f"{_format_path(keys)} is not a list")
    after = _append(text, root, node, indent, item)
    return _checked(after, root, keys, [*node.value, item])


def take_out(text: str, keys: Keys) -> str:
    """Return the text without the member or item at a path of keys; unchanged if there is no such member."""
    if not text.strip("\ufeff \t\r\n"):
        return text
    root = _Parser(text, keys).parse()
    path, _ = _walk(text, root, keys)
    if len(path) <= len(keys):
        return text
    return _checked(_without(text, *path[-2:]), root, keys, None)


def _walk(text: str, root: Node, keys: Keys) -> tuple[list[Node], str]:
    """Return the existing nodes along a path of keys, and the indent of the last one's line."""
    path, indent = [root], ""
    for depth, key in enumerate(keys):
        node = path[-1]
        at = node.index_of(key)
        if at is None:
            if isinstance(key, int):
                raise UneditableTextError(f"{_format_path(keys[:depth])} has no item {key}")
            if not isinstance(node.value, dict):
                raise UneditableTextError(f"{_format_path(keys[:depth])} is not an object")
            break
        indent = _indent_at(text, node.starts[at])
        path.append(node.children[at])
    return path, indent


# --- edits ---------------------------------------------------------------------------------------------


def _append(text: str, root: Node, node: Node, outer: str, value: Any, key: str | None = None) -> str:
    """Return the text with a member or an item appended to a node."""
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    newline = _newline(text)
    if not node.children:
        inner = outer + _unit(text)
        member = name + _format_value(text, root, value, inner)
        if _is_inline(text, root):
            return f"{text[: node.start + 1]}{member}{text[node.start + 1 :]}"
        kept = text[node.start + 1 : node.end - 1].rstrip()  # comments
        return f"{text[: node.start + 1]}{kept}{newline}{inner}{member}{newline}{outer}{text[node.end - 1 :]}"
    end = node.children[-1].end
    at = _skip(text, end)
    at, comma = (at + 1, "") if text[at] == "," else (end, ",")
    if "\n" not in text[node.start : node.starts[0]]:
        member = name + json.dumps(value, ensure_ascii=False)
        return f"{text[:end]}{comma}{text[end:at]} {member}{text[at:]}"
    inner = _indent_at(text, node.starts[0])
    line = _REST_OF_LINE.match(text, at)
    at = line.end() if line else at
    member = name + _format_value(text, root, value, inner)
    return f"{text[:end]}{comma}{text[end:at]}{newline}{inner}{member}{text[at:]}"


def _without(text: str, node: Node, member: Node) -> str:
    """Return the text without a member or an item, its line and its comma."""
    at = next(number for number, each in enumerate(node.children) if each is member)
    first, end = node.starts[at], member.end
    comma = _skip(text, end)
    if text[comma] == ",":
        end = comma + 1
        start = text.rfind("\n", 0, first)
        start = start if start >= node.start and not text[start:first].strip() else first
        return text[:start] + text[end:]
    if at:
        start = node.children[at - 1].end
        return text[:start] + text[start:first].replace(",", "", 1).rstrip() + text[end:]
    between = text[node.start + 1 : first].rstrip()  # comments
    return text[: node.start + 1] + between + (text[end:] if between else text[end:].lstrip())


def _checked(text: str, before: Node, keys: Keys, value: Any) -> str:
    """Return an edited text after checking that it parses to the expected value."""
    if _Parser(text, None).parse().value != _changed(before.value, keys, value):
        raise UneditableTextError("its layout can't be edited safely")
    return text


def _changed(document: Any, keys: Keys, value: Any) -> Any:
    """Return a document with a value at a path of keys; None removes the member or item."""
    if not keys:
        return value
    key, rest = keys[0], keys[1:]
    if isinstance(key, int):
        if value is None and not rest:
            return [each for at, each in enumerate(document) if at != key]
        return [_changed(each, rest, value) if at == key else each for at, each in enumerate(document)]
    below = _changed(document.get(key, {}), rest, value)
    changed = {name: each for name, each in document.items() if name != key}
    return changed if below is None else {**changed, key: below}


def _format_path(path: Keys) -> str:
    return ".".join(map(str, path)) or "the top level"


def _format_value(text: str, root: Node, value: Any, indent: str) -> str:
    """Return a value as JSON: on one line if the text is one line, else indented like the text."""
    if _is_inline(text, root):
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return _newline(text).join([lines[0], *(indent + line for line in lines[1:])])


def _is_inline(text: str, root: Node) -> bool:
    return bool(root.children) and "\n" not in text[root.start : root.end]


def _indent_at(text: str, at: int) -> str:
    """Return the white space before a position; empty if anything else precedes it on the line."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return before if not before.strip() else ""


def _unit(text: str) -> str:
    """Return the indent of one level."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _skip(text: str, at: int) -> int:
    """Return the next position that is neither white space nor comment."""
    found = _GAP.match(text, at)
    return found.end() if found else at


# --- parsing -------------------------------------------------------------------------------------------


class _Parser:
    """Parses one text, with the positions of the values along a path of keys; None: of no value but the whole."""

    def __init__(self, text: str, keys: Keys | None) -> None:
        self._text = text
        self._keys = keys

    def parse(self) -> Node:
        """Return the tree of the whole text."""
        node = self._node(_skip(self._text, 0), 0, self._keys)
        end = _skip(self._text, node.end)
        if end < len(self._text):
            raise self._error(end)
        return node

    def _node(self, at: int, depth: int, keys: Keys | None) -> Node:
        opening = self._text[at : at + 1]
        if opening in ("{", "[") and depth < MAX_DEPTH:
            if keys is None:
                with contextlib.suppress(ValueError, RecursionError):  # comments
                    value, end = _SCAN(self._text, at)
                    return Node(at, end, value)
            return self._container(at, depth, keys, is_object=opening == "{")
        found = _STRING.match(self._text, at) or _PLAIN.match(self._text, at)
        if found is None:
            raise self._error(at)
        return Node(at, found.end(), self._plain(found[0], at))

    def _container(self, start: int, depth: int, path: Keys | None, *, is_object: bool) -> Node:
        keys: list[str] = []
        starts: list[int] = []
        children: list[Node] = []
        closing = "}" if is_object else "]"
        at = _skip(self._text, start + 1)
        while self._text[at : at + 1] != closing:
            starts.append(at)
            if is_object:
                key, at = self._member_key(at)
                keys.append(key)
            name = keys[-1] if is_object else len(children)
            children.append(self._node(at, depth + 1, path[1:] if path and path[0] == name else None))
            at = _skip(self._text, children[-1].end)
            if self._text[at : at + 1] == ",":
                at = _skip(self._text, at + 1)
            elif self._text[at : at + 1] != closing:
                raise self._error(at)
        values = [each.value for each in children]
        value = dict(zip(keys, values, strict=True)) if is_object else values
        return Node(start, at + 1, value, tuple(keys), tuple(starts), tuple(children))

    def _member_key(self, at: int) -> tuple[str, int]:
        """Return a member's key and the position of its value."""
        found = _STRING.match(self._text, at)
        colon = _skip(self._text, found.end() if found else at)
        if found is None or self._text[colon : colon + 1] != ":":
            raise self._error(colon)
        return str(self._plain(found[0], at)), _skip(self._text, colon + 1)

    def _plain(self, token: str, at: int) -> Any:
        """Return the value of a scalar token."""
        try:
            return json.loads(token)
        except ValueError:
            raise self._error(at) from None

    def _error(self, at: int) -> UneditableTextError:
        line = self._text.count("\n", 0, at) + 1
        column = at - (self._text.rfind("\n", 0, at) + 1) + 1
        return UneditableTextError(f"line {line}, column {column} is not valid JSON")
