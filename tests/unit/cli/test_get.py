"""`memctl get`: the lines, unchanged."""

from __future__ import annotations

import io
import json
from dataclasses import fields

import pytest

from memd.cli.output import Output, Stream
from memd_client.messages import GetReply
from memd_client.wire import to_wire
from tests.unit.cli.stage import memctl


def lines_of(text: str, *, truncated: bool = False) -> GetReply:
    """Return a reply with this text."""
    count = len(text.splitlines())
    return GetReply("main", "MEMORY.md", text, 1, count, 9, truncated)


@pytest.mark.parametrize("text", ["", "a\nb\n", "no end of line", "a\r\nb\r\n", "\x1b[1m\t重跑\x00\n\n"])
def test_a_pipe_gets_the_lines_unchanged(text: str) -> None:
    ran = memctl("get", "MEMORY.md", get=lines_of(text))

    assert (ran.code, ran.out) == (0, text)
    assert bool(ran.err) is (not text)


@pytest.mark.parametrize(
    ("total", "said"), [(29, "no line 40: MEMORY.md has 29 lines"), (0, "MEMORY.md is empty")]
)
def test_lines_beyond_the_end_say_how_many_there_are(total: int, said: str) -> None:
    ran = memctl("get", "MEMORY.md:40", get=GetReply("main", "MEMORY.md", "", 40, 0, total))

    assert (ran.code, ran.out) == (0, "")
    assert said in ran.err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_pipe_gets_the_files_bytes_whatever_the_locale(encoding: str) -> None:
    octets = io.BytesIO()
    stream = Stream(io.TextIOWrapper(octets, encoding=encoding), terminal=False)

    Output(stream, stream, lambda: 0.0).text("重跑 café \udcff\r\n")

    assert octets.getvalue() == "重跑 café ".encode() + b"\xff\r\n"


def test_a_terminal_gets_them_harmless_and_ended_with_a_newline() -> None:
    ran = memctl("get", "MEMORY.md", get=lines_of("a\tb\x1b[2J\r\nc"), terminal=True)

    assert ran.out == "a\tb\\x1b[2J\nc\n"


@pytest.mark.parametrize(
    ("arguments", "asked"),
    [
        (["MEMORY.md"], ("MEMORY.md", 1, None)),
        (["MEMORY.md", "--from", "4"], ("MEMORY.md", 4, None)),
        (["MEMORY.md", "--lines", "2"], ("MEMORY.md", 1, 2)),
        (["memory/a.md:12-18"], ("memory/a.md", 12, 7)),
        (["memory/a.md:12"], ("memory/a.md", 12, 1)),
        (["memory/a.md#L12-L18"], ("memory/a.md", 12, 7)),
        (["memory/a.md#L12"], ("memory/a.md", 12, 1)),
        (["memory/a.md:12-18", "--from", "1"], ("memory/a.md:12-18", 1, None)),
        (["memory/a:1-2.md"], ("memory/a:1-2.md", 1, None)),
    ],
)
def test_lines_are_asked_for_by_option_or_as_search_prints_them(
    arguments: list[str], asked: tuple[str, int, int | None]
) -> None:
    ran = memctl("get", "--agent", "main", *arguments, get=lines_of("x\n"))

    path, from_line, lines = asked
    assert ran.client.calls == [
        ("get", {"path": path, "agent": "main", "from_line": from_line, "lines": lines})
    ]


@pytest.mark.parametrize(
    "wrong", [["get"], ["get", "a", "--from", "0"], ["get", "a", "--lines", "0"], ["get", "a.md:9-3"]]
)
def test_a_wrong_call_exits_2(wrong: list[str]) -> None:
    ran = memctl(*wrong, get=lines_of(""))

    assert (ran.code, ran.out, ran.client.calls) == (2, "", [])


def test_a_cut_reply_names_the_line_to_go_on_from() -> None:
    ran = memctl("get", "MEMORY.md", get=lines_of("a\nb\n", truncated=True))

    assert (ran.out, ran.err) == ("a\nb\n", "note: cut before line 3 of 9; go on with --from 3\n")


def test_json_is_the_reply_field_by_field() -> None:
    reply = lines_of("a\nb\n")

    shown = json.loads(memctl("get", "MEMORY.md", "--json", get=reply).out)

    assert shown == to_wire(reply)
    assert list(shown) == [each.name for each in fields(GetReply)]
