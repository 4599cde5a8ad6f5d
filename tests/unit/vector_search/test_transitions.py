"""The table of provider states, row by row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from memd.vector_search.transitions import (
    CHOOSE_INTERVAL_MS,
    FALLBACK_AFTER_MS,
    PERMANENT_FAILURES,
    PROBE_INTERVAL_MS,
    TRANSITIONS,
    Situation,
    State,
    next_step,
)
from memd_client.messages import Degradation

NOW = 1_800_000_000_000
QUOTA = Degradation("provider_quota_exhausted", "no credit", NOW, "add credit")
DOWN = Degradation("provider_unreachable", "no route", NOW - FALLBACK_AFTER_MS + 1, "")
DOWN_LONG = Degradation("provider_unreachable", "no route", NOW - FALLBACK_AFTER_MS, "")

JUST_TRIED = Situation("primary", has_fallback=True, tried_ms=NOW, now_ms=NOW)


def situation(
    state: State, failure: Degradation | None = None, *, waited_ms: int = 0, **changes: bool
) -> Situation:
    return replace(JUST_TRIED, state=state, failure=failure, tried_ms=NOW - waited_ms, **changes)


@pytest.mark.parametrize(
    ("now", "step"),
    [
        (situation("off", waited_ms=CHOOSE_INTERVAL_MS), "wait"),
        (situation("unavailable", waited_ms=CHOOSE_INTERVAL_MS - 1), "wait"),
        (situation("unavailable", waited_ms=CHOOSE_INTERVAL_MS), "choose"),
        (situation("primary"), "wait"),
        (situation("primary", QUOTA), "fall_back"),
        (situation("primary", DOWN), "wait"),
        (situation("primary", DOWN_LONG), "fall_back"),
        (situation("primary", QUOTA, has_fallback=False), "wait"),
        (situation("primary", QUOTA, is_fallback_broken=True), "wait"),
        (situation("primary", QUOTA, is_fallback_broken=True, waited_ms=CHOOSE_INTERVAL_MS), "fall_back"),
        (situation("standby"), "return"),
        (situation("standby", QUOTA, waited_ms=PROBE_INTERVAL_MS - 1), "wait"),
        (situation("standby", QUOTA, waited_ms=PROBE_INTERVAL_MS), "probe"),
        (situation("standby", QUOTA, waited_ms=PROBE_INTERVAL_MS, is_admitted=False), "wait"),
    ],
)
def test_situation_gives_the_step(now: Situation, step: str) -> None:
    assert next_step(now) == step


def test_every_row_of_the_table_can_be_reached() -> None:
    steps = [
        next_step(situation("unavailable", waited_ms=CHOOSE_INTERVAL_MS)),
        next_step(situation("primary", QUOTA)),
        next_step(situation("standby")),
        next_step(situation("standby", QUOTA, waited_ms=PROBE_INTERVAL_MS)),
    ]
    assert steps == [step for _, _, step in TRANSITIONS]


@given(st.sampled_from(sorted(PERMANENT_FAILURES)), st.integers(0, 10**9))
def test_permanent_failure_needs_no_time(code: str, lasted_ms: int) -> None:
    assert next_step(situation("primary", Degradation(code, "", NOW - lasted_ms, ""))) == "fall_back"
