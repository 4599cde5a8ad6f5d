"""Decisions of hooks in the log of recalls: newest first, locations instead of texts."""

from __future__ import annotations

import pytest

from memd.lifecycle.hooks.injection import HookDecision, ShownLine
from memd.lifecycle.hooks.log import SHOWN_PROMPT_CHARS, first_words, hook_entries, hook_recall
from memd.lifecycle.recalls.recall import Recall
from memd_client.hooks import HookParams


def logged(*decisions: HookDecision, session: str = "s1", prompt: str = "") -> list[Recall]:
    """Return the recalls of decisions at prompts of one session."""
    return [
        hook_recall(HookParams("codex", "prompt", session, prompt=prompt), decision, ["main"])
        for decision in decisions
    ]


def test_a_decision_is_logged_without_its_text() -> None:
    decision = HookDecision("injected", "text", (ShownLine("secret", "a.md#L1"),))
    recalls = logged(decision, prompt="which port?")
    recalls[0].id = 7_000

    [entry] = hook_entries(recalls, 10)

    assert (entry.time_ms, entry.program, entry.session_id, entry.event) == (7, "codex", "s1", "prompt")
    assert (entry.decision, entry.chars, entry.places) == ("injected", 4, ["a.md#L1"])
    assert (entry.prompt, entry.candidate, entry.lacks) == ("which port?", "", "")
    assert "secret" not in repr(recalls)


def test_the_newest_decisions_come_first_and_searches_are_skipped() -> None:
    first, second = logged(HookDecision("empty"), HookDecision("not_sure"))
    [other] = logged(HookDecision("off"), session="s2")
    search = Recall(way="search", program="memctl", query="port")

    entries = hook_entries([first, search, second, other], 9)

    assert [entry.decision for entry in entries] == ["off", "not_sure", "empty"]
    assert [entry.decision for entry in hook_entries([first, second, other], 1)] == ["off"]
    assert [entry.decision for entry in hook_entries([first, second, other], 9, "s2")] == ["off"]


def test_what_a_candidate_lacks_is_logged_by_its_place() -> None:
    [entry] = hook_entries(logged(HookDecision("not_sure", candidate="a.md#L3", lacks="too little")), 1)

    assert (entry.candidate, entry.lacks, entry.places) == ("a.md#L3", "too little", [])


@pytest.mark.parametrize(
    ("decision", "event", "way"),
    [
        ("injected", "prompt", "prompt"),
        ("empty", "session_start", "start"),
        ("machine_prompt", "prompt", "hook"),
    ],
)
def test_a_decision_without_a_search_is_no_recall(decision: str, event: str, way: str) -> None:
    assert hook_recall(HookParams("codex", event, "s1"), HookDecision(decision), ["main"]).way == way


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
