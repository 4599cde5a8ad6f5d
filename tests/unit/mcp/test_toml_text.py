"""One table of a TOML file: put in, taken out, and nothing else touched."""

from __future__ import annotations

import tomllib

import pytest

from memd.mcp.text_edit import UnreadableTextError
from memd.mcp.toml_text import put, take_out

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
        '[mcp_servers]\nmemd = { command = "x" }\n',
        'mcp_servers.memd.command = "x"\n',
        "a = '''\n[mcp_servers.memd]\n'''\n[mcp_servers.memd]\ncommand = 'x'\n",
    ],
)
def test_a_table_written_in_another_way_is_left_to_its_owner(text: str) -> None:
    with pytest.raises(UnreadableTextError):
        put(text, "mcp_servers", "memd", ENTRY)
    with pytest.raises(UnreadableTextError):
        take_out(text, "mcp_servers", "memd")


def test_what_is_no_toml_is_refused() -> None:
    with pytest.raises(UnreadableTextError, match="line 1"):
        put("a = = 1", "mcp_servers", "memd", ENTRY)
