"""The log of hooks: bounded, newest first, places instead of texts."""

from __future__ import annotations

import pytest

from memd.lifecycle.hooks.injection import HookDecision, ShownLine
from memd.lifecycle.hooks.log import MAX_ENTRIES, SHOWN_PROMPT_CHARS, HookLog, first_words
from memd_client.hooks import HookParams


def test_a_decision_is_logged_without_its_text() -> None:
    log = HookLog(lambda: 7)
    decision = HookDecision("injected", "text", (ShownLine("secret", "a.md#L1"),))
    log.add(HookParams("codex", "prompt", "s1", prompt="which port?"), decision)

    [entry] = log.newest(10)

    assert (entry.time_ms, entry.program, entry.session_id, entry.event) == (7, "codex", "s1", "prompt")
    assert (entry.decision, entry.chars, entry.places) == ("injected", 4, ["a.md#L1"])
    assert (entry.prompt, entry.candidate, entry.lacks) == ("which port?", "", "")
    assert "secret" not in repr(entry)


def test_the_newest_come_first_and_the_oldest_are_dropped() -> None:
    log = HookLog(lambda: 0)
    for number in range(MAX_ENTRIES + 5):
        log.add(HookParams("codex", "prompt", f"s{number % 2}"), HookDecision(f"d{number}"))

    assert [entry.decision for entry in log.newest(2)] == [f"d{MAX_ENTRIES + 4}", f"d{MAX_ENTRIES + 3}"]
    assert len(log.newest(MAX_ENTRIES * 2)) == MAX_ENTRIES
    assert {entry.session_id for entry in log.newest(9, "s1")} == {"s1"}


def test_what_a_candidate_lacks_is_logged_by_its_place() -> None:
    log = HookLog(lambda: 0)
    log.add(
        HookParams("codex", "prompt", "s1"), HookDecision("not_sure", candidate="a.md#L3", lacks="too little")
    )

    [entry] = log.newest(1)

    assert (entry.candidate, entry.lacks, entry.places) == ("a.md#L3", "too little", [])


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [
        ("which\n\n port?", "which port?"),
        ("use sk-ant-api03-" + "aB3" * 20 + " here", "use [redacted:anthropic-key] here"),
        ("\n" * 2_000 + "-----BEGIN RSA PRIVATE KEY-----\n" + "aB3+" * 900, "[redacted:private-key]"),
        ("x " * 100, "x " * (SHOWN_PROMPT_CHARS // 2 - 1) + "x…"),
        ("", ""),
    ],
)
def test_first_words_are_one_short_line_without_secrets(prompt: str, shown: str) -> None:
    assert first_words(prompt) == shown
    assert len(first_words(prompt)) <= SHOWN_PROMPT_CHARS
