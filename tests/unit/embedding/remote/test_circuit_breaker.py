"""A provider that fails is called again after growing pauses, and by one trial call once a window."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from memd.embedding.remote.circuit_breaker import (
    FIRST_BACKOFF_S,
    LONGEST_BACKOFF_S,
    LONGEST_MS,
    LONGEST_TRANSIENT_MS,
    QUOTA_MS,
    REFUSED_MS,
    SPREAD,
    TRANSIENT_MS,
    TRIAL_MS,
    CircuitBreaker,
    backoff_s,
    is_transient,
    named_pause_s,
    window_ms,
)
from memd_client.errors import (
    ProviderAuthError,
    ProviderFailedError,
    ProviderModelError,
    ProviderQuotaError,
    ProviderRateLimitedError,
    ProviderReplyError,
    ProviderUnreachableError,
    TextRefusedError,
    TokenBudgetError,
)

NOW = 1_800_000_000_000
DOWN = ProviderUnreachableError("nobody answers")


def opened(error: ProviderFailedError = DOWN, now_ms: int = NOW) -> CircuitBreaker:
    breaker = CircuitBreaker()
    breaker.failed(breaker.enter(now_ms), error, now_ms)
    return breaker


@pytest.mark.parametrize(
    ("error", "first_ms", "last_ms"),
    [
        (DOWN, TRANSIENT_MS, LONGEST_TRANSIENT_MS),
        (ProviderFailedError("500"), TRANSIENT_MS, LONGEST_TRANSIENT_MS),
        (ProviderRateLimitedError("429"), TRANSIENT_MS, LONGEST_TRANSIENT_MS),
        (ProviderRateLimitedError("429", data={"retry_after_s": 40}), 40_000, LONGEST_TRANSIENT_MS),
        (ProviderRateLimitedError("429", data={"retry_after_s": 0.1}), TRANSIENT_MS, LONGEST_TRANSIENT_MS),
        (ProviderRateLimitedError("429", data={"retry_after_s": 1e300}), LONGEST_MS, LONGEST_MS),
        (ProviderReplyError("paid for"), TRANSIENT_MS, REFUSED_MS),
        (ProviderQuotaError("no credit"), QUOTA_MS, QUOTA_MS),
        (ProviderQuotaError("no credit", data={"retry_after_s": 7200}), 7_200_000, 7_200_000),
        (ProviderAuthError("401"), REFUSED_MS, REFUSED_MS),
        (ProviderModelError("404"), REFUSED_MS, REFUSED_MS),
    ],
)
def test_windows_are_as_long_as_the_failure_may_last(
    error: ProviderFailedError, first_ms: int, last_ms: int
) -> None:
    windows = [window_ms(error, failures) for failures in range(1, 30)]

    assert (windows[0], windows[-1]) == (first_ms, last_ms)
    assert windows == sorted(windows)


def test_calls_within_the_window_are_refused_with_the_error_and_how_long_it_lasts() -> None:
    breaker = opened(ProviderRateLimitedError("slow down", hint="wait", data={"retry_after_s": 40}))

    with pytest.raises(ProviderRateLimitedError) as refusal:
        breaker.enter(NOW + 10_500)

    assert refusal.value.message == "slow down; asked again in 30 s"
    assert refusal.value.hint == "wait"
    assert refusal.value.data == {"retry_after_s": 30}
    assert breaker.refusal(NOW) is not breaker.refusal(NOW)


def test_after_the_window_one_call_tries_and_its_success_closes() -> None:
    breaker = opened()
    after = NOW + TRANSIENT_MS

    ticket = breaker.enter(after)
    with pytest.raises(ProviderUnreachableError):
        breaker.enter(after)
    breaker.succeeded(ticket, after)

    assert ticket > 0
    assert breaker.enter(after) == breaker.enter(after) == 0
    assert repr(breaker) == "<CircuitBreaker closed>"


def test_each_failed_trial_doubles_the_window_and_the_first_failure_is_remembered() -> None:
    breaker = opened()
    now, windows = NOW, []
    for _ in range(8):
        now = breaker.until_ms
        breaker.failed(breaker.enter(now), DOWN, now)
        windows.append(breaker.until_ms - now)

    assert windows == [4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000]
    assert breaker.since_ms == NOW


def test_calls_that_failed_together_count_as_one_failure_and_the_longest_window_holds() -> None:
    breaker = CircuitBreaker()
    tickets = [breaker.enter(NOW) for _ in range(4)]

    breaker.failed(tickets[0], DOWN, NOW)
    breaker.failed(tickets[1], ProviderRateLimitedError("429", data={"retry_after_s": 40}), NOW + 1)
    breaker.failed(tickets[2], DOWN, NOW + 2)
    breaker.succeeded(tickets[3], NOW + 3)

    assert breaker.failures == 1
    assert breaker.retry_in_ms(NOW + 3) == 40_000 - 2
    assert isinstance(breaker.refusal(NOW + 3), ProviderRateLimitedError)


def test_an_older_call_that_went_well_does_not_let_the_others_through() -> None:
    breaker = CircuitBreaker()
    older, failing = breaker.enter(NOW), breaker.enter(NOW)
    breaker.failed(failing, ProviderQuotaError("no credit"), NOW)
    breaker.succeeded(older, NOW + QUOTA_MS + 5)

    assert breaker.error is not None


def test_a_cancelled_trial_is_given_back() -> None:
    breaker = opened()
    after = NOW + TRANSIENT_MS
    breaker.abandoned(breaker.enter(after))

    assert breaker.enter(after) > 0


def test_a_trial_nothing_is_heard_of_does_not_keep_the_door_shut_for_ever() -> None:
    breaker = opened()
    lost = breaker.enter(NOW + TRANSIENT_MS)
    later = NOW + TRANSIENT_MS + TRIAL_MS
    second = breaker.enter(later)
    breaker.abandoned(lost)  # it turns up after all, and is no trial any more

    assert second not in (0, lost)
    with pytest.raises(ProviderUnreachableError):
        breaker.enter(later)


@pytest.mark.parametrize("error", [TextRefusedError("odd"), TokenBudgetError("spent")])
def test_a_refused_text_and_a_spent_budget_say_nothing_against_the_provider(
    error: ProviderFailedError,
) -> None:
    assert opened(error).enter(NOW) == 0
    breaker = opened()
    after = NOW + TRANSIENT_MS
    breaker.failed(breaker.enter(after), error, after)
    assert breaker.enter(after) == 0


def test_a_clock_that_is_set_back_makes_no_window_longer_than_it_was_meant() -> None:
    breaker = opened()
    a_year_ago = NOW - 365 * 86_400_000

    assert breaker.retry_in_ms(a_year_ago) == TRANSIENT_MS
    assert breaker.enter(a_year_ago + TRANSIENT_MS) > 0


def test_a_restart_keeps_error_window_and_count() -> None:
    breaker = opened(ProviderQuotaError("no credit", hint="add some"))
    record = json.loads(json.dumps(breaker.to_record()))
    restored = CircuitBreaker.from_record(record)

    assert restored.to_record() == breaker.to_record()
    with pytest.raises(ProviderQuotaError, match="no credit; asked again in 30 min") as refusal:
        restored.enter(NOW)
    assert refusal.value.hint == "add some"


def test_a_trial_that_was_under_way_when_the_process_was_killed_was_the_call_of_its_window() -> None:
    breaker = opened(ProviderQuotaError("no credit"))
    breaker.enter(NOW + QUOTA_MS)
    restored = CircuitBreaker.from_record(breaker.to_record())

    assert restored.retry_in_ms(NOW + QUOTA_MS + 1) == QUOTA_MS - 1


GARBAGE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(
    record=GARBAGE,
    wrong=st.dictionaries(st.sampled_from(sorted(opened().to_record())), GARBAGE, max_size=4),
    now_ms=st.integers(0, 2 * NOW),
)
def test_a_garbage_record_is_a_breaker_that_recovers_within_a_day(
    record: object, wrong: dict[str, Any], now_ms: int
) -> None:
    for value in (record, {**opened().to_record(), **wrong}):
        breaker = CircuitBreaker.from_record(value)
        assert breaker.retry_in_ms(now_ms) <= LONGEST_MS
        breaker.enter(now_ms + LONGEST_MS)


ERRORS = st.sampled_from(
    [
        DOWN,
        ProviderFailedError("500"),
        ProviderReplyError("garbage"),
        ProviderRateLimitedError("429"),
        ProviderRateLimitedError("429", data={"retry_after_s": 40}),
        ProviderQuotaError("no credit"),
        ProviderAuthError("401"),
        TextRefusedError("odd"),
    ]
)


class BreakerMachine(RuleBasedStateMachine):
    """Many lanes call through one breaker while time passes and the process restarts."""

    def __init__(self) -> None:
        super().__init__()
        self.breaker = CircuitBreaker()
        self.now = NOW
        self.plain: list[int] = []
        self.trials: list[int] = []
        self.trial_at: int | None = None

    @rule()
    def call(self) -> None:
        is_refused = self.breaker.retry_in_ms(self.now) > 0
        try:
            ticket = self.breaker.enter(self.now)
        except ProviderFailedError:
            assert is_refused
            return
        assert not is_refused
        if ticket:
            # never more than one trial at a time, but for one that was lost
            assert not self.trials or self.trial_at is None or self.now - self.trial_at >= TRIAL_MS
            self.trials, self.trial_at = [ticket], self.now
        else:
            self.plain.append(ticket)

    def _take(self, want_trial: bool) -> int | None:
        line = self.trials if want_trial and self.trials else self.plain
        return line.pop() if line else None

    @rule(want_trial=st.booleans())
    def succeed(self, want_trial: bool) -> None:
        ticket = self._take(want_trial)
        if ticket is not None:
            was_open = self.breaker.until_ms > self.now
            self.breaker.succeeded(ticket, self.now)
            # a window that is open is never cut short
            assert not was_open or self.breaker.error is not None

    @rule(want_trial=st.booleans(), error=ERRORS)
    def fail(self, want_trial: bool, error: ProviderFailedError) -> None:
        ticket = self._take(want_trial)
        if ticket is not None:
            until = self.breaker.until_ms
            self.breaker.failed(ticket, error, self.now)
            if not isinstance(error, TextRefusedError):
                assert self.breaker.until_ms >= max(until, self.now + TRANSIENT_MS)

    @rule(want_trial=st.booleans())
    def cancel(self, want_trial: bool) -> None:
        ticket = self._take(want_trial)
        if ticket is not None:
            self.breaker.abandoned(ticket)

    @rule(ms=st.integers(0, 2 * QUOTA_MS) | st.integers(0, 5_000))
    def wait(self, ms: int) -> None:
        self.now += ms

    @precondition(lambda self: self.breaker.error is not None)
    @rule()
    def wait_for_the_end_of_the_window(self) -> None:
        self.now = max(self.now, self.breaker.until_ms)

    @rule()
    def restart(self) -> None:
        window, trial_ms = self.breaker.window_ms, self.breaker.trial_ms
        self.breaker = CircuitBreaker.from_record(json.loads(json.dumps(self.breaker.to_record())))
        self.plain, self.trials = [], []
        if trial_ms is not None:
            assert self.breaker.until_ms >= trial_ms + window

    @invariant()
    def an_open_breaker_says_why_since_when_and_until_when(self) -> None:
        breaker = self.breaker
        if breaker.error is None:
            assert breaker.refusal(self.now) is None
            assert (breaker.until_ms, breaker.window_ms, breaker.failures) == (0, 0, 0)
        else:
            assert 0 < breaker.since_ms <= self.now
            assert breaker.until_ms > 0
            assert breaker.window_ms >= TRANSIENT_MS
            assert breaker.failures > 0

    @invariant()
    def it_always_recovers(self) -> None:
        record = self.breaker.to_record()
        other = CircuitBreaker.from_record(record)
        later = self.now + LONGEST_MS + TRIAL_MS
        assert self.breaker.retry_in_ms(later) == 0
        other.succeeded(other.enter(later), later)
        assert other.error is None


TestBreakerMachine = BreakerMachine.TestCase


def test_pauses_double_from_half_a_second_to_eight() -> None:
    assert [backoff_s(attempt, lambda: 0.0) for attempt in range(7)] == [0.5, 1, 2, 4, 8, 8, 8]


@given(attempt=st.integers(0, 10_000), chance=st.floats(0, 1, exclude_max=True))
def test_chance_lengthens_a_pause_within_bounds(attempt: int, chance: float) -> None:
    pause_s = backoff_s(attempt, lambda: chance)
    plain_s = backoff_s(attempt, lambda: 0.0)

    assert FIRST_BACKOFF_S <= plain_s <= pause_s <= min(LONGEST_BACKOFF_S, plain_s * (1 + SPREAD))


@pytest.mark.parametrize(
    ("error", "again"),
    [
        (ProviderUnreachableError(""), True),
        (ProviderRateLimitedError(""), True),
        (ProviderFailedError("", data={"transient": True}), True),
        (ProviderFailedError("a request it doesn't understand"), False),
        (ProviderReplyError("paid for"), False),
        (ProviderQuotaError(""), False),
        (ProviderAuthError(""), False),
        (ProviderModelError(""), False),
        (TextRefusedError(""), False),
        (TokenBudgetError(""), False),
    ],
)
def test_only_what_may_pass_by_itself_is_tried_again_at_once(error: ProviderFailedError, again: bool) -> None:
    assert is_transient(error) is again


@pytest.mark.parametrize(
    ("data", "pause_s"),
    [({}, 0), ({"retry_after_s": 40}, 40), ({"retry_after_s": 1.5}, 1.5), ({"retry_after_s": -3}, 0)]
    + [({"retry_after_s": odd}, 0) for odd in ("40", None, math.nan, [1])],
)
def test_a_named_pause_is_a_number_of_seconds_or_none(data: dict[str, object], pause_s: float) -> None:
    assert named_pause_s(ProviderRateLimitedError("", data=data)) == pause_s
