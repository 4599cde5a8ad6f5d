"""Edit one value in a JSON text; comments, order and indentation stay unchanged. Pure.

Comments and a trailing comma are allowed, as in editors' settings. An edited text is parsed again and refused if it has
any values other than the expected ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from msgspec import Struct

Keys = Sequence[str | int]


class UneditableTextError(ValueError):
    """The text is not valid JSON, or its layout can't be edited safely."""


_STRING = r'"(?:[^"\\]|\\.)*"'
_COMMENTS = re.compile(rf"{_STRING}|//[^\n\r]*|/\*.*?\*/", re.DOTALL)
_TRAILING_COMMAS = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.DOTALL)
_SPACE = re.compile(r"\s*")
_REST_OF_LINE = re.compile(r"[ \t]*(?:/\*[^\n\r]*?\*/[ \t]*)?(?://[^\n\r]*)?(?=\r?\n)")


def value_of(text: str) -> Any:
    """Return the parsed value of a text; an empty object if the text is blank."""
    return {} if _is_blank(text) else _Document(text).value


def put(text: str, keys: Keys, value: Any, *, merge: bool = False) -> str:
    """Return the text with a value set at a path of keys, or an object merged there; missing objects are created."""
    document = _Document(f"{text}{{}}\n" if _is_blank(text) else text)
    path = document.walk(keys)
    node, missing = path[-1], keys[len(path) - 1 :]
    if missing:
        new = value
        for key in reversed(missing[1:]):
            new = {key: new}
        return _checked(_appended(document, node, new, str(missing[0])), document, keys, value)
    if merge and isinstance(node.value, dict):
        value = {**node.value, **value}
    if node.value == value:
        return document.text
    shown = document.format(value, document.indent_at(node.first))
    return _checked(document.text[: node.start] + shown + document.text[node.end :], document, keys, value)


def append(text: str, keys: Keys, item: Any) -> str:
    """Return the text with an item appended to the list at a path of keys; a missing list is created."""
    document = _Document(text)
    path = document.walk(keys)
    if len(path) <= len(keys):
        return put(text, keys, [item])
    items = path[-1].value
    if not isinstance(items, list):
        raise UneditableTextError(f"{_format_path(keys)} is not a list")
    return _checked(_appended(document, path[-1], item), document, keys, [*items, item])


def take_out(text: str, keys: Keys) -> str:
    """Return the text without the member or item at a path of keys; unchanged if there is no such member."""
    if _is_blank(text):
        return text
    document = _Document(text)
    path = document.walk(keys)
    if len(path) <= len(keys):
        return text
    return _checked(_without(document, *path[-2:]), document, keys, None)


class Node(Struct, frozen=True):
    """A value and its position in the text; `first` is the position of its key, if it has one."""

    first: int
    start: int
    end: int
    value: Any
    key: str | int = 0


class _Document:
    """A text and its value.

    `bare` has spaces instead of comments, and `plain` instead of trailing commas too, so that each value has the same
    position in all three.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.bare = self.plain = f" {text[1:]}" if text.startswith("\ufeff") else text
        try:  # as it is, because some programs keep megabytes in their settings
            self.value = _load(self.plain)
        except UneditableTextError:
            self.bare = _COMMENTS.sub(_blank, self.plain)
            self.plain = _TRAILING_COMMAS.sub(_blank, self.bare)
            self.value = _load(self.plain)
        self.root = Node(0, _skip(self.plain, 0), len(self.plain.rstrip()), self.value)
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def walk(self, keys: Keys) -> list[Node]:
        """Return the existing nodes along a path of keys, from the root on. Of duplicate keys the last one counts."""
        path = [self.root]
        for depth, key in enumerate(keys):
            if not isinstance(path[-1].value, list if isinstance(key, int) else dict):
                wanted = "a list" if isinstance(key, int) else "an object"
                raise UneditableTextError(f"{_format_path(keys[:depth])} is not {wanted}")
            found = [child for child in self.children(path[-1]) if child.key == key]
            if not found:
                break
            path.append(found[-1])
        return path

    def children(self, node: Node) -> list[Node]:
        """Return the members of an object, or the items of a list."""
        children: list[Node] = []
        at = _skip(self.plain, node.start + 1)
        while at < node.end - 1:
            first, key = at, len(children)
            if isinstance(node.value, dict):
                key, at = _DECODE(self.plain, at)
                at = _skip(self.plain, _skip(self.plain, at) + 1)
            value, end = _DECODE(self.plain, at)
            children.append(Node(first, at, end, value, key))
            at = _skip(self.plain, end)
            at = _skip(self.plain, at + 1) if self.plain[at] == "," else at
        return children

    def format(self, value: Any, indent: str) -> str:
        """Return a value as JSON: on one line if the text is one line, else indented like the text."""
        if self.is_inline:
            return json.dumps(value, ensure_ascii=False)
        lines = json.dumps(value, indent=self.unit, ensure_ascii=False).split("\n")
        return f"{self.newline}{indent}".join(lines)

    @property
    def is_inline(self) -> bool:
        """Whether the value is on one line."""
        return bool(self.value) and "\n" not in self.text[self.root.start : self.root.end]

    @property
    def unit(self) -> str:
        """The indent of one level."""
        found = re.search(r"\n([ \t]+)\S", self.text)
        return found[1] if found else "  "

    def indent_at(self, at: int) -> str:
        """Return the white space before a position; empty if anything else precedes it on the line."""
        before = self.text[self.text.rfind("\n", 0, at) + 1 : at]
        return before if not before.strip() else ""


def _appended(document: _Document, node: Node, value: Any, key: str | None = None) -> str:
    """Return the text with a member or an item appended to a node."""
    text, newline, children = document.text, document.newline, document.children(node)
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if not children:
        if document.is_inline:
            return f"{text[: node.start + 1]}{name}{document.format(value, '')}{text[node.start + 1 :]}"
        outer = document.indent_at(node.first)
        inner = outer + document.unit
        kept = text[node.start + 1 : node.end - 1].rstrip()  # comments
        member = f"{newline}{inner}{name}{document.format(value, inner)}{newline}{outer}"
        return f"{text[: node.start + 1]}{kept}{member}{text[node.end - 1 :]}"
    end = children[-1].end
    at = _skip(document.bare, end)
    at, comma = (at + 1, "") if text[at] == "," else (end, ",")
    if "\n" not in text[node.start : children[0].first]:
        return f"{text[:end]}{comma}{text[end:at]} {name}{json.dumps(value, ensure_ascii=False)}{text[at:]}"
    inner = document.indent_at(children[0].first)
    line = _REST_OF_LINE.match(text, at)
    at = line.end() if line else at
    member = f"{newline}{inner}{name}{document.format(value, inner)}"
    return f"{text[:end]}{comma}{text[end:at]}{member}{text[at:]}"


def _without(document: _Document, node: Node, member: Node) -> str:
    """Return the text without a member or an item, its line and its comma."""
    text, children = document.text, document.children(node)
    first, end = member.first, member.end
    comma = _skip(document.bare, end)
    if text[comma] == ",":
        start = text.rfind("\n", 0, first)
        start = start if start >= node.start and not text[start:first].strip() else first
        return text[:start] + text[comma + 1 :]
    if len(children) > 1:
        start = children[-2].end
        comma = document.bare.index(",", start)
        return text[:start] + (text[start:comma] + text[comma + 1 : first]).rstrip() + text[end:]
    between = text[node.start + 1 : first].rstrip()  # comments
    return text[: node.start + 1] + between + (text[end:] if between else text[end:].lstrip())


def _checked(text: str, before: _Document, keys: Keys, value: Any) -> str:
    """Return an edited text after checking that it parses to the expected value."""
    if _Document(text).value != _changed(before.value, keys, value):
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


def _load(text: str) -> Any:
    """Return the value of a JSON text."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise UneditableTextError(f"line {error.lineno}, column {error.colno} is not valid JSON") from None
    except RecursionError:
        raise UneditableTextError("it is nested too deeply") from None


def _refuse(constant: str) -> NoReturn:
    raise UneditableTextError(f"{constant} is not JSON")


def _blank(found: re.Match[str]) -> str:
    """Return a string unchanged, and anything else as spaces; lines stay."""
    return found[0] if found[0][0] == '"' else re.sub(r"[^\n\r]", " ", found[0])


def _skip(text: str, at: int) -> int:
    """Return the next position that isn't white space."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _is_blank(text: str) -> bool:
    return not text.strip("\ufeff \t\r\n")


def _format_path(path: Keys) -> str:
    return ".".join(map(str, path)) or "the top level"


_DECODE = json.JSONDecoder().raw_decode
