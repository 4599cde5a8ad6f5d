"""Tests of the circuit breaker and the back-off."""

from __future__ import annotations

import math

import msgspec
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
    MIN_TRIAL_WAIT_MS,
    QUOTA_WINDOW_MS,
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
    breaker.record_failure(error, "m", now_ms)
    return breaker


def fail_trial(breaker: CircuitBreaker, error: ProviderFailedError, now_ms: int) -> None:
    assert breaker.retry_in_ms(now_ms) == 0
    breaker.begin_trial(now_ms)
    breaker.record_failure(error, "m", now_ms, is_trial=True)


def restarted(breaker: CircuitBreaker) -> CircuitBreaker:
    """Return the breaker that the next process loads."""
    found = msgspec.json.decode(msgspec.json.encode(breaker), type=CircuitBreaker)
    found.is_trying = False
    return found


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

    refusal = breaker.refusal(NOW + 10_500)

    assert isinstance(refusal, ProviderRateLimitedError)
    assert refusal.message == "slow down; next try in 30 s"
    assert refusal.hint == "wait"
    assert refusal.data == {"retry_after_s": 30}
    assert breaker.refusal(NOW) is not breaker.refusal(NOW)


def test_one_trial_is_allowed_after_the_window_and_its_success_closes() -> None:
    breaker = opened()
    after = NOW + FIRST_TRANSIENT_WINDOW_MS

    assert breaker.refusal(after) is None
    breaker.begin_trial(after)
    assert isinstance(breaker.refusal(after), ProviderUnreachableError)
    assert breaker.retry_in_ms(after) == MIN_TRIAL_WAIT_MS
    breaker.close()

    assert breaker == CircuitBreaker()
    assert not breaker.applies_to("m")


def test_failed_trials_double_the_window_and_keep_the_first_failure_time() -> None:
    breaker = opened()
    windows = []
    for _ in range(8):
        now = breaker.until_ms
        fail_trial(breaker, DOWN, now)
        windows.append(breaker.until_ms - now)

    assert windows == [4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000, 60_000]
    assert breaker.since_ms == NOW


def test_concurrent_failures_count_once_with_the_longest_window() -> None:
    breaker = opened()
    breaker.record_failure(ProviderRateLimitedError("429", data={"retry_after_s": 40}), "m", NOW + 1)
    breaker.record_failure(DOWN, "m", NOW + 2)

    assert breaker.failures == 1
    assert breaker.retry_in_ms(NOW + 3) == 40_000 - 2
    assert isinstance(breaker.refusal(NOW + 3), ProviderRateLimitedError)


def test_abandoned_trial_allows_another_one() -> None:
    breaker = opened()
    after = NOW + FIRST_TRANSIENT_WINDOW_MS
    breaker.begin_trial(after)
    breaker.abandon_trial()

    assert breaker.refusal(after) is None
    assert breaker.applies_to("m")


def test_unknown_models_only_refuse_their_own_calls() -> None:
    breaker = CircuitBreaker()
    breaker.record_failure(ProviderModelError("no such model"), "wrong", NOW)
    breaker.record_failure(ProviderModelError("no such model"), "wrong too", NOW + 5)

    assert [breaker.applies_to(model) for model in ("wrong", "wrong too", "right")] == [True, True, False]
    assert breaker.retry_in_ms(NOW + 5) == ACTION_WINDOW_MS


def test_failure_of_the_account_replaces_the_window_of_a_model() -> None:
    breaker = opened(ProviderModelError("no such model"))
    breaker.record_failure(DOWN, "right", NOW + 1)

    assert breaker.applies_to("another")
    assert breaker.retry_in_ms(NOW + 1) == FIRST_TRANSIENT_WINDOW_MS


def test_unknown_model_of_an_earlier_call_keeps_the_window_of_the_account() -> None:
    breaker = opened(ProviderQuotaError("no credit"))
    breaker.record_failure(ProviderModelError("no such model"), "wrong", NOW + 1)

    assert breaker.applies_to("right")
    assert isinstance(breaker.refusal(NOW + 1), ProviderQuotaError)


def test_clock_set_back_does_not_extend_the_window() -> None:
    breaker = opened()
    a_year_ago = NOW - 365 * 86_400_000

    assert breaker.retry_in_ms(a_year_ago) == FIRST_TRANSIENT_WINDOW_MS
    assert breaker.refusal(a_year_ago + FIRST_TRANSIENT_WINDOW_MS) is None


def test_a_restart_keeps_error_window_and_count() -> None:
    breaker = opened(ProviderQuotaError("no credit", hint="add some"))
    restored = restarted(breaker)

    assert restored == breaker
    refusal = restored.refusal(NOW)
    assert isinstance(refusal, ProviderQuotaError)
    assert (refusal.message, refusal.hint) == ("no credit; next try in 30 min", "add some")


def test_trial_of_a_killed_process_counts_as_failed() -> None:
    breaker = opened(ProviderQuotaError("no credit"))
    breaker.begin_trial(NOW + QUOTA_WINDOW_MS)

    assert restarted(breaker).retry_in_ms(NOW + QUOTA_WINDOW_MS + 1) == QUOTA_WINDOW_MS - 1


@pytest.mark.parametrize("code", ["no_such_code", "invalid_params"])
def test_breaker_of_an_unknown_code_lets_calls_pass(code: str) -> None:
    breaker = opened()
    breaker.code = code

    assert breaker.refusal(NOW) is None


ERRORS = st.sampled_from(
    [
        DOWN,
        ProviderFailedError("500"),
        ProviderReplyError("garbage"),
        ProviderRateLimitedError("429"),
        ProviderRateLimitedError("429", data={"retry_after_s": 40}),
        ProviderQuotaError("no credit"),
        ProviderAuthError("401"),
    ]
)


class BreakerMachine(RuleBasedStateMachine):
    """Concurrent calls through one breaker, over time and restarts."""

    def __init__(self) -> None:
        super().__init__()
        self.breaker = CircuitBreaker()
        self.now = NOW
        self.plain = 0

    @rule()
    def call(self) -> None:
        if not self.breaker.code:
            self.plain += 1
        elif self.breaker.retry_in_ms(self.now) == 0:
            assert not self.breaker.is_trying
            self.breaker.begin_trial(self.now)

    @precondition(lambda self: self.breaker.is_trying)
    @rule(ending=st.sampled_from(["well", "given up"]) | ERRORS)
    def end_trial(self, ending: str | ProviderFailedError) -> None:
        if isinstance(ending, ProviderFailedError):
            failures = self.breaker.failures
            self.breaker.record_failure(ending, "m", self.now, is_trial=True)
            assert self.breaker.failures == failures + 1
        elif ending == "well":
            self.breaker.close()
        else:
            self.breaker.abandon_trial()
            assert self.breaker.retry_in_ms(self.now) == 0
        assert not self.breaker.is_trying

    @precondition(lambda self: self.plain)
    @rule(error=ERRORS)
    def fail(self, error: ProviderFailedError) -> None:
        self.plain -= 1
        until = self.breaker.until_ms
        self.breaker.record_failure(error, "m", self.now)
        # an open window is never shortened
        assert self.breaker.until_ms >= max(until, self.now + FIRST_TRANSIENT_WINDOW_MS)

    @rule(ms=st.integers(0, 2 * QUOTA_WINDOW_MS) | st.integers(0, 5_000))
    def wait(self, ms: int) -> None:
        self.now += ms

    @precondition(lambda self: self.breaker.code)
    @rule()
    def wait_for_the_end_of_the_window(self) -> None:
        self.now = max(self.now, self.breaker.until_ms)

    @rule()
    def restart(self) -> None:
        self.plain, self.breaker = 0, restarted(self.breaker)

    @invariant()
    def open_breaker_has_reason_start_and_end(self) -> None:
        breaker = self.breaker
        if not breaker.code:
            assert breaker == CircuitBreaker()
        else:
            assert 0 < breaker.since_ms <= self.now
            assert breaker.window_ms >= FIRST_TRANSIENT_WINDOW_MS
            assert breaker.failures > 0

    @invariant()
    def breaker_always_recovers(self) -> None:
        assert restarted(self.breaker).retry_in_ms(self.now + MAX_WINDOW_MS) == 0


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
