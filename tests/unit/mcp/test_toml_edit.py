"""One table of a TOML file: put in, taken out, and nothing else touched."""

from __future__ import annotations

import tomllib

import pytest

from memd.mcp.toml_edit import put, take_out
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
def test_a_table_is_put_behind_everything_else(text: str) -> None:
    after = put(text, "mcp_servers", "memd", ENTRY)

    assert after.startswith(text)
    assert tomllib.loads(after)["mcp_servers"]["memd"] == ENTRY
    assert put(after, "mcp_servers", "memd", ENTRY) == after


@pytest.mark.parametrize("text", ["", "a = 1\n", SETTINGS])
def test_what_was_put_in_can_be_taken_out_again(text: str) -> None:
    assert take_out(put(text, "mcp_servers", "memd", ENTRY), "mcp_servers", "memd") == text


def test_a_table_in_the_midst_is_changed_where_it_stands() -> None:
    others = SETTINGS[SETTINGS.index("[mcp_servers.other]") :]
    text = '[mcp_servers.memd]\ncommand = "old"\n\n[mcp_servers.memd.env]\nA = "1"\n\n' + others

    after = put(text, "mcp_servers", "memd", {**ENTRY, "env": {"A": "1"}})

    assert after.endswith("\n\n" + others)
    assert after.startswith('[mcp_servers.memd]\ncommand = "/opt/a b/memctl"\n')
    assert tomllib.loads(after)["mcp_servers"]["memd"]["env"] == {"A": "1"}
    assert take_out(after, "mcp_servers", "memd") == others


def test_a_comment_above_the_next_table_stays_with_it() -> None:
    text = '[mcp_servers.memd]\ncommand = "old"\n\n# about the next\n[tui]\nx = 1\n'

    assert take_out(text, "mcp_servers", "memd") == "# about the next\n[tui]\nx = 1\n"


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
def test_a_table_written_in_any_way_is_changed_and_taken_out(text: str) -> None:
    before = tomllib.loads(text.removeprefix("\ufeff"))
    others = {key: each for key, each in before.items() if key != "mcp_servers"}

    after = put(text, "mcp_servers", "memd", ENTRY)
    without = take_out(after, "mcp_servers", "memd")

    assert tomllib.loads(after.removeprefix("\ufeff")) == {**others, "mcp_servers": {"memd": ENTRY}}
    left = tomllib.loads(without.removeprefix("\ufeff"))
    assert {key: each for key, each in left.items() if each != {}} == others
    assert without.count("mine") == (text.count("# mine") if "memd = {" not in text else 0)


def test_a_comment_in_the_table_stays_above_the_next_one() -> None:
    text = '[mcp_servers.memd]\ncommand = "old" # why\n\n# about the next\n[tui]\nx = 1\n'

    after = put(text, "mcp_servers", "memd", ENTRY)

    assert '\ncommand = "/opt/a b/memctl" # why\n' in after
    assert after.endswith("\n\n# about the next\n[tui]\nx = 1\n")


def test_tables_in_pieces_are_left_to_their_owner() -> None:
    text = "[mcp_servers.memd.env]\nA = '1'\n[x]\na = 1\n[mcp_servers.memd]\ncommand = 'x'\n"

    with pytest.raises(UneditableTextError, match="can't be edited safely"):
        put(text, "mcp_servers", "memd", ENTRY)


def test_what_is_no_toml_is_refused() -> None:
    with pytest.raises(UneditableTextError, match="line 1"):
        put("a = = 1", "mcp_servers", "memd", ENTRY)
