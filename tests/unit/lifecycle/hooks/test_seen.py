"""Seen facts: a session is not shown the same fact or message twice."""

from __future__ import annotations

from memd.lifecycle.hooks.injection import ShownLine
from memd.lifecycle.hooks.seen import MAX_MARKS, MAX_SESSIONS, SeenFacts

FACT = "Upload jobs retry five times, then go to the dead queue"


def test_a_fact_is_shown_once_in_a_session() -> None:
    shown = SeenFacts()
    shown.add("codex", "s1", ShownLine(FACT))

    assert shown.is_seen("codex", "s1", ShownLine(FACT))
    assert shown.is_seen("codex", "s1", ShownLine(f"-  {FACT.upper()}."))
    assert not shown.is_seen("codex", "s2", ShownLine(FACT))
    assert not shown.is_seen("gemini", "s1", ShownLine(FACT))


def test_a_near_duplicate_is_the_same_fact() -> None:
    shown = SeenFacts()
    shown.add("codex", "s1", ShownLine(FACT))

    assert shown.is_seen("codex", "s1", ShownLine(f"{FACT} again"))


def test_another_number_is_another_fact() -> None:
    shown = SeenFacts()
    shown.add("codex", "s1", ShownLine("Staging of the shop listens on the port 8443"))

    assert not shown.is_seen("codex", "s1", ShownLine("Staging of the shop listens on the port 9443"))


def test_the_session_without_events_for_longest_is_forgotten() -> None:
    shown = SeenFacts()
    for number in range(MAX_SESSIONS + 1):
        shown.add("codex", f"s{number}", ShownLine(FACT))

    assert not shown.is_seen("codex", "s0", ShownLine(FACT))
    assert shown.is_seen("codex", "s1", ShownLine(FACT))


def test_a_session_remembers_a_bounded_number_of_marks() -> None:
    shown = SeenFacts()
    for number in range(MAX_MARKS + 1):
        shown.add("codex", "s1", ShownLine(f"fact {number}"))

    assert not shown.is_seen("codex", "s1", ShownLine("fact 0"))
    assert shown.is_seen("codex", "s1", ShownLine(f"fact {MAX_MARKS}"))


def quoted(*lines: str, at: int = 7, session: str = "ses_1") -> ShownLine:
    """Return a line of a conversation, or a question with its answer."""
    return ShownLine(
        " ".join(lines)[:40], quoted=lines, messages=tuple(f"{session}:{at + n}" for n in range(len(lines)))
    )


def test_another_part_of_a_shown_message_is_not_new() -> None:
    shown = SeenFacts()
    shown.add("codex", "s1", quoted("Assistant: Staging listens on port 8443"))

    assert shown.is_seen("codex", "s1", quoted("and production is behind the cormorant gateway"))
    assert not shown.is_seen("codex", "s1", quoted("and production is behind the cormorant gateway", at=8))


def test_a_shown_answer_is_not_new_without_its_question() -> None:
    shown = SeenFacts()
    answer = "Assistant: Staging of the shop listens on port 8443"
    shown.add("codex", "s1", quoted("User: which port?", answer))

    assert shown.is_seen("codex", "s1", quoted(answer, at=8))
    assert shown.is_seen("codex", "s1", quoted(answer, at=1, session="copy"))
    assert shown.is_seen("codex", "s1", quoted("User: what is the port?", answer, at=1, session="copy"))


def test_a_short_answer_to_another_question_is_new() -> None:
    shown = SeenFacts()
    shown.add("codex", "s1", quoted("User: does the staging proxy cache?", "Assistant: Yes."))

    assert not shown.is_seen("codex", "s1", quoted("User: is billing in euro?", "Assistant: Yes.", at=20))


def test_a_line_is_recognized_by_all_of_it_when_another_part_is_shown() -> None:
    line = (
        "Upload jobs retry five times, " + "then wait for the nightly run, " * 9 + "then go to the dead queue"
    )
    shown = SeenFacts()
    shown.add("codex", "s1", ShownLine(line[:60], quoted=(line,)))

    assert shown.is_seen("codex", "s1", ShownLine(line[-60:], quoted=(line,)))
