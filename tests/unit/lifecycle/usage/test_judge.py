"""Which part of a conversation is the answer to the prompt of a recall."""

from __future__ import annotations

import pytest

from memd.lifecycle.recalls.recall import Recall
from memd.lifecycle.usage.judge import split_at
from memd.lifecycle.usage.likely_used import find_used
from memd_client.messages import SessionMessage

CONVERSATION = [
    SessionMessage(number, number, speaker, text, number * 10_000)
    for number, (speaker, text) in enumerate(
        [
            ("user", "first"),
            ("assistant", "answer one"),
            ("user", "second"),
            ("assistant", "let me see"),
            ("assistant", "answer two"),
            ("user", "third"),
        ],
        start=1,
    )
]


@pytest.mark.parametrize(
    ("way", "at_ms", "earlier", "answer"),
    [
        ("prompt", 30_000, "first\nanswer one\nsecond", "let me see\nanswer two"),
        ("prompt", 31_500, "first\nanswer one\nsecond", "let me see\nanswer two"),  # recorded before the hook
        ("start", 5_000, "first", "answer one"),
        ("mcp", 42_000, "first\nanswer one\nsecond\nlet me see", "answer two"),
        ("search", 35_000, "first\nanswer one\nsecond", "let me see\nanswer two"),
        (
            "prompt",
            60_000,
            "first\nanswer one\nsecond\nlet me see\nanswer two\nthird",
            "",
        ),  # not answered yet
        ("prompt", 90_000, "", ""),
        ("mcp", 5_000, "", ""),
    ],
)
def test_the_answer_ends_at_the_next_prompt(way: str, at_ms: int, earlier: str, answer: str) -> None:
    assert split_at(CONVERSATION, Recall(id=at_ms * 1000, way=way)) == (earlier, answer)


FACT = "Staging talks to Postgres through pgbouncer on port 6432."


@pytest.mark.parametrize(
    ("earlier", "answer", "used"),
    [
        ("which port?", "Use 6432, where pgbouncer listens.", (0,)),
        ("which port?", "Use 5433, where pgbouncer listens for staging.", ()),  # another number
        ("pgbouncer listens on 6432", "Use 6432, where pgbouncer listens.", ()),  # known before
        ("which port?", "I will look it up.", ()),
        ("which port?", "", ()),
    ],
)
def test_terms_that_only_the_recalled_text_had_are_evidence(
    earlier: str, answer: str, used: tuple[int, ...]
) -> None:
    assert find_used([FACT, ""], earlier, answer) == used
