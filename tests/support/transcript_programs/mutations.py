"""Damaged JSON values, as hypothesis strategies: what marks text as a machine's keeps marking it."""

from __future__ import annotations

import json
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
