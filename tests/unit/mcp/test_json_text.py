"""One entry of a JSON file: put in, taken out, and nothing else touched."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.mcp.json_text import put, take_out, value_of
from memd.mcp.text_edit import UnreadableTextError

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
def test_an_entry_is_put_where_there_is_none(text: str) -> None:
    assert json.loads(put(text, KEYS, ENTRY)) == {"mcpServers": {"memd": ENTRY}}


def test_everything_else_stays_as_it_stands() -> None:
    after = put(COMMENTED, KEYS, ENTRY)

    assert [line for line in after.splitlines() if line in COMMENTED.splitlines()] == COMMENTED.splitlines()
    assert value_of(after)["mcpServers"]["memd"] == ENTRY
    assert '        "memd": {\n            "command": "memctl",' in after, "moved in as the others are"


def test_putting_the_same_again_changes_nothing() -> None:
    once = put(COMMENTED, KEYS, ENTRY)

    assert put(once, KEYS, dict(ENTRY)) == once


def test_another_entry_takes_the_place_of_the_first() -> None:
    once = put(COMMENTED, KEYS, ENTRY)
    twice = put(once, KEYS, {"command": "elsewhere"})

    assert value_of(twice)["mcpServers"]["memd"] == {"command": "elsewhere"}
    assert take_out(twice, KEYS) == take_out(once, KEYS)


def test_what_was_put_in_can_be_taken_out_again() -> None:
    text = '{\n  "a": 1,\n  "mcpServers": {\n    "other": {}\n  }\n}\n'

    assert take_out(put(text, KEYS, ENTRY), KEYS) == text


@pytest.mark.parametrize("place", ["first", "middle", "last"])
def test_an_entry_is_taken_out_wherever_it_stands(place: str) -> None:
    members = {"a": 1, "b": 2}
    names = {"first": ["memd", "a", "b"], "middle": ["a", "memd", "b"], "last": ["a", "b", "memd"]}[place]
    held = {"mcpServers": {name: members.get(name, ENTRY) for name in names}}

    for text in (json.dumps(held), json.dumps(held, indent=2), json.dumps(held, indent="\t")):
        assert json.loads(take_out(text, KEYS)) == {"mcpServers": members}


def test_taking_out_what_is_not_there_changes_nothing() -> None:
    assert take_out(COMMENTED, KEYS) == COMMENTED
    assert take_out("", KEYS) == ""


def test_line_ends_and_a_mark_at_the_start_stay() -> None:
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
        ('{"a": 01}', "line 1, column 7"),
        ("{} {}", "line 1, column 4"),
        ("[" * 300, "line 1, column 201"),
        ('{"mcpServers": []}', "mcpServers is no object"),
        ("[]", "what it holds is no object"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text: str, where: str) -> None:
    with pytest.raises(UnreadableTextError, match=where):
        put(text, KEYS, ENTRY)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4), st.sampled_from([None, 2, "\t"]))
def test_any_settings_keep_what_else_they_say(held: dict[str, Any], indent: int | str | None) -> None:
    held = {**held, "mcpServers": {"other": held}}
    text = json.dumps(held, indent=indent)

    after = put(text, KEYS, ENTRY)

    assert json.loads(after) == {**held, "mcpServers": {"other": held["mcpServers"]["other"], "memd": ENTRY}}
    assert json.loads(take_out(after, KEYS)) == held
