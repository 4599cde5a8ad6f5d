"""Add and remove one table of a TOML file without other changes."""

from __future__ import annotations

import tomllib

import pytest

from memd.mcp.toml_edit import put, remove
from memd.system.json_edit import UneditableTextError

ENTRY = {"command": "/opt/a b/memctl", "args": ["mcp", "--agent", "work"]}

SETTINGS = """\
# mine
model = "gpt" # the best

[mcp_servers.other]
command = "x"

[mcp_servers.other.env]
KEY = "v"

# what I use at work
[profiles.work]
prompt = '''
[mcp_servers.fake]
'''
"""


@pytest.mark.parametrize("text", ["", "a = 1", "a = 1\n", SETTINGS, SETTINGS.replace("\n", "\r\n")])
def test_new_table_is_added_at_the_end(text: str) -> None:
    after = put(text, "mcp_servers", "memd", ENTRY)

    assert after.startswith(text)
    assert tomllib.loads(after)["mcp_servers"]["memd"] == ENTRY
    assert put(after, "mcp_servers", "memd", ENTRY) == after


@pytest.mark.parametrize("text", ["", "a = 1\n", SETTINGS])
def test_added_table_can_be_removed(text: str) -> None:
    assert remove(put(text, "mcp_servers", "memd", ENTRY), "mcp_servers", "memd") == text


def test_present_table_is_changed_in_place() -> None:
    others = SETTINGS[SETTINGS.index("[mcp_servers.other]") :]
    text = '[mcp_servers.memd]\ncommand = "old"\n\n[mcp_servers.memd.env]\nA = "1"\n\n' + others

    after = put(text, "mcp_servers", "memd", {**ENTRY, "env": {"A": "1"}})

    assert after.endswith("\n\n" + others)
    assert after.startswith('[mcp_servers.memd]\ncommand = "/opt/a b/memctl"\n')
    assert tomllib.loads(after)["mcp_servers"]["memd"]["env"] == {"A": "1"}
    assert remove(after, "mcp_servers", "memd") == others


def test_a_comment_above_the_next_table_stays_with_it() -> None:
    text = '[mcp_servers.memd]\ncommand = "old"\n\n# about the next\n[tui]\nx = 1\n'

    assert remove(text, "mcp_servers", "memd") == "# about the next\n[tui]\nx = 1\n"


@pytest.mark.parametrize(
    "text",
    [
        '[mcp_servers]\nmemd = { command = "x" } # mine\n',
        'mcp_servers.memd.command = "x"\n',
        "a = '''\n[mcp_servers.memd]\n'''\n[mcp_servers.memd]\ncommand = 'x'\n",
        "mcp_servers = {}\n",
        "\ufeff[mcp_servers]\n# mine\n\n[[x]]\na = 1\n",
    ],
)
def test_table_in_any_notation_is_changed_and_removed(text: str) -> None:
    before = tomllib.loads(text.removeprefix("\ufeff"))
    others = {key: each for key, each in before.items() if key != "mcp_servers"}

    after = put(text, "mcp_servers", "memd", ENTRY)
    without = remove(after, "mcp_servers", "memd")

    assert tomllib.loads(after.removeprefix("\ufeff")) == {**others, "mcp_servers": {"memd": ENTRY}}
    left = tomllib.loads(without.removeprefix("\ufeff"))
    assert {key: each for key, each in left.items() if each != {}} == others
    assert without.count("mine") == (text.count("# mine") if "memd = {" not in text else 0)


def test_a_comment_in_the_table_stays_above_the_next_one() -> None:
    text = '[mcp_servers.memd]\ncommand = "old" # why\n\n# about the next\n[tui]\nx = 1\n'

    after = put(text, "mcp_servers", "memd", ENTRY)

    assert '\ncommand = "/opt/a b/memctl" # why\n' in after
    assert after.endswith("\n\n# about the next\n[tui]\nx = 1\n")


def test_comments_stay_before_a_string_that_looks_like_the_table() -> None:
    others = "# about the next\n\n# and more\n[tui]\nx = '''\n[mcp_servers.memd]\n'''\n"

    assert remove(
        put(f"[mcp_servers.memd]\na = 1\n\n{others}", "mcp_servers", "memd", ENTRY), "mcp_servers", "memd"
    ) == (others)


def test_split_tables_are_refused() -> None:
    text = "[mcp_servers.memd.env]\nA = '1'\n[x]\na = 1\n[mcp_servers.memd]\ncommand = 'x'\n"

    with pytest.raises(UneditableTextError, match="cannot be edited safely"):
        put(text, "mcp_servers", "memd", ENTRY)


def test_invalid_toml_is_refused() -> None:
    with pytest.raises(UneditableTextError, match="line 1"):
        put("a = = 1", "mcp_servers", "memd", ENTRY)
