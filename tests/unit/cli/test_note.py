"""`memctl note`: what is appended, where it is, and what is refused before anything is sent."""

from __future__ import annotations

import io
import json
from typing import Any, cast

import pytest

from memd_client.messages import AppendNoteReply
from tests.unit.cli.stage import memctl

APPENDED = AppendNoteReply("main", "memory/2026-11-24.md", 3, 4, True)


def stdin_of(monkeypatch: pytest.MonkeyPatch, octets: bytes) -> None:
    """Give bytes on standard input."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(octets)))


def test_words_are_appended_and_their_lines_printed() -> None:
    ran = memctl("note", "the", "lease", "--agent", "work", append_note=APPENDED)

    assert (ran.code, ran.out, ran.err) == (0, "memory/2026-11-24.md:3-4\n", "")
    asked = {"text": "the lease", "agent": "work", "date": None, "key": None}
    assert ran.client.calls == [("append_note", asked)]


def test_the_text_of_standard_input_is_appended(monkeypatch: pytest.MonkeyPatch) -> None:
    stdin_of(monkeypatch, "\ufeffTee um vier\nfür Anna\n".encode())

    ran = memctl("note", "-", append_note=APPENDED)

    assert ran.client.calls[0][1]["text"] == "Tee um vier\nfür Anna\n"


def test_a_day_and_a_key_are_passed_on_and_a_known_key_is_said() -> None:
    known = AppendNoteReply("main", "memory/2026-11-24.md", 3, 3, False)

    ran = memctl("note", "--date", "2026-11-24", "--key", "a.1:b_c-d", "x", append_note=known)

    assert ran.client.calls[0][1] == {"text": "x", "agent": None, "date": "2026-11-24", "key": "a.1:b_c-d"}
    assert (ran.code, ran.out) == (0, "memory/2026-11-24.md:3-3\n")
    assert "nothing was appended" in ran.err


def test_a_script_gets_the_reply() -> None:
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
        (b"PNG\0\1", "it has NUL bytes, so it is no text"),
        (b"caf\xe9", "byte 4 is not valid UTF-8"),
        (b"x" * 65_537, "it has more than 65,536 bytes"),
    ],
)
def test_what_is_no_entry_is_refused_before_anything_is_sent(
    octets: bytes, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin_of(monkeypatch, octets)

    ran = memctl("note", "-")

    assert (ran.code, ran.out, ran.opened) == (2, "", 0)
    assert ran.err.startswith(f"error: Invalid value for TEXT: {reason}")


@pytest.mark.parametrize(
    "arguments",
    [[""], ["  "], ["x" * 65_537], ["--date", "2026-02-30", "x"], ["--date", "2026-2-3", "x"], ["--key", "a b", "x"]],
)  # fmt: skip
def test_wrong_arguments_are_refused_before_anything_is_sent(arguments: list[str]) -> None:
    ran = memctl("note", *arguments)

    assert (ran.code, ran.out, ran.opened) == (2, "", 0)
    assert len(ran.err) < 300


def test_an_endless_input_is_read_no_further_than_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
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
