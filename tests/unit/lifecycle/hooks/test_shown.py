"""Shown facts: a session is not shown the same fact twice."""

from __future__ import annotations

from memd.lifecycle.hooks.shown import MAX_SESSIONS, MAX_TEXTS, ShownFacts

FACT = "Upload jobs retry five times, then go to the dead queue"


def test_a_fact_is_shown_once_in_a_session() -> None:
    shown = ShownFacts()
    shown.add("codex", "s1", FACT)

    assert shown.is_shown("codex", "s1", FACT)
    assert shown.is_shown("codex", "s1", f"-  {FACT.upper()}.")
    assert not shown.is_shown("codex", "s2", FACT)
    assert not shown.is_shown("gemini", "s1", FACT)


def test_a_near_duplicate_is_the_same_fact() -> None:
    shown = ShownFacts()
    shown.add("codex", "s1", FACT)

    assert shown.is_shown("codex", "s1", f"{FACT} again")


def test_another_number_is_another_fact() -> None:
    shown = ShownFacts()
    shown.add("codex", "s1", "Staging of the shop listens on the port 8443")

    assert not shown.is_shown("codex", "s1", "Staging of the shop listens on the port 9443")


def test_the_session_without_events_for_longest_is_forgotten() -> None:
    shown = ShownFacts()
    for number in range(MAX_SESSIONS + 1):
        shown.add("codex", f"s{number}", FACT)

    assert not shown.is_shown("codex", "s0", FACT)
    assert shown.is_shown("codex", "s1", FACT)


def test_a_session_remembers_a_bounded_number_of_texts() -> None:
    shown = ShownFacts()
    for number in range(MAX_TEXTS + 1):
        shown.add("codex", "s1", f"fact {number}")

    assert not shown.is_shown("codex", "s1", "fact 0")
    assert shown.is_shown("codex", "s1", f"fact {MAX_TEXTS}")
