"""The line of an output that names the error is found, and two runs of one error have one key."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memd.text.work.errors import (
    MAX_ERROR_LINES,
    MAX_LINE_CHARS,
    error_key,
    error_lines,
    is_error_message,
    normalize_error,
)
from tests.support.growth import check_linear

DATA = Path(__file__).parent / "data"
MIN_FOUND = 0.9
MIN_RIGHT_KEYS = 0.97


def _records(name: str) -> list[tuple[str, str, set[str]]]:
    """Return the tool, the output and the lines that name the error of each record."""
    parts = re.split(r"^### (.*)\n", (DATA / name).read_text("utf-8"), flags=re.MULTILINE)[1:]
    records = []
    for tool, body in zip(parts[::2], parts[1::2], strict=True):
        lines = body.split("\n")
        named = {line[1:].strip() for line in lines if line.startswith("»")}
        records.append((tool, "\n".join(line.removeprefix("»") for line in lines), named))
    return records


@pytest.mark.parametrize("name", ["outputs.txt", "held_out.txt"])
def test_line_that_names_the_error_is_found(name: str) -> None:
    records = _records(name)
    missed = [
        (tool, lines[:1])
        for tool, output, named in records
        if not set((lines := error_lines(output))[:1]) & named
    ]

    assert len(records) >= 90
    assert len({tool for tool, _, _ in records}) >= 30
    assert 1 - len(missed) / len(records) >= MIN_FOUND, missed


def _elsewhere(output: str) -> str:
    """Return an output as of another run: other folders, times, addresses, ids and line numbers."""
    output = re.sub(r"/home/eva/\w+|/srv/\w+|/Users/eva/\w+", "/opt/build/job17/checkout", output)
    output = re.sub(r"/tmp/[\w.]+", "/tmp/zzz81x", output)
    output = re.sub(
        r"(?<=[a-z]):(\d+):(\d+)(?=[:\s])", lambda at: f":{int(at[1]) + 31}:{int(at[2]) + 2}", output
    )
    output = re.sub(r"\b(\d+\.\d+)(?=s\b)", "77.31", output)
    output = re.sub(r"\b\d{4}-\d\d-\d\d\b", "2027-11-09", output)
    return re.sub(r"\b0x[0-9a-f]{6,}", "0xdeadbee1", output)


def test_same_error_of_another_run_has_the_same_key() -> None:
    records = _records("outputs.txt") + _records("held_out.txt")
    changed = [
        (tool, output, again) for tool, output, _ in records if (again := _elsewhere(output)) != output
    ]
    wrong = [
        (tool, error_lines(output)[:1], error_lines(again)[:1])
        for tool, output, again in changed
        if error_key(output) != error_key(again) or error_key(output) == ""
    ]

    assert len(changed) >= 90
    assert 1 - len(wrong) / len(changed) >= MIN_RIGHT_KEYS, wrong


def test_different_errors_have_different_keys() -> None:
    records = _records("outputs.txt") + _records("held_out.txt")
    keys = [
        (error_key(output, exact=True), normalize_error(error_lines(output)[0]).casefold())
        for _, output, _ in records
        if error_lines(output)
    ]
    exact = len({key for key, _ in keys})
    lines = len({tuple(error_lines(output)[:1]) for _, output, _ in records if error_lines(output)})

    assert exact / lines >= MIN_RIGHT_KEYS


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("E   ModuleNotFoundError: No module named 'x'", "ModuleNotFoundError: No module named 'x'"),
        ("FAILED tests/a.py::b - KeyError: 7", "KeyError: 7"),
        ("bash: line 1: foo: command not found", "bash: line 12: foo: command not found"),
        ("\x1b[31merror\x1b[0m: no such table", "error: no such table"),
        ("/home/eva/a/b.c:12:5: error: x", "src/b.c:9:1: error: x"),
        ("src/a.ts(12,5): error TS2304: Cannot find", "lib/b.ts(1,1): error TS2304: Cannot find"),
        ("2026-01-02T03:04:05Z ERROR timeout after 3.2s", "2026-02-03 10:00:00,123 ERROR timeout after 12ms"),
        ("Error: connect ECONNREFUSED 127.0.0.1:5432", "Error: connect ECONNREFUSED 10.0.0.7:5433"),
        (
            "error: job 1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed failed",
            "error: job 00000000-bbfd-4b2d-9b5d-ab8dfbbd4bed failed",
        ),
        ("fatal: bad object 4f1c2aa9", "fatal: bad object 9c8d7e6f5a"),
        ("error: process 81234 died", "error: process 4711 died"),
    ],
)
def test_what_differs_between_runs_is_no_part_of_a_key(first: str, second: str) -> None:
    assert error_key(first) == error_key(second) != ""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("error: exit code 1 of lint", "error: exit code 2 of lint"),
        ("HTTP error 404", "HTTP error 500"),
        ("foo: command not found", "bar: command not found"),
        ("error TS2304: Cannot find name", "error TS2307: Cannot find name"),
        ("ORA-00942: table does not exist", "ORA-00943: table does not exist"),
    ],
)
def test_short_numbers_codes_and_bare_names_are_parts_of_a_key(first: str, second: str) -> None:
    assert error_key(first) != error_key(second)


def test_quoted_names_are_parts_of_the_exact_form_alone() -> None:
    first, second = "ImportError: No module named 'x'", "ImportError: No module named 'y'"

    assert error_key(first) == error_key(second)
    assert error_key(first, exact=True) != error_key(second, exact=True)
    assert normalize_error("cat: /home/eva/a.toml: No such file", exact=True).count("a.toml") == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "12 passed in 0.31s",
        "Found 0 errors",
        "0 failed, 3 passed",
        "BUILD SUCCESSFUL in 2s",
        "ok  \texample.com/x\t0.1s",
    ],
)
def test_output_without_an_error_has_no_key(text: str) -> None:
    assert error_key(text) == ""
    assert error_lines(text) == []


def test_last_line_counts_only_if_the_command_failed() -> None:
    assert error_lines("one\ntwo", is_failed=True) == ["two"]
    assert error_lines("one\ntwo") == []


def test_error_message_is_recognized_by_its_structure() -> None:
    assert is_error_message("ValueError: bad port")
    assert not is_error_message("the build failed because I forgot the flag")


@given(st.text(max_size=400) | st.text(st.sampled_from("Eer:ro /.'\"0129ab-\n"), max_size=200))
def test_any_text_has_a_bounded_and_stable_form(text: str) -> None:
    lines = error_lines(text, is_failed=True)

    assert len(lines) <= MAX_ERROR_LINES
    assert all(len(line) <= MAX_LINE_CHARS for line in lines)
    for exact in (False, True):
        form = normalize_error(text, exact=exact)
        assert len(form) <= MAX_LINE_CHARS
        assert normalize_error(form, exact=exact) == form


@pytest.mark.parametrize(
    "text",
    ["error: x\n", "a/", "'", "1:", "a.b:", "....Failed", "Error", "E   x\n", "x " * 50 + "\n", "/tmp/a "],
)
def test_work_is_linear(text: str) -> None:
    check_linear(lambda count: text * count, error_key, 150)
