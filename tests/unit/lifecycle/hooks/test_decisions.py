"""The line of a session that records a decision."""

from __future__ import annotations

import pytest

from memd.lifecycle.hooks.decisions import MAX_DECISION_CHARS, decision_line


@pytest.mark.parametrize(
    ("message", "decision"),
    [
        (
            "Assistant: It is slow. We decided to split the queue. Tests pass.",
            "We decided to split the queue.",
        ),
        (
            "Assistant: Wir haben beschlossen, die Mails zu trennen.",
            "Wir haben beschlossen, die Mails zu trennen.",
        ),
        ("Assistant: Se decidió usar Cal.com con Google", "Se decidió usar Cal.com con Google"),
        ("User: On a convenu de garder Postgres", "On a convenu de garder Postgres"),
        ("Assistant: 期間は 90 日に決めました。", "期間は 90 日に決めました。"),
    ],
)
def test_a_statement_with_a_word_of_decision_is_returned(message: str, decision: str) -> None:
    assert decision_line(["User: what now?", message, "User: thanks"]) == decision


def test_the_last_decision_wins() -> None:
    lines = ["Assistant: We agreed on five retries.", "User: no", "Assistant: We agreed on three retries."]

    assert decision_line(lines) == "We agreed on three retries."


def test_a_question_is_no_decision() -> None:
    assert (
        decision_line(["User: build the queue", "Assistant: Which one was decided before?"])
        == "build the queue"
    )


def test_without_a_decision_the_last_request_is_returned() -> None:
    lines = [
        "User: build the queue",
        "Assistant: Done.",
        "User: name it order-mails",
        "Assistant: Ok.",
        "User: thanks",
    ]

    assert decision_line(lines) == "name it order-mails"


def test_a_session_without_requests_has_no_line() -> None:
    assert decision_line(["User: ok", "Assistant: Done."]) == ""
    assert decision_line([]) == ""


def test_a_long_decision_is_cut() -> None:
    line = decision_line([f"Assistant: We decided {'to wait ' * 60}"])

    assert len(line) == MAX_DECISION_CHARS
    assert line.endswith("…")
