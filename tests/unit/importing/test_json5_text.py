"""A value is put into JSON5 without touching anything else."""

from __future__ import annotations

from typing import Any

import json5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.importing.json5_text import NotFoundError, with_item_first

NAMES = st.sampled_from(["agents", "list", "memory", "search", "extraPaths", "x y"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab{}[]:,'\\/*\n", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
SPACES = st.sampled_from(["", " ", "\n", "\r\n  ", " // a, {\n", "/* ] */", "\t"])


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """Return a value as some person would write it in JSON5."""

    def gap() -> str:
        return draw(SPACES)

    if isinstance(value, dict):
        inner = ",".join(
            f"{gap()}{draw(st.sampled_from([repr(key), key if ' ' not in key else repr(key)]))}{gap()}:{gap()}"
            f"{draw(written(each))}{gap()}"
            for key, each in value.items()
        )
        return "{" + inner + ("," if inner and draw(st.booleans()) else "") + gap() + "}"
    if isinstance(value, list):
        inner = ",".join(f"{gap()}{draw(written(each))}{gap()}" for each in value)
        return "[" + inner + ("," if inner and draw(st.booleans()) else "") + gap() + "]"
    return str(json5.dumps(value))


def expected(value: Any, keys: list[str]) -> Any:
    """Return a value with the item in it; None where there is no place for it."""
    if not keys:
        return ["new", *value] if isinstance(value, list) else None
    if not isinstance(value, dict):
        return None
    if keys[0] not in value:
        made: Any = ["new"]
        for key in reversed(keys[1:]):
            made = {key: made}
        return {**value, keys[0]: made}
    inner = expected(value[keys[0]], keys[1:])
    return None if inner is None else {**value, keys[0]: inner}


@given(st.data(), st.dictionaries(NAMES, VALUES, max_size=4), st.lists(NAMES, min_size=1, max_size=3))
def test_the_value_is_there_and_nothing_else_is_different(
    data: st.DataObject, value: Any, keys: list[str]
) -> None:
    text = data.draw(SPACES) + data.draw(written(value)) + data.draw(SPACES)
    wanted = expected(value, keys)

    if wanted is None:
        with pytest.raises(NotFoundError):
            with_item_first(text, keys, "new")
        return
    made = with_item_first(text, keys, "new")
    assert json5.loads(made) == wanted
    rest = iter(made)
    assert all(char in rest for char in text), "every character of before is still there, in its order"


@given(st.text("{}[]:,'\"/*a1 \n\\", max_size=30), st.lists(NAMES, max_size=2))
def test_no_text_makes_it_fail_otherwise(text: str, keys: list[str]) -> None:
    try:
        made = with_item_first(text, keys, "new")
    except NotFoundError:
        return
    assert len(made) > len(text)


def test_comments_and_style_stay_as_they_are() -> None:
    text = """{
  // mine
  agents: {
    list: [
      {
        id: 'work', // the other one
        memorySearch: {
          extraPaths: [
            '~/notes', // shared
          ],
        },
      },
    ],
  },
}
"""
    made = with_item_first(text, ["agents", "list", 0, "memorySearch", "extraPaths"], "/vault")

    assert made == text.replace("[\n            '~/n", '[\n            "/vault",\n            \'~/n')


def test_what_is_missing_on_the_way_is_made_in_the_style_of_its_neighbours() -> None:
    assert with_item_first("{a: 1}", ["memory", "search", "extraPaths"], "/v") == (
        '{memory: {"search": {"extraPaths": ["/v"]}}, a: 1}'
    )
    assert with_item_first("{ a: [ 1 ] }", ["a"], 2) == "{ a: [ 2, 1 ] }"
    assert with_item_first('{\r\n  "a": 1\r\n}', ["b"], "/v") == '{\r\n  "b": ["/v"],\r\n  "a": 1\r\n}'
    assert with_item_first("{}", ["a-b"], "/v") == '{"a-b": ["/v"]}'


def test_deep_nesting_is_no_place() -> None:
    with pytest.raises(NotFoundError):
        with_item_first("[" * 5_000, ["a"], "/v")
