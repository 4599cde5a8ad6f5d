"""Tests of the circuit breaker and the back-off."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from memd.embedding.remote.circuit_breaker import (
    ACTION_WINDOW_MS,
    FIRST_BACKOFF_S,
    FIRST_TRANSIENT_WINDOW_MS,
    MAX_BACKOFF_S,
    MAX_JITTER_SHARE,
    MAX_TRANSIENT_WINDOW_MS,
    MAX_WINDOW_MS,
    QUOTA_WINDOW_MS,
    TRIAL_TIMEOUT_MS,
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
    breaker.record_failure(breaker.admit(now_ms), error, now_ms)
    return breaker


@pytest.mark.parametrize(
    ("error", "first_ms", "last_ms"),
    [
        (DOWN, FIRST_TRANSIENT_WINDOW_MS, MAX_TRANSIENT_WINDOW_MS),
        (ProviderFailedError("500"), FIRST_TRANSIENT_WINDOW_MS, MAX_TRANSIENT_WINDOW_MS),
        (ProviderRateLimitedError("429"), FIRST_TRANSIENT_WINDOW_MS, MAX_TRANSIENT_WINDOW_MS),
        (ProviderRateLimitedError("429", data={"retry_after_s": 40}), 40_000, MAX_TRANSIENT_WINDOW_MS),
        (
            ProviderRateLimitedError("429", data={"retry_after_s": 0.1}),
            FIRST_TRANSIENT_WINDOW_MS,
            MAX_TRANSIENT_WINDOW_MS,
        ),
        (ProviderRateLimitedError("429", data={"retry_after_s": 1e300}), MAX_WINDOW_MS, MAX_WINDOW_MS),
        (ProviderReplyError("paid for"), FIRST_TRANSIENT_WINDOW_MS, ACTION_WINDOW_MS),
        (ProviderQuotaError("no credit"), QUOTA_WINDOW_MS, QUOTA_WINDOW_MS),
        (ProviderQuotaError("no credit", data={"retry_after_s": 7200}), 7_200_000, 7_200_000),
        (ProviderAuthError("401"), ACTION_WINDOW_MS, ACTION_WINDOW_MS),
        (ProviderModelError("404"), ACTION_WINDOW_MS, ACTION_WINDOW_MS),
    ],
)
def test_window_length_depends_on_the_error(error: ProviderFailedError, first_ms: int, last_ms: int) -> None:
    windows = [window_ms(error, failures) for failures in range(1, 30)]

    assert (windows[0], windows[-1]) == (first_ms, last_ms)
    assert windows == sorted(windows)


def test_calls_within_the_window_fail_fast_with_error_and_wait() -> None:
    breaker = opened(ProviderRateLimitedError("slow down", hint="wait", data={"retry_after_s": 40}))

    with pytest.raises(ProviderRateLimitedError) as refusal:
        breaker.admit(NOW + 10_500)

    assert refusal.value.message == "slow down; next try in 30 s"
    assert refusal.value.hint == "wait"
    assert refusal.value.data == {"retry_after_s": 30}
    assert breaker.refusal(NOW) is not breaker.refusal(NOW)


def test_one_trial_is_allowed_after_the_window_and_its_success_closes() -> None:
    breaker = opened()
    after = NOW + FIRST_TRANSIENT_WINDOW_MS

    trial_number = breaker.admit(after)
    with pytest.raises(ProviderUnreachableError):
        breaker.admit(after)
    breaker.record_success(trial_number, after)

    assert trial_number > 0
    assert breaker.admit(after) == breaker.admit(after) == 0
    assert repr(breaker) == "<CircuitBreaker closed>"


def test_failed_trials_double_the_window_and_keep_the_first_failure_time() -> None:
    breaker = opened()
    now, windows = NOW, []
    for _ in range(8):
        now = breaker.until_ms
        breaker.record_failure(breaker.admit(now), DOWN, now)
        windows.append(breaker.until_ms - now)

    assert windows == [4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000]
    assert breaker.since_ms == NOW


def test_concurrent_failures_count_once_with_the_longest_window() -> None:
    breaker = CircuitBreaker()
    trial_numbers = [breaker.admit(NOW) for _ in range(4)]

    breaker.record_failure(trial_numbers[0], DOWN, NOW)
    breaker.record_failure(
        trial_numbers[1], ProviderRateLimitedError("429", data={"retry_after_s": 40}), NOW + 1
    )
    breaker.record_failure(trial_numbers[2], DOWN, NOW + 2)
    breaker.record_success(trial_numbers[3], NOW + 3)

    assert breaker.failures == 1
    assert breaker.retry_in_ms(NOW + 3) == 40_000 - 2
    assert isinstance(breaker.refusal(NOW + 3), ProviderRateLimitedError)


def test_success_of_an_earlier_call_does_not_close_the_breaker() -> None:
    breaker = CircuitBreaker()
    older, failing = breaker.admit(NOW), breaker.admit(NOW)
    breaker.record_failure(failing, ProviderQuotaError("no credit"), NOW)
    breaker.record_success(older, NOW + QUOTA_WINDOW_MS + 5)

    assert breaker.error is not None


def test_cancelled_trial_allows_another_one() -> None:
    breaker = opened()
    after = NOW + FIRST_TRANSIENT_WINDOW_MS
    breaker.record_abandoned(breaker.admit(after))

    assert breaker.admit(after) > 0


def test_lost_trial_allows_another_one() -> None:
    breaker = opened()
    lost = breaker.admit(NOW + FIRST_TRANSIENT_WINDOW_MS)
    later = NOW + FIRST_TRANSIENT_WINDOW_MS + TRIAL_TIMEOUT_MS
    second = breaker.admit(later)
    breaker.record_abandoned(lost)  # a late outcome of a lost trial no longer counts as one

    assert second not in (0, lost)
    with pytest.raises(ProviderUnreachableError):
        breaker.admit(later)


@pytest.mark.parametrize("error", [TextRefusedError("odd"), TokenBudgetError("spent")])
def test_refused_text_and_exhausted_budget_do_not_open_the_breaker(
    error: ProviderFailedError,
) -> None:
    assert opened(error).admit(NOW) == 0
    breaker = opened()
    after = NOW + FIRST_TRANSIENT_WINDOW_MS
    breaker.record_failure(breaker.admit(after), error, after)
    assert breaker.admit(after) == 0


def test_clock_set_back_does_not_extend_the_window() -> None:
    breaker = opened()
    a_year_ago = NOW - 365 * 86_400_000

    assert breaker.retry_in_ms(a_year_ago) == FIRST_TRANSIENT_WINDOW_MS
    assert breaker.admit(a_year_ago + FIRST_TRANSIENT_WINDOW_MS) > 0


def test_a_restart_keeps_error_window_and_count() -> None:
    breaker = opened(ProviderQuotaError("no credit", hint="add some"))
    record = json.loads(json.dumps(breaker.to_record()))
    restored = CircuitBreaker.from_record(record)

    assert restored.to_record() == breaker.to_record()
    with pytest.raises(ProviderQuotaError, match="no credit; next try in 30 min") as refusal:
        restored.admit(NOW)
    assert refusal.value.hint == "add some"


def test_trial_of_a_killed_process_counts_as_failed() -> None:
    breaker = opened(ProviderQuotaError("no credit"))
    breaker.admit(NOW + QUOTA_WINDOW_MS)
    restored = CircuitBreaker.from_record(breaker.to_record())

    assert restored.retry_in_ms(NOW + QUOTA_WINDOW_MS + 1) == QUOTA_WINDOW_MS - 1


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
def test_invalid_record_gives_a_breaker_that_closes_within_a_day(
    record: object, wrong: dict[str, Any], now_ms: int
) -> None:
    for value in (record, {**opened().to_record(), **wrong}):
        breaker = CircuitBreaker.from_record(value)
        assert breaker.retry_in_ms(now_ms) <= MAX_WINDOW_MS
        breaker.admit(now_ms + MAX_WINDOW_MS)


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
    """Concurrent calls through one breaker, over time and restarts."""

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
            trial_number = self.breaker.admit(self.now)
        except ProviderFailedError:
            assert is_refused
            return
        assert not is_refused
        if trial_number:
            # never more than one trial at a time, apart from lost ones
            assert not self.trials or self.trial_at is None or self.now - self.trial_at >= TRIAL_TIMEOUT_MS
            self.trials, self.trial_at = [trial_number], self.now
        else:
            self.plain.append(trial_number)

    def _take(self, want_trial: bool) -> int | None:
        line = self.trials if want_trial and self.trials else self.plain
        return line.pop() if line else None

    @rule(want_trial=st.booleans())
    def succeed(self, want_trial: bool) -> None:
        trial_number = self._take(want_trial)
        if trial_number is not None:
            was_open = self.breaker.until_ms > self.now
            self.breaker.record_success(trial_number, self.now)
            # an open window is never shortened
            assert not was_open or self.breaker.error is not None

    @rule(want_trial=st.booleans(), error=ERRORS)
    def fail(self, want_trial: bool, error: ProviderFailedError) -> None:
        trial_number = self._take(want_trial)
        if trial_number is not None:
            until = self.breaker.until_ms
            self.breaker.record_failure(trial_number, error, self.now)
            if not isinstance(error, TextRefusedError):
                assert self.breaker.until_ms >= max(until, self.now + FIRST_TRANSIENT_WINDOW_MS)

    @rule(want_trial=st.booleans())
    def cancel(self, want_trial: bool) -> None:
        trial_number = self._take(want_trial)
        if trial_number is not None:
            self.breaker.record_abandoned(trial_number)

    @rule(ms=st.integers(0, 2 * QUOTA_WINDOW_MS) | st.integers(0, 5_000))
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
    def open_breaker_has_reason_start_and_end(self) -> None:
        breaker = self.breaker
        if breaker.error is None:
            assert breaker.refusal(self.now) is None
            assert (breaker.until_ms, breaker.window_ms, breaker.failures) == (0, 0, 0)
        else:
            assert 0 < breaker.since_ms <= self.now
            assert breaker.until_ms > 0
            assert breaker.window_ms >= FIRST_TRANSIENT_WINDOW_MS
            assert breaker.failures > 0

    @invariant()
    def breaker_always_recovers(self) -> None:
        record = self.breaker.to_record()
        other = CircuitBreaker.from_record(record)
        later = self.now + MAX_WINDOW_MS + TRIAL_TIMEOUT_MS
        assert self.breaker.retry_in_ms(later) == 0
        other.record_success(other.admit(later), later)
        assert other.error is None


TestBreakerMachine = BreakerMachine.TestCase


def test_backoff_doubles_from_half_a_second_to_eight() -> None:
    assert [backoff_s(attempt, lambda: 0.0) for attempt in range(7)] == [0.5, 1, 2, 4, 8, 8, 8]


@given(attempt=st.integers(0, 10_000), chance=st.floats(0, 1, exclude_max=True))
def test_jitter_extends_the_backoff_within_bounds(attempt: int, chance: float) -> None:
    pause_s = backoff_s(attempt, lambda: chance)
    plain_s = backoff_s(attempt, lambda: 0.0)

    assert FIRST_BACKOFF_S <= plain_s <= pause_s <= min(MAX_BACKOFF_S, plain_s * (1 + MAX_JITTER_SHARE))


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
def test_only_transient_errors_are_retried(error: ProviderFailedError, again: bool) -> None:
    assert is_transient(error) is again


@pytest.mark.parametrize(
    ("data", "pause_s"),
    [({}, 0), ({"retry_after_s": 40}, 40), ({"retry_after_s": 1.5}, 1.5), ({"retry_after_s": -3}, 0)]
    + [({"retry_after_s": odd}, 0) for odd in ("40", None, math.nan, [1])],
)
def test_named_pause_is_a_number_of_seconds(data: dict[str, object], pause_s: float) -> None:
    assert named_pause_s(ProviderRateLimitedError("", data=data)) == pause_s
