"""`memctl how`, `fix`, `blame` and `files`: what they request, and how answers are printed."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from memd_client.sources import SessionInfo
from memd_client.work import (
    BlameReply,
    FileTouch,
    Fix,
    FixReply,
    FixStep,
    HowReply,
    KnownCommand,
    TouchedFile,
    WorkFilesReply,
)
from tests.unit.cli.memctl_runner import memctl

DAY_MS = 1_795_000_000_000
SESSION = SessionInfo("codex", "s1", "Fix the port test", "/home/eva/shop", "main", "2026-11-18")
PLACE: dict[str, Any] = {
    "citation": "codex/s1#L3-L9",
    "agent": "main",
    "path": "codex/s1",
    "start_line": 9,
    "session": SESSION,
}
SHOWN_PLACE = "  codex/s1#L3-L9 · Fix the port test · shop (main) · codex\n"

KNOWN = KnownCommand("pytest -q && echo <done>", "/home/eva/shop", "ok", 12, 1, 0, 5, DAY_MS, **PLACE)
UNKNOWN = KnownCommand("pytest\n--all", "", "unknown", 0, 0, 2, 1, 0, **PLACE)
FIX = Fix(
    error="ModuleNotFoundError: No module named 'stripe'",
    command="pytest -q",
    folder="/home/eva/shop",
    fixed_by="pytest -q",
    is_same_command=True,
    steps=[FixStep("ran", "pip install stripe"), FixStep("edited", "/home/eva/shop/pay.py", "a\n", "b\nc\n")],
    sessions=2,
    has_held=True,
    time_ms=DAY_MS,
    **PLACE,
)


def test_invocations_are_printed_with_outcomes_folder_and_place() -> None:
    ran = memctl("how", "pytest", how=HowReply([KNOWN, UNKNOWN], 2, 40))

    assert ran.out == (
        "$ pytest -q && echo <done>\n"
        "  succeeded 12 times, failed once · 5 sessions · 2026-11-18 · in /home/eva/shop\n"
        f"{SHOWN_PLACE}\n"
        "$ pytest\n  --all\n"
        "  outcome unknown 2 times · 1 session\n"
        f"{SHOWN_PLACE}\n"
        "2 invocations only ever failed and aren't shown\n"
        "  hint: show them with --failed\n"
    )


def test_words_of_a_command_are_one_request_about_the_current_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = memctl("how", "cargo", "test", "--failed", "--limit", "3", how=HowReply([]))
    asked = {"project": str(tmp_path), "include_failed": True, "limit": 3}

    assert ran.client.calls == [("how", {"command": "cargo test", **asked})]
    assert ran.out == "no commands of agents are recorded\n"
    assert memctl("how", "x", how=HowReply([], searched=9)).out == (
        "no successful run of that command among 9 recorded commands\n"
    )


def test_options_of_the_command_are_a_part_of_it_after_two_dashes() -> None:
    ran = memctl("how", "--", "pytest", "-q", how=HowReply([]))

    assert ran.client.calls[0][1]["command"] == "pytest -q"


def test_fix_is_printed_with_its_changes_and_the_success() -> None:
    ran = memctl("fix", "No module named 'stripe'", fix=FixReply([FIX], reruns=1, searched=7))

    assert ran.out == (
        "ModuleNotFoundError: No module named 'stripe'\n"
        "  failed:\n    $ pytest -q\n"
        "  what was changed:\n    $ pip install stripe\n    edited /home/eva/shop/pay.py\n"
        "      - a\n      + b\n      + c\n"
        "  then the same command succeeded\n"
        "  2 sessions · 2026-11-18\n"
        f"{SHOWN_PLACE}\n"
        "the same command succeeded once without any change: it may be flaky\n"
    )


def test_corrected_command_is_printed_instead_of_changes() -> None:
    reply = FixReply(
        [Fix(**{**_fields(FIX), "fixed_by": "python -m pytest", "is_same_command": False, "steps": []})]
    )

    assert "  this succeeded instead:\n    $ python -m pytest\n" in memctl("fix", "x", fix=reply).out


def test_error_without_a_fix_is_answered_with_what_was_searched() -> None:
    ran = memctl("fix", "boom", fix=FixReply([], unfixed=2, searched=1_200))

    assert ran.code == 0
    assert ran.out == (
        "no fix of this error among 1,200 recorded failures\n"
        "2 failures with this error, and no success after it\n"
        "  hint: try the line that names the error, or `memctl search`\n"
    )
    assert memctl("fix", "boom", fix=FixReply([])).out.startswith(
        "no failed commands of agents are recorded\n"
    )


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_error_is_read_from_standard_input(
    arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    octets = b"head\n" + b"x" * 70_000 + b"\xff\0\nlast"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(octets)))
    monkeypatch.setattr("memd.cli.arguments.is_piped", lambda: True)
    ran = memctl("fix", *arguments, fix=FixReply([]))
    error = ran.client.calls[0][1]["error"]

    assert (len(error), error[:5], error[-6:]) == (64_000, "head\n", "\ufffd\nlast")


def test_empty_standard_input_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b" \n")))
    ran = memctl("fix", "-", fix=FixReply([]))

    assert ran.code == 2
    assert "it is empty" in ran.err


@pytest.mark.parametrize(
    ("argument", "file", "line"),
    [("queue.py", "queue.py", None), ("queue.py:42", "queue.py", 42), ("odd:7", "odd:7", None)],
)
def test_blame_requests_a_file_and_the_line_after_it(
    argument: str, file: str, line: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "odd:7").touch()
    monkeypatch.chdir(tmp_path)
    ran = memctl("blame", argument, blame=BlameReply("/f", ["/f"]))

    assert ran.client.calls == [("blame", {"file": str(tmp_path / file), "line": line})]
    assert ran.out == "no session is recorded that touched /f\n"


def test_sessions_of_a_file_are_printed_with_request_and_decisions() -> None:
    touch = FileTouch(["edited", "read"], "retry\n mails", ["We retry three times."], DAY_MS, **PLACE)
    printed = memctl("blame", "q.py:3", blame=BlameReply("/q.py", ["/q.py", "/old.py"], [touch])).out

    assert printed == (
        "2026-11-18  edited, read\n  requested: retry mails\n  decided: We retry three times.\n"
        f"{SHOWN_PLACE}\n"
        "earlier names: /old.py\n  hint: none of them is known to have changed line 3\n"
    )
    near = BlameReply("/q.py", ["/q.py"], [touch], "near")
    assert "lines near it were changed" in memctl("blame", "q.py:3", blame=near).out


def test_files_of_a_subject_are_printed_with_their_counts() -> None:
    files = [
        TouchedFile("/p/queue.py", 3, 1, 2, DAY_MS, True, **PLACE),
        TouchedFile("/p/old.py", 0, 4, 1, 0, False, **PLACE),
    ]
    ran = memctl("files", "--agent", "main", "order", "mails", work_files=WorkFilesReply(files))

    assert ran.client.calls[0][1] == {"topic": "order mails", "project": "", "agent": "main"}
    assert ran.out == (
        f"/p/queue.py\n  3 edits · 1 read · 2 sessions · 2026-11-18\n{SHOWN_PLACE}\n"
        f"/p/old.py  (not on disk now)\n  4 reads · 1 session\n{SHOWN_PLACE}\n"
    )
    assert memctl("files", "x", work_files=WorkFilesReply([])).out == (
        "no recorded work on that subject touched a file\n"
    )


def test_json_is_the_reply() -> None:
    assert memctl("how", "x", "--json", how=HowReply([KNOWN])).out.count("citation") == 1
    assert memctl("fix", "x", "--json", fix=FixReply([FIX])).out.count("citation") == 1
    printed = json.loads(memctl("blame", "x", "--json", blame=BlameReply("/x", ["/x"])).out)
    assert printed["names"] == ["/x"]


def _fields(fix: Fix) -> dict[str, Any]:
    return {name: getattr(fix, name) for name in fix.__struct_fields__}
