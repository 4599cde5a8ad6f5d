"""One entry of a JSON file put in or taken out, everything else left as it stands: order, comments, indentation.

What editors take for JSON is understood: comments, commas after the last member. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memd.mcp.text_edit import UnreadableTextError

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")

MOST_DEPTH = 200


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an object: where its key begins, and its value."""

    key: str
    start: int
    value: Node


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands; of an object also its members."""

    start: int
    end: int
    value: Any
    members: tuple[Member, ...] = ()

    def member(self, key: str) -> Member | None:
        """Return the member of a key; of several the last, which is the one that counts."""
        return next((each for each in reversed(self.members) if each.key == key), None)


def put(text: str, keys: Sequence[str], value: Any) -> str:
    """Return the text with a value at a path of keys; what is missing on the way is made."""
    if not text.strip("\ufeff \t\r\n"):
        text += "{}\n"
    node = _parse(text)
    wanted = _changed(node.value, keys, value)
    above: list[Member] = []
    for depth, key in enumerate(keys):
        _check_object(node, keys[:depth])
        member = node.member(key)
        if member is None:
            nested: Any = value
            for missing in reversed(keys[depth + 1 :]):
                nested = {missing: nested}
            return _checked(_insert(text, node, above, key, nested), wanted)
        above.append(member)
        node = member.value
    if node.value == value:
        return text
    written = _written(value, _indent_at(text, above[-1].start), _unit(text, above), _newline(text))
    return _checked(text[: node.start] + written + text[node.end :], wanted)


def take_out(text: str, keys: Sequence[str]) -> str:
    """Return the text without what stands at a path of keys; as it is where nothing does."""
    if not text.strip("\ufeff \t\r\n"):
        return text
    node = _parse(text)
    for depth, key in enumerate(keys):
        _check_object(node, keys[:depth])
        member = node.member(key)
        if member is None:
            return text
        if depth == len(keys) - 1:
            return _checked(_without(text, node, member), _changed(value_of(text), keys, None))
        node = member.value
    return text


def value_of(text: str) -> Any:
    """Return what a JSON text says."""
    return _parse(text).value if text.strip("\ufeff \t\r\n") else {}


def _changed(held: Any, keys: Sequence[str], value: Any) -> Any:
    """Return what is held with a value at a path of keys; None takes it out."""
    if not keys:
        return value
    if not isinstance(held, dict):
        return held
    below = _changed(held.get(keys[0], {}), keys[1:], value)
    changed = {key: each for key, each in held.items() if key != keys[0]}
    return changed if below is None else {**changed, keys[0]: below}


def _checked(text: str, wanted: Any) -> str:
    """Return an edited text that says what it shall say."""
    if _parse(text).value != wanted:
        raise UnreadableTextError("it is laid out in a way that can't be edited safely")
    return text


def _check_object(node: Node, path: Sequence[str]) -> None:
    if not isinstance(node.value, dict):
        raise UnreadableTextError(f"{'.'.join(path) or 'what it holds'} is no object")


def _insert(text: str, node: Node, above: Sequence[Member], key: str, value: Any) -> str:
    """Return the text with a member behind the last of an object."""
    unit, newline = _unit(text, above), _newline(text)
    outer = _indent_at(text, above[-1].start) if above else ""
    inner = _indent_at(text, node.members[0].start) if node.members else outer + unit
    member = f"{json.dumps(key)}: {_written(value, inner, unit, newline)}"
    if not node.members:
        kept = text[node.start + 1 : node.end - 1].rstrip()  # comments may stand there
        return f"{text[: node.start + 1]}{kept}{newline}{inner}{member}{newline}{outer}{text[node.end - 1 :]}"
    end = node.members[-1].value.end
    following = _SPACE.match(text, end)
    assert following is not None
    if text[following.end()] == ",":  # a comma behind the last member
        return f"{text[: following.end() + 1]}{newline}{inner}{member}{text[following.end() + 1 :]}"
    return f"{text[:end]},{newline}{inner}{member}{text[end:]}"


def _without(text: str, node: Node, member: Member) -> str:
    """Return the text without a member, its line and its comma."""
    at = node.members.index(member)
    end = member.value.end
    comma = _SPACE.match(text, end)
    assert comma is not None
    if text[comma.end()] == ",":
        end = comma.end() + 1
        start = text.rfind("\n", 0, member.start)
        start = start if start >= node.start and not text[start : member.start].strip() else member.start
        return text[:start] + text[end:]
    start = node.members[at - 1].value.end if at else node.start + 1
    if at:
        return text[:start] + text[start : member.start].replace(",", "", 1).rstrip() + text[end:]
    between = text[start : member.start].rstrip()  # comments may stand there
    return text[:start] + between + (text[end:] if between else text[end:].lstrip())


def _written(value: Any, indent: str, unit: str, newline: str) -> str:
    """Return a value as JSON, its lines behind the first at their place."""
    lines = json.dumps(value, indent=unit or None, ensure_ascii=False).split("\n")
    return newline.join([lines[0], *(indent + line for line in lines[1:])])


def _indent_at(text: str, at: int) -> str:
    """Return what a line begins with before the first character that shows; nothing for one in the midst of a line."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    return before if not before.strip() else ""


def _unit(text: str, above: Sequence[Member]) -> str:
    """Return what each level is moved in by."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _parse(text: str) -> Node:
    """Return the tree of a text."""
    node = _node(text, _skip(text, 0), 0)
    end = _skip(text, node.end)
    if end < len(text):
        raise _unreadable(text, end)
    return node


def _node(text: str, at: int, depth: int) -> Node:
    opening = text[at : at + 1]
    if depth < MOST_DEPTH and opening == "{":
        return _object(text, at, depth)
    if depth < MOST_DEPTH and opening == "[":
        return _array(text, at, depth)
    found = _STRING.match(text, at) or _SCALAR.match(text, at)
    if found is None:
        raise _unreadable(text, at)
    try:
        return Node(at, found.end(), json.loads(found[0]))
    except ValueError:
        raise _unreadable(text, at) from None


def _object(text: str, start: int, depth: int) -> Node:
    members: list[Member] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != "}":
        key = _STRING.match(text, at)
        colon = _skip(text, key.end()) if key else at
        if key is None or text[colon : colon + 1] != ":":
            raise _unreadable(text, colon)
        value = _node(text, _skip(text, colon + 1), depth + 1)
        members.append(Member(json.loads(key[0]), at, value))
        at = _behind(text, value.end, "}")
    return Node(start, at + 1, {each.key: each.value.value for each in members}, tuple(members))


def _array(text: str, start: int, depth: int) -> Node:
    values: list[Any] = []
    at = _skip(text, start + 1)
    while text[at : at + 1] != "]":
        item = _node(text, at, depth + 1)
        values.append(item.value)
        at = _behind(text, item.end, "]")
    return Node(start, at + 1, values)


def _behind(text: str, at: int, closing: str) -> int:
    """Return where the next part begins, or the closing sign stands."""
    at = _skip(text, at)
    if text[at : at + 1] == ",":
        return _skip(text, at + 1)
    if text[at : at + 1] != closing:
        raise _unreadable(text, at)
    return at


def _skip(text: str, at: int) -> int:
    """Return the first place that is neither space nor comment."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _unreadable(text: str, at: int) -> UnreadableTextError:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return UnreadableTextError(f"line {line}, column {column} is no JSON")
