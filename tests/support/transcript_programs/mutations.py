"""Damaged JSON values, as hypothesis strategies: what marks text as a machine's keeps marking it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any, Final

from hypothesis import strategies as st

MARKS: Final = frozenset(
    "role type synthetic ignored summary mode agent isSimulatedMsg simulatedMsgReason isThought capabilityType".split()
)
"""Keys whose values say that a text isn't a person's: another value would make it a person's rightly."""

JUNK: Final[st.SearchStrategy[Any]] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["\ud800", "", "\0", "é" * 50, 10**40, -1, 2**63])
    | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)

DEEP: Final = '{"a":' * 3_000

BROKEN: Final = st.sampled_from(
    [DEEP, "[" * 5_000, "", "null", "[]", "{}", "NaN", '"text"', "{", "\ufeff{}", "0"]
)

BROKEN_LINES: Final = (
    b"{",
    b"null",
    b"[1]",
    b"NaN",
    b"[" * 100_000,
    b'{"message":' * 50_000,
    b'{"data":' * 50_000,
    b"9" * 5_000,
    b"\xff\xfe",
    b"\0",
)
"""Lines of a transcript that are no records."""


def paths_in(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the paths of all values in a JSON value that mark nothing."""
    found = [path]
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in MARKS:
                found += paths_in(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            found += paths_in(inner, (*path, at))
    return found


def with_value(value: Any, path: tuple[str | int, ...], new: object) -> Any:
    """Return a JSON value with another value at a path."""
    if not path:
        return new
    if isinstance(value, dict):
        return {
            key: with_value(each, path[1:], new) if key == path[0] else each for key, each in value.items()
        }
    return [with_value(each, path[1:], new) if at == path[0] else each for at, each in enumerate(value)]


@st.composite
def mutated(draw: st.DrawFn, stored: str) -> str | bytes | int | None:
    """Return a stored JSON text with a value replaced, or cut, or replaced as a whole."""
    kind = draw(st.sampled_from(["value", "value", "value", "cut", "broken", "bytes", "none", "number"]))
    if kind == "value":
        value = json.loads(stored)
        return json.dumps(with_value(value, draw(st.sampled_from(paths_in(value))), draw(JUNK)))
    if kind == "cut":
        return stored[: draw(st.integers(0, len(stored)))]
    if kind == "bytes":
        return stored.encode()[: draw(st.integers(0, len(stored)))] + b"\xff\xfe"
    return {"broken": draw(BROKEN), "none": None, "number": draw(st.integers(-5, 5))}[kind]


# --- whole files ------------------------------------------------------------------------------------

_VALUES: Final[tuple[Any, ...]] = (
    7, -1, 10**40, 1e308, True, "", "x", "\ud83d", [], ["x"], [[7]], {}, {"type": "text", "text": 7}, {"a": {"a": 7}},
)  # fmt: skip
"""Values of other types: neither null nor false, which rightly revoke a mark."""

_DEEP_LINES: Final = (
    b"[" * 30_000, b'{"message":' * 5_000, b"null", b"[]", b"{}", b"NaN", b'"text"', b"\xef\xbb\xbf{}", b"\0", b" ",
)  # fmt: skip


def mutate(lines: Sequence[bytes], random: Random, machine: bytes = b"machine text") -> list[bytes]:
    """Return damaged lines of a file: cut, with flipped bytes, values of other types, nested junk, in another order.

    A line with the mark of machine text keeps every field by which a reader can recognize it, or isn't valid JSON.
    """
    damaged = list(lines)
    for _ in range(random.randint(1, 6)):
        if not damaged:
            break
        at = random.randrange(len(damaged))
        line = damaged[at]
        match random.randrange(8):
            case 0:
                damaged[at] = line[: random.randrange(len(line) + 1)]
            case 1 | 2:
                flipped = _with_flipped_bytes(line, random)
                damaged[at] = line[:-1] if machine in line and is_json(flipped) else flipped
            case 3 | 4 | 5:
                damaged[at] = _with_other_value(line, random, machine in line)
            case 6:
                damaged.insert(at, random.choice(_DEEP_LINES))
            case _:
                moved = damaged.pop(at) if random.random() < 0.5 else line
                damaged.insert(random.randint(0, len(damaged)), moved)
    return damaged


def _with_flipped_bytes(line: bytes, random: Random) -> bytes:
    flipped = bytearray(line)
    for _ in range(random.randint(1, 4) if line else 0):
        flipped[random.randrange(len(flipped))] ^= 1 << random.randrange(8)
    return bytes(flipped).replace(b"\n", b" ")


def _with_other_value(line: bytes, random: Random, is_marked: bool) -> bytes:
    """Return a line with the value at a random path replaced by one of another type, in a marked line no empty one."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return line
    holder: Any = {"": record}
    key: Any = ""
    inner: Any = record
    while isinstance(inner, (dict, list)) and inner and random.random() < 0.8:
        holder, key = inner, random.choice([*inner] if isinstance(inner, dict) else range(len(inner)))
        inner = holder[key]
    holder[key] = random.choice(
        [value for value in _VALUES if type(value) is not type(inner) and (value or not is_marked)]
    )
    return json.dumps(record if key != "" else holder[""]).encode()


def is_json(line: bytes) -> bool:
    """Return whether a line is valid JSON."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
