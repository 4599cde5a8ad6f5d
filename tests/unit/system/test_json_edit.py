"""Setting, appending and removing one value of a JSON text without changing anything else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.system import json_edit
from memd.system.json_edit import Node, UneditableTextError, append, put, take_out, value_of

KEYS = ("mcpServers", "memd")
ENTRY = {"command": "memctl", "args": ["mcp"]}

COMMENTED = """\
// Servers of this machine
{
    "theme": "dark", // not light
    "mcpServers": {
        /* the first */
        "other": { "command": "x", "args": ["--url=http://a//b", "}"] },
    },
}
"""

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(
    "text", ["", "\n", "{}", "{ }\n", '{"mcpServers": {}}', '{\n  "mcpServers": {\n  }\n}\n']
)
def test_put_creates_a_missing_entry(text: str) -> None:
    assert json.loads(put(text, KEYS, ENTRY)) == {"mcpServers": {"memd": ENTRY}}


def test_put_leaves_everything_else_unchanged() -> None:
    after = put(COMMENTED, KEYS, ENTRY)

    assert [line for line in after.splitlines() if line in COMMENTED.splitlines()] == COMMENTED.splitlines()
    assert value_of(after)["mcpServers"]["memd"] == ENTRY
    assert '        "memd": {\n            "command": "memctl",' in after, "indented like the others"


def test_putting_the_same_value_again_changes_nothing() -> None:
    once = put(COMMENTED, KEYS, ENTRY)

    assert put(once, KEYS, dict(ENTRY)) == once


def test_put_replaces_an_existing_entry() -> None:
    once = put(COMMENTED, KEYS, ENTRY)
    twice = put(once, KEYS, {"command": "elsewhere"})

    assert value_of(twice)["mcpServers"]["memd"] == {"command": "elsewhere"}
    assert take_out(twice, KEYS) == take_out(once, KEYS)


def test_take_out_reverts_put() -> None:
    text = '{\n  "a": 1,\n  "mcpServers": {\n    "other": {}\n  }\n}\n'

    assert take_out(put(text, KEYS, ENTRY), KEYS) == text


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_take_out_removes_an_entry_at_any_position(place: str) -> None:
    members = {"a": 1, "b": 2}
    names = {"first": ["memd", "a", "b"], "middle": ["a", "memd", "b"], "last": ["a", "b", "memd"]}[place]
    held = {"mcpServers": {name: members.get(name, ENTRY) for name in names}}

    for text in (json.dumps(held), json.dumps(held, indent=2), json.dumps(held, indent="\t")):
        assert json.loads(take_out(text, KEYS)) == {"mcpServers": members}


def test_taking_out_a_missing_entry_changes_nothing() -> None:
    assert take_out(COMMENTED, KEYS) == COMMENTED
    assert take_out("", KEYS) == ""


def test_line_endings_and_byte_order_mark_are_kept() -> None:
    text = '\ufeff{\r\n  "a": 1\r\n}\r\n'

    after = put(text, KEYS, ENTRY)

    assert after.startswith('\ufeff{\r\n  "a": 1,\r\n')
    assert "\n" not in after.replace("\r\n", "")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"a": }', "line 1, column 7"),
        ('{\n  "a": 1\n', "line 3, column 1"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a": 01}', "line 1, column 8"),
        ("{} {}", "line 1, column 4"),
        ("[" * 300, "line 1, column 301"),
        ('{"mcpServers": []}', "mcpServers is not an object"),
        ("[]", "the top level is not an object"),
    ],
)
def test_invalid_text_is_refused_with_line_and_column(text: str, where: str) -> None:
    with pytest.raises(UneditableTextError, match=where):
        put(text, KEYS, ENTRY)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4), st.sampled_from([None, 2, "\t"]))
def test_put_and_take_out_keep_all_other_settings(held: dict[str, Any], indent: int | str | None) -> None:
    held = {**held, "mcpServers": {"other": held}}
    text = json.dumps(held, indent=indent)

    after = put(text, KEYS, ENTRY)

    assert json.loads(after) == {**held, "mcpServers": {"other": held["mcpServers"]["other"], "memd": ENTRY}}
    assert json.loads(take_out(after, KEYS)) == held


KEY_NAMES = st.sampled_from(["agents", "list", "memory", "search", "extraPaths", "x y"])
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab{}[]:,'\\/*\n", max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY_NAMES, inner, max_size=3),
    max_leaves=8,
)
SPACES = st.sampled_from(["", " ", "\n", "\r\n  ", " // a, {\n", "/* ] */", "\t"])


@st.composite
def written(draw: st.DrawFn, value: Any) -> str:
    """Return a value as JSON with arbitrary gaps and comments."""

    def gap() -> str:
        return draw(SPACES)

    if isinstance(value, dict):
        inner = ",".join(
            f"{gap()}{json.dumps(key)}{gap()}:{gap()}{draw(written(each))}{gap()}"
            for key, each in value.items()
        )
        return "{" + inner + ("," if inner and draw(st.booleans()) else "") + gap() + "}"
    if isinstance(value, list):
        inner = ",".join(f"{gap()}{draw(written(each))}{gap()}" for each in value)
        return "[" + inner + ("," if inner and draw(st.booleans()) else "") + gap() + "]"
    return json.dumps(value)


def expected(value: Any, keys: list[str]) -> Any:
    """Return a value with the item appended at `keys`; None if that is impossible."""
    if not keys:
        return [*value, "new"] if isinstance(value, list) else None
    if not isinstance(value, dict):
        return None
    if keys[0] not in value:
        made: Any = ["new"]
        for key in reversed(keys[1:]):
            made = {key: made}
        return {**value, keys[0]: made}
    inner = expected(value[keys[0]], keys[1:])
    return None if inner is None else {**value, keys[0]: inner}


@given(
    st.data(),
    st.dictionaries(KEY_NAMES, JSON_VALUES, max_size=4),
    st.lists(KEY_NAMES, min_size=1, max_size=3),
)
def test_append_changes_nothing_but_the_new_item(data: st.DataObject, value: Any, keys: list[str]) -> None:
    text = data.draw(SPACES) + data.draw(written(value)) + data.draw(SPACES)
    wanted = expected(value, keys)

    if wanted is None:
        with pytest.raises(UneditableTextError):
            append(text, keys, "new")
        return
    made = append(text, keys, "new")
    assert value_of(made) == wanted
    rest = iter(made)
    assert all(char in rest for char in text if not char.isspace()), "all of it is still there, in its order"


@given(st.text("{}[]:,'\"/*a1 \n\\", max_size=30), st.lists(KEY_NAMES, max_size=2))
def test_append_raises_only_uneditable_text_errors(text: str, keys: list[str]) -> None:
    try:
        made = append(text, keys, "new")
    except UneditableTextError:
        return
    assert len(made) > len(text)


def test_append_keeps_comments_and_style() -> None:
    text = """{
  // mine
  "agents": {
    "list": [
      {
        "id": "work", // the other one
        "memorySearch": {
          "extraPaths": [
            "~/notes", // shared
          ],
        },
      },
    ],
  },
}
"""
    made = append(text, ["agents", "list", 0, "memorySearch", "extraPaths"], "/vault")

    assert made == text.replace("// shared\n", '// shared\n            "/vault"\n')


@pytest.mark.parametrize(
    ("text", "keys", "after"),
    [
        (
            '{"a": 1}',
            ["memory", "search", "extraPaths"],
            '{"a": 1, "memory": {"search": {"extraPaths": ["/v"]}}}',
        ),
        ('{ "a": [ 1 ] }', ["a"], '{ "a": [ 1, "/v" ] }'),
        (
            '{\r\n  "a": 1 // one\r\n}',
            ["b"],
            '{\r\n  "a": 1, // one\r\n  "b": [\r\n    "/v"\r\n  ]\r\n}',
        ),
        ("{}", ["a-b"], '{\n  "a-b": [\n    "/v"\n  ]\n}'),
    ],
)
def test_missing_parents_are_created_in_the_style_of_their_neighbours(
    text: str, keys: list[str], after: str
) -> None:
    assert append(text, keys, "/v") == after


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(UneditableTextError):
        append("[" * 5_000, ["a"], "/v")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_what_only_python_reads_as_a_number_is_refused(number: str) -> None:
    with pytest.raises(UneditableTextError):
        value_of(f'{{"a": [{number}]}}')


def test_only_values_along_the_path_are_read_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Claude Code keeps its history in the file that has the servers: megabytes of other values."""
    history = [{"display": f"prompt {number}", "pasted": {"a": [1, 2.5, None]}} for number in range(6_000)]
    text = json.dumps({"projects": {"/home/eva/shop": {"history": history}}, "mcpServers": {}}, indent=2)
    nodes: list[Node] = []

    def node(*arguments: Any) -> Node:
        nodes.append(Node(*arguments))
        return nodes[-1]

    monkeypatch.setattr(json_edit, "Node", node)
    after = put(text, KEYS, ENTRY)

    assert json.loads(after)["mcpServers"]["memd"] == ENTRY
    assert len(nodes) < 10


LISTED = '{\n  "hooks": [\n    {"a": 1}, // first\n    {"b": 2},\n    {"a": 1}\n  ]\n}\n'


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (0, '{\n  "hooks": [ // first\n    {"b": 2},\n    {"a": 1}\n  ]\n}\n'),
        (1, '{\n  "hooks": [\n    {"a": 1}, // first\n    {"a": 1}\n  ]\n}\n'),
        (2, '{\n  "hooks": [\n    {"a": 1}, // first\n    {"b": 2}\n  ]\n}\n'),
    ],
)
def test_take_out_removes_an_item_of_a_list(at: int, text: str) -> None:
    assert take_out(LISTED, ("hooks", at)) == text


def test_commas_in_comments_stay() -> None:
    assert take_out('{"a": 1 /* b, c */, "d": 2}', ("d",)) == '{"a": 1 /* b, c */}'


@given(st.lists(VALUES, min_size=1, max_size=4), st.data())
def test_take_out_leaves_the_other_items_of_any_list(items: list[Any], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(items) - 1))
    indent = data.draw(st.sampled_from([None, 2]))

    after = take_out(json.dumps({"list": items}, indent=indent), ("list", at))

    assert json.loads(after) == {"list": items[:at] + items[at + 1 :]}
