"""A flush is due once a cycle, when the context or the transcript is nearly full, and tells the agent what to do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.lifecycle.flush.check import DUE_REASONS, REASONS, SessionFigures, decide, flush_prompts
from memd.settings.lifecycle import Flush

FULL = {"total_tokens": 176_000, "context_window": 200_000}
MB = 1024 * 1024


def _ms(*moment: int) -> int:
    return int(datetime(*moment, tzinfo=UTC).timestamp() * 1000)  # type: ignore[misc,arg-type]


NOON = _ms(2026, 11, 22, 12)


# --- the decision -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figures", "settings", "reason"),
    [
        ({}, {}, "tokens"),
        ({"total_tokens": 175_999}, {}, "below_threshold"),
        ({"total_tokens": 170_000, "next_input_tokens": 6_000}, {}, "tokens"),
        ({"total_tokens": None, "next_input_tokens": 200_000}, {}, "tokens_unknown"),
        ({"total_tokens": 0, "next_input_tokens": 200_000}, {}, "tokens_unknown"),
        ({"context_window": None}, {}, "window_unknown"),
        ({"context_window": 24_000}, {}, "window_too_small"),
        ({"context_window": 24_001}, {}, "tokens"),
        ({}, {"reserve_tokens_floor": 10_000}, "below_threshold"),
        ({}, {"soft_threshold_tokens": 0}, "below_threshold"),
        ({}, {"enabled": False}, "off"),
        ({"kind": "heartbeat"}, {}, "heartbeat"),
        ({"cli_provider": True}, {}, "cli_provider"),
        ({"workspace_access": "ro"}, {}, "workspace_read_only"),
        ({"workspace_access": "none"}, {}, "no_workspace"),
        ({"has_workspace": False}, {}, "no_workspace"),
        ({"flushed_at_compaction": 0}, {}, "flushed_already"),
        ({"flushed_at_compaction": 0, "compaction_count": 1}, {}, "tokens"),
        ({"flushed_at_compaction": 3, "compaction_count": 0}, {}, "tokens"),
        ({"total_tokens": None, "transcript_bytes": 2 * MB}, {}, "transcript_size"),
        ({"total_tokens": 1, "transcript_bytes": 2 * MB - 1}, {}, "below_threshold"),
        ({"transcript_bytes": 9 * MB, "flushed_at_compaction": 0}, {}, "flushed_already"),
        ({"transcript_bytes": 9 * MB, "kind": "heartbeat"}, {}, "heartbeat"),
        (
            {"total_tokens": 1, "transcript_bytes": 9 * MB},
            {"force_flush_transcript_bytes": 0},
            "below_threshold",
        ),
    ],
)
def test_each_case_has_its_reason(figures: dict[str, Any], settings: dict[str, Any], reason: str) -> None:
    decision = decide(Flush(**settings), SessionFigures(**{**FULL, **figures}))

    assert decision.reason == reason
    assert decision.run is (reason in DUE_REASONS)
    assert decision.message == REASONS[reason]


def test_the_decision_has_the_threshold() -> None:
    assert decide(Flush(), SessionFigures(1, 200_000)).threshold_tokens == 176_000
    assert decide(Flush(), SessionFigures(1, 20_000)).threshold_tokens == 0


_FIGURE = st.none() | st.integers(-5, 300_000)


@settings(max_examples=60)
@given(
    total=_FIGURE,
    window=_FIGURE,
    size=_FIGURE,
    count=st.integers(0, 3),
    flushed=st.none() | st.integers(0, 3),
)
def test_a_cycle_that_was_flushed_is_never_flushed_again(
    total: int | None, window: int | None, size: int | None, count: int, flushed: int | None
) -> None:
    figures = SessionFigures(total, window, count, flushed, transcript_bytes=size)

    decision = decide(Flush(force_flush_transcript_bytes=1_000), figures)

    assert decision.reason in REASONS
    assert not (decision.run and flushed == count)
    assert decision.threshold_tokens >= 0


# --- the prompts ------------------------------------------------------------------------------------


def test_the_prompts_name_the_note_and_keep_the_rest_whole() -> None:
    prompts = flush_prompts(Flush(), NOON, "Europe/Prague")

    assert prompts.path == "memory/2026-11-22.md"
    for text in (prompts.system, prompts.user):
        assert "`memory/2026-11-22.md`" in text
        assert "NO_REPLY" in text
        assert "Append" in text
        assert "MEMORY.md, USER.md" in text
    assert prompts.user.endswith("Current time: 2026-11-22 13:00 (Europe/Prague, UTC+01:00)")
    assert "Current time" not in prompts.system


def test_configured_prompts_get_what_they_lack() -> None:
    settings = Flush(prompt="Write to memory/YYYY-MM-DD.md (YYYY-MM-DD).", system_prompt="Save now.")

    prompts = flush_prompts(settings, NOON, "UTC")

    assert prompts.user.startswith("Write to memory/2026-11-22.md (2026-11-22).\n")
    assert prompts.system.startswith("Save now.\n")
    assert "YYYY" not in prompts.user
    assert prompts.user.count("NO_REPLY") == prompts.system.count("NO_REPLY") == 1
    assert prompts.user.endswith("Current time: 2026-11-22 12:00 (UTC)")


def test_nothing_is_said_twice() -> None:
    settings = Flush(prompt="Say NO_REPLY.\nCurrent time: noon", system_prompt="NO_REPLY if nothing.")

    prompts = flush_prompts(settings, NOON, "UTC")

    assert prompts.user.count("Current time:") == 1
    assert prompts.user.count("NO_REPLY") == 1
    assert prompts.system.count("NO_REPLY") == 1


def test_an_empty_prompt_is_none() -> None:
    assert flush_prompts(Flush(prompt="  "), NOON, "UTC") == flush_prompts(Flush(), NOON, "UTC")


@pytest.mark.parametrize(
    ("zone", "now_ms", "day", "told"),
    [
        ("UTC", _ms(2026, 12, 31, 23, 59), "2026-12-31", "2026-12-31 23:59 (UTC)"),
        ("UTC", _ms(2027, 1, 1), "2027-01-01", "2027-01-01 00:00 (UTC)"),
        (
            "Asia/Kathmandu",
            _ms(2026, 1, 1, 18, 15),
            "2026-01-02",
            "2026-01-02 00:00 (Asia/Kathmandu, UTC+05:45)",
        ),
        (
            "America/St_Johns",
            _ms(2026, 1, 2, 3),
            "2026-01-01",
            "2026-01-01 23:30 (America/St_Johns, UTC-03:30)",
        ),
        (
            "Europe/Berlin",
            _ms(2026, 3, 29, 0, 59),
            "2026-03-29",
            "2026-03-29 01:59 (Europe/Berlin, UTC+01:00)",
        ),
        (
            "Europe/Berlin",
            _ms(2026, 3, 29, 1, 0),
            "2026-03-29",
            "2026-03-29 03:00 (Europe/Berlin, UTC+02:00)",
        ),
        (
            "Europe/Berlin",
            _ms(2026, 10, 25, 0, 30),
            "2026-10-25",
            "2026-10-25 02:30 (Europe/Berlin, UTC+02:00)",
        ),
        (
            "Europe/Berlin",
            _ms(2026, 10, 25, 1, 30),
            "2026-10-25",
            "2026-10-25 02:30 (Europe/Berlin, UTC+01:00)",
        ),
        ("UTC", _ms(2024, 2, 29, 12), "2024-02-29", "2024-02-29 12:00 (UTC)"),
    ],
)
def test_the_day_and_the_time_are_the_users(zone: str, now_ms: int, day: str, told: str) -> None:
    prompts = flush_prompts(Flush(), now_ms, zone)

    assert prompts.path == f"memory/{day}.md"
    assert prompts.user.endswith(f"Current time: {told}")


def test_without_a_zone_the_time_has_the_machines_offset() -> None:
    assert flush_prompts(Flush(), NOON, None).user.rpartition(" (")[2].startswith("UTC")
