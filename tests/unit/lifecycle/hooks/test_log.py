"""The log of hooks: bounded, newest first, places instead of texts."""

from __future__ import annotations

from memd.lifecycle.hooks.log import MAX_ENTRIES, HookLog
from memd_client.hooks import HookParams, HookReply


def test_a_decision_is_logged_without_its_text() -> None:
    log = HookLog(lambda: 7)
    log.add(
        HookParams("codex", "prompt", "s1", prompt="secret"), HookReply("text", "injected", 1), ["a.md#L1"]
    )

    [entry] = log.newest(10)

    assert (entry.time_ms, entry.program, entry.session_id, entry.event) == (7, "codex", "s1", "prompt")
    assert (entry.decision, entry.chars, entry.places) == ("injected", 4, ["a.md#L1"])
    assert "secret" not in repr(entry)


def test_the_newest_come_first_and_the_oldest_are_dropped() -> None:
    log = HookLog(lambda: 0)
    for number in range(MAX_ENTRIES + 5):
        log.add(HookParams("codex", "prompt", f"s{number % 2}"), HookReply("", f"d{number}", 0), [])

    assert [entry.decision for entry in log.newest(2)] == [f"d{MAX_ENTRIES + 4}", f"d{MAX_ENTRIES + 3}"]
    assert len(log.newest(MAX_ENTRIES * 2)) == MAX_ENTRIES
    assert {entry.session_id for entry in log.newest(9, "s1")} == {"s1"}
