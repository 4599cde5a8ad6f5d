"""The command line and the daemon refuse the same values; the command line does so without a request."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from memd.cli import arguments
from memd.lifecycle.notes.daily import day_of
from memd.rpc.methods import search
from memd.rpc.params import LIMITS
from memd_client.facts import MemoryEditReply, MemoryForgetReply, MemoryStoreReply
from memd_client.limits import KEY_PATTERN, MAX_CHARS, MAX_NOTE_BYTES, MAX_RESULTS
from memd_client.messages import AppendNoteReply, GetReply, ModelReply, SearchParams
from tests.unit.cli.memctl_runner import MemctlResult, found, memctl
from tests.unit.rpc.methods.calling import call_of, run

REPLIES: dict[str, Any] = {
    "search": found(),
    "get": GetReply("main", "MEMORY.md", "x\n", 1, 1, 1),
    "model": ModelReply("minilm", "/m.gguf", 1, []),
    "append_note": AppendNoteReply("main", "memory/2026-11-24.md", 3, 3, True),
    "memory_store": MemoryStoreReply("main", "01J", True, "other", "memory/facts.md", 3, "words"),
    "memory_edit": MemoryEditReply("main", "01J", True, "other", "memory/facts.md", 3),
    "memory_forget": MemoryForgetReply("main", None, []),
}


def asked(arguments: list[str], value: str) -> MemctlResult:
    """Run a command line with a value in place of `{}`."""
    return memctl(*(each.replace("{}", value) for each in arguments), **REPLIES)


@dataclass(frozen=True)
class Text:
    """A text on a command line, and its parameter in the request."""

    line: str
    request: str
    field: str


TEXTS = [
    Text("search {}", "search", "query"),
    Text("search x --agent {}", "search", "agent"),
    Text("search x --path {}", "search", "path"),
    Text("get {}", "get", "path"),
    Text("model pull {}", "model", "ref"),
    Text("model remove {}", "model", "ref"),
    Text("note {}", "append_note", "text"),
    Text("note x --key {}", "append_note", "key"),
    Text("facts add {}", "memory_store", "text"),
    Text("facts edit {} x", "memory_edit", "id"),
    Text("facts edit 01J {}", "memory_edit", "text"),
    Text("facts edit 01J x --if-text {}", "memory_edit", "expected_text"),
]


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.line)
def test_length_limit_of_a_text_is_the_daemons(text: Text) -> None:
    most = next(each.max_length for each in LIMITS[text.request][text.field] if each.max_length)

    longest = asked(text.line.split(), "x" * most)
    too_long = asked(text.line.split(), "x" * (most + 1))

    assert [(name, params[text.field]) for name, params in longest.client.calls] == [
        (text.request, "x" * most)
    ]
    assert (too_long.code, too_long.opened) == (2, 0)
    assert f"{most:,}" in too_long.err or str(most) in too_long.err


def test_size_limit_of_a_note_is_the_daemons() -> None:
    assert arguments.MAX_NOTE_BYTES == MAX_NOTE_BYTES
    assert asked(["note", "{}"], "é" * (MAX_NOTE_BYTES // 2)).code == 0
    assert asked(["note", "{}"], "é" * (MAX_NOTE_BYTES // 2 + 1)).opened == 0


@pytest.mark.parametrize(
    "value", ["2026-11-24", "0100-01-01", "0099-12-31", "2026-02-29", "2024-02-29", "2026-1-1", "someday", "20261124"]
)  # fmt: skip
def test_date_is_valid_for_both_or_neither(value: str) -> None:
    assert asked(["note", "x", "--date", "{}"], value).opened == (day_of(value) is not None)


@pytest.mark.parametrize("value", ["a", "a.b:c_d-9", "a b", "é", "a/b"])
def test_key_is_valid_for_both_or_neither(value: str) -> None:
    assert asked(["note", "x", "--key", "{}"], value).opened == (re.fullmatch(KEY_PATTERN, value) is not None)


def test_limits_of_a_search_are_the_daemons() -> None:
    assert (arguments.MAX_RESULTS, arguments.MAX_CHARS) == (MAX_RESULTS, MAX_CHARS)


NUMBERS = [
    ("search x --max-results {}", ["1", "1000"], ["0", "-1", "1001", "1.5", "9" * 30], "1<=x<=1000"),
    ("search x --max-chars {}", ["1", "100000"], ["0", "100001", "1.5"], "1<=x<=100000"),
    ("search x --min-score {}", ["0", "1", "0.5"], ["-0.1", "1.01", "nan", "inf", "-inf"], "0<=x<=1"),
    ("get MEMORY.md --from {}", ["1", "1000000000"], ["0", "-1", "1000000001", "9" * 30], "1<=x<=1000000000"),
    (
        "get MEMORY.md --lines {}",
        ["1", "1000000000"],
        ["0", "-1", "1000000001", "9" * 30],
        "1<=x<=1000000000",
    ),
    (
        "get MEMORY.md:{}",
        ["1", "1000000000"],
        ["1000000001", "1-" + "9" * 30, "9" * 5_000],
        "1<=x<=1000000000",
    ),
    ("facts add x --importance {}", ["0", "1"], ["-0.1", "1.01", "nan"], "0<=x<=1"),
    ("facts edit 01J x --importance {}", ["0", "1"], ["-0.1", "1.01", "nan"], "0<=x<=1"),
    ("logs -n {}", [], ["-1", "1000001", "9" * 30], "0<=x<=1000000"),
    ("service logs --lines {}", [], ["-1", "1000001", "9" * 30], "0<=x<=1000000"),
]


@pytest.mark.parametrize(("line", "good", "bad", "range_"), NUMBERS, ids=[each[0] for each in NUMBERS])
def test_number_out_of_range_is_refused_with_the_range(
    line: str, good: list[str], bad: list[str], range_: str
) -> None:
    for value in good:
        assert asked(line.split(), value).code == 0, value
    for value in bad:
        ran = asked(line.split(), value)
        assert (ran.code, ran.opened, ran.out) == (2, 0, ""), value
        assert range_ in ran.err or f"{value!r} is not a valid" in ran.err, value


@pytest.mark.parametrize(
    "params",
    [
        SearchParams("x", max_results=1),
        SearchParams("x", max_results=1000, min_score=0.0),
        SearchParams("x", min_score=1.0),
    ],
)
def test_daemon_accepts_the_ends_of_the_ranges(params: SearchParams) -> None:
    assert run(search.handle(call_of(), params)).agent == "main"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("", "it is empty; give at least one word"),
        (" \t", "it is empty; give at least one word"),
        ("???", "'???' has no letter, digit or symbol"),
        ("-- -", "'-- -' has no letter, digit or symbol"),
        ("…", "'…' has no letter, digit or symbol"),
    ],
)
def test_query_without_letters_digits_or_symbols_is_refused(query: str, reason: str) -> None:
    ran = memctl("search", "--", query)

    assert (ran.code, ran.out, ran.opened) == (2, "", 0)
    assert reason in ran.err


@pytest.mark.parametrize("query", ["x", "日", "C++", "§ 5", "😀", "$"])
def test_query_with_a_letter_digit_or_symbol_is_sent(query: str) -> None:
    assert arguments.search_text([query]) == query
    assert memctl("search", query, search=found()).opened == 1
