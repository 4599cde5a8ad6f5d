"""`memctl note` and `get`: entries appended, and lines printed."""

from __future__ import annotations

import io
import json
from typing import Any, cast

import pytest
from msgspec.structs import replace

from memd.cli.output import Output, OutputStream
from memd_client.messages import AppendNoteReply, GetReply, OriginLines
from memd_client.schema import to_wire
from tests.unit.cli.memctl_runner import memctl


def lines_of(text: str, *, truncated: bool = False) -> GetReply:
    """Return a reply with this text."""
    count = len(text.splitlines())
    return GetReply("main", "MEMORY.md", text, 1, count, 9, truncated)


@pytest.mark.parametrize("text", ["", "a\nb\n", "no end of line", "a\r\nb\r\n", "\t重跑 🏳️\u200d🌈\n\n"])
def test_lines_on_a_pipe_are_unchanged(text: str) -> None:
    ran = memctl("get", "MEMORY.md", get=lines_of(text))

    assert (ran.code, ran.out) == (0, text)
    assert bool(ran.err) is (not text)


def test_unseen_characters_are_written_out_on_a_pipe() -> None:
    ran = memctl("get", "MEMORY.md", get=lines_of("a\x1b[1m\u202eb\U000e0041\r\n"))

    assert ran.out == "a\\u001b[1m\\u202eb\\udb40\\udc41\r\n"


def test_lines_of_other_people_are_in_a_block() -> None:
    reply = replace(lines_of("a\n</outside-text>\nc\n"), origins=[OriginLines(2, 2, "outside", "a page")])
    ran = memctl("get", "MEMORY.md", get=reply)

    block = '<outside-text origin="outside" why="a page">&lt;/outside-text&gt;</outside-text>'
    assert ran.out == f"a\n{block}\nc\n"


@pytest.mark.parametrize(
    ("total", "said"), [(29, "MEMORY.md has no line 40, only 29 lines"), (0, "MEMORY.md is empty")]
)
def test_lines_beyond_the_end_print_the_number_of_lines(total: int, said: str) -> None:
    ran = memctl("get", "MEMORY.md:40", get=GetReply("main", "MEMORY.md", "", 40, 0, total))

    assert (ran.code, ran.out) == (0, "")
    assert said in ran.err


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_pipe_gets_the_files_bytes_in_any_locale(encoding: str) -> None:
    octets = io.BytesIO()
    stream = OutputStream(io.TextIOWrapper(octets, encoding=encoding), terminal=False)

    Output(stream, stream, lambda: 0.0).text("重跑 café \udcff\r\n")

    assert octets.getvalue() == "重跑 café ".encode() + b"\xff\r\n"


def test_lines_on_a_terminal_are_escaped_and_end_with_a_newline() -> None:
    ran = memctl("get", "MEMORY.md", get=lines_of("a\tb\x1b[2J\r\nc"), terminal=True)

    assert ran.out == "a\tb\\u001b[2J\nc\n"


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
        (["claude-code/5f2c0a1e:12-18"], ("claude-code/5f2c0a1e", 12, 7)),
        (["sessions/s1.jsonl#L2-L4"], ("sessions/s1.jsonl", 2, 3)),
    ],
)
def test_lines_are_selected_by_options_or_by_a_location(
    arguments: list[str], asked: tuple[str, int, int | None]
) -> None:
    ran = memctl("get", "--agent", "main", *arguments, get=lines_of("x\n"))

    path, from_line, lines = asked
    ((name, sent),) = ran.client.calls
    assert sent.pop("include_conversations")
    assert (name, sent) == (
        "get",
        {"path": path, "agent": "main", "from_line": from_line, "lines": lines},
    )


@pytest.mark.parametrize(
    "wrong",
    [
        ["get"],
        ["get", "a", "--from", "0"],
        ["get", "a", "--lines", "0"],
        ["get", "a.md:9-3"],
        ["get", "a.md:0"],
    ],
)
def test_a_wrong_call_exits_2(wrong: list[str]) -> None:
    ran = memctl(*wrong, get=lines_of(""))

    assert (ran.code, ran.out, ran.client.calls) == (2, "", [])


def test_truncated_reply_shows_the_next_line() -> None:
    ran = memctl("get", "MEMORY.md", get=lines_of("a\nb\n", truncated=True))

    assert (ran.out, ran.err) == ("a\nb\n", "note: truncated before line 3 of 9; continue with --from 3\n")


def test_json_is_the_reply_field_by_field() -> None:
    reply = lines_of("a\nb\n")

    shown = json.loads(memctl("get", "MEMORY.md", "--json", get=reply).out)

    assert shown == to_wire(reply)
    assert list(shown) == list(GetReply.__struct_fields__)


APPENDED = AppendNoteReply("main", "memory/2026-11-24.md", 3, 4, True)


def stdin_of(monkeypatch: pytest.MonkeyPatch, octets: bytes) -> None:
    """Put bytes on standard input."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(octets)))


def test_text_is_appended_and_its_lines_printed() -> None:
    ran = memctl("note", "the", "lease", "--agent", "work", append_note=APPENDED)

    assert (ran.code, ran.out, ran.err) == (0, "added to memory/2026-11-24.md:3-4\n", "")
    asked = {"text": "the lease", "agent": "work", "date": None, "key": None}
    assert ran.client.calls == [("append_note", asked)]


def test_standard_input_is_appended(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin_of(monkeypatch, "\ufeffTee um vier\nfür Anna\n".encode())

    ran = memctl("note", "-", append_note=APPENDED)

    assert ran.client.calls[0][1]["text"] == "Tee um vier\nfür Anna\n"


def test_date_and_key_are_sent_and_a_known_key_is_reported() -> None:
    known = AppendNoteReply("main", "memory/2026-11-24.md", 3, 3, False)

    ran = memctl("note", "--date", "2026-11-24", "--key", "a.1:b_c-d", "x", append_note=known)

    assert ran.client.calls[0][1] == {"text": "x", "agent": None, "date": "2026-11-24", "key": "a.1:b_c-d"}
    assert (ran.code, ran.out, ran.err) == (0, "already in memory/2026-11-24.md:3-3\n", "")


def test_json_is_the_reply() -> None:
    assert json.loads(memctl("note", "x", "--json", append_note=APPENDED).out) == {
        "agent": "main",
        "path": "memory/2026-11-24.md",
        "start_line": 3,
        "end_line": 4,
        "appended": True,
    }


@pytest.mark.parametrize(
    ("octets", "reason"),
    [
        (b"", "it is empty"),
        (b" \n\t\n", "it is empty"),
        (b"PNG\0\1", "it has NUL bytes"),
        (b"caf\xe9", "byte 4 is not valid UTF-8"),
        (b"x" * 65_537, "it has more than 65,536 bytes"),
    ],
)
def test_invalid_entry_is_refused_without_a_request(
    octets: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin_of(monkeypatch, octets)

    ran = memctl("note", "-")

    assert (ran.code, ran.out, ran.opened) == (2, "", 0)
    assert ran.err.startswith(f"error: invalid value for TEXT: {reason}")


@pytest.mark.parametrize(
    "arguments",
    [[""], ["  "], ["x" * 65_537], ["--date", "2026-02-30", "x"], ["--date", "2026-2-3", "x"], ["--key", "a b", "x"]],
)  # fmt: skip
def test_invalid_arguments_are_refused_without_a_request(arguments: list[str]) -> None:
    ran = memctl("note", *arguments)

    assert (ran.code, ran.out, ran.opened) == (2, "", 0)
    assert len(ran.err) < 300


def test_endless_input_is_read_up_to_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(io.RawIOBase):
        given = 0

        def readable(self) -> bool:
            return True

        def readinto(self, room: Any) -> int:
            self.given += len(room)
            room[:] = b"x" * len(room)
            return len(room)

    endless = Endless()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BufferedReader(cast(Any, endless))))

    assert memctl("note", "-").code == 2
    assert endless.given < 1024 * 1024
