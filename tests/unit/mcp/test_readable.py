"""Answers as text: nothing hidden, nothing missing."""

from __future__ import annotations

from typing import Any

import pytest

from memd.mcp.readable import say, say_error, say_wrong, show_unseen
from memd_client.errors import DaemonUnreachableError


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\tb\nc\r\nd", "a\tb\nc\nd"),
        ("a\u202eb", "a\\u202eb"),
        ("a\x1b[2J", "a\\u001b[2J"),
        ("caf\u00e9 \u91cd\u8dd1", "caf\u00e9 \u91cd\u8dd1"),
        ("\U0001f469\u200d\U0001f4bb", "\U0001f469\u200d\U0001f4bb"),
        ("\U000e0041", "\\ue0041"),
    ],
)
def test_unseen_characters_are_written_out(text: str, shown: str) -> None:
    assert show_unseen(text) == shown


def test_a_place_is_named_once() -> None:
    row = {"path": "a\nb.md", "startLine": 1, "endLine": 2, "score": 0.5, "snippet": "text"}

    said = say("memory_search", {"results": [row]})

    assert said == "a\\nb.md#L1-L2 (score 0.50)\ntext"


def test_beside_its_snippet_a_hit_takes_at_most_300_characters() -> None:
    path = f"memory/{'long-name/' * 17}x.md"
    row = {"path": path, "startLine": 123_456, "endLine": 123_460, "score": 0.8123, "snippet": "text"}

    said = say("memory_search", {"results": [row] * 10})

    assert said.count(path) == 10
    assert len(said) / 10 - len("text") <= 300


@pytest.mark.parametrize(
    ("tool", "answer", "said"),
    [
        ("memory_search", {"results": [], "reason": "Agent main has no notes."}, "Agent main has no notes."),
        ("memory_search", {"results": []}, "No relevant results."),
        (
            "memory_get",
            {"path": "a.md", "text": "", "reason": "The file has 9 lines."},
            "The file has 9 lines.",
        ),
        ("memory_get", {"status": "not_found", "path": "a.md", "text": ""}, "There is no file a.md."),
        (
            "memory_recall",
            {"facts": [], "total": 0, "reason": "No facts are stored."},
            "No facts are stored.",
        ),
    ],
)
def test_an_empty_answer_says_why(tool: str, answer: dict[str, Any], said: str) -> None:
    assert say(tool, answer) == said


def test_a_search_that_is_less_than_the_whole_says_so() -> None:
    degraded = {"code": "provider_failed", "reason": "It answered 401.", "hint": "Correct the key."}

    said = say("memory_search", {"results": [], "degraded": degraded})

    assert said.endswith("Less than the whole: It answered 401. Correct the key.")


def test_a_text_that_was_cut_says_where_to_go_on() -> None:
    answer = {"text": "one", "truncated": True, "next_from": 8, "total_lines": 90}

    assert say("memory_get", answer) == "one\n\n[cut after line 7 of 90; go on with from=8]"


def test_facts_that_may_be_meant_are_named_by_their_ids() -> None:
    row = {"text": "likes tea", "category": "preference", "id": "F1", "path": "memory/facts.md", "line": 3}

    said = say("memory_forget", {"forgotten": None, "candidates": [row]})

    assert "- likes tea (preference, id F1, memory/facts.md:3)" in said


def test_a_wrong_call_is_told_what_is_expected() -> None:
    said = say_wrong({"error": "no", "expected": "yes", "example": {"query": "\u00e4"}})

    assert said == 'no\nExpected: yes\nExample: {"query": "\u00e4"}'


def test_an_error_names_its_code_and_the_way_out() -> None:
    assert say_error(DaemonUnreachableError("nobody answers")).startswith(
        "nobody answers (daemon_unreachable)\nStart the daemon"
    )
