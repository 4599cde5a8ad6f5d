"""Back-off between tries of a call, and a circuit breaker after failed ones.

Closed: calls pass. Open: calls fail fast until the window ends. Half-open: one trial call is allowed; its outcome
closes the breaker or opens it for a longer window. So a provider that is down is called once per window, not once per
text. Pure: times are parameters, in epoch milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from memd.embedding.numbers import clamped_count, clamped_time_ms
from memd.embedding.provider import encodable
from memd.system.back_off import back_off_s
from memd.system.units import about
from memd_client.errors import (
    MemdError,
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

TRIES: Final = 3
"""Tries of a batch. A failed batch is queued again later, so more tries would only delay other batches."""

QUERY_TRIES: Final = 2
"""Tries of a query, for which a client waits."""

FIRST_BACKOFF_S: Final = 0.5
MAX_BACKOFF_S: Final = 8.0
"""The back-off doubles from the first to the longest. A longer `Retry-After` opens the breaker."""

MAX_JITTER_SHARE: Final = 0.5
"""The largest random addition to a back-off, so that concurrent failures are not retried together."""

FIRST_TRANSIENT_WINDOW_MS: Final = 2_000
MAX_TRANSIENT_WINDOW_MS: Final = 60_000
"""Windows after transient errors: they double from the first to the longest."""

QUOTA_WINDOW_MS: Final = 30 * 60_000
"""The window after a quota error. Credit returns by a payment or a new month; calls until then are useless."""

ACTION_WINDOW_MS: Final = 10 * 60_000
"""The window after a wrong key or an unknown model. Corrected settings use another account or model at once."""

MAX_WINDOW_MS: Final = 24 * 3_600_000
"""The longest window; bounds `Retry-After`."""

TRIAL_TIMEOUT_MS: Final = 10 * 60_000
"""A trial call without an outcome for this long is lost, and another is allowed. No call takes as long."""

MIN_TRIAL_WAIT_MS: Final = 1_000
"""The shortest wait to report while a trial call is under way."""

MAX_MESSAGE_CHARACTERS: Final = 300
"""The longest error message that is kept for the status and the file."""


def backoff_s(attempt: int, random: Callable[[], float]) -> float:
    """Return the back-off after a failed try, in seconds."""
    base = back_off_s(attempt + 1, FIRST_BACKOFF_S, MAX_BACKOFF_S)
    return min(MAX_BACKOFF_S, base * (1.0 + MAX_JITTER_SHARE * random()))


def is_transient(error: ProviderFailedError) -> bool:
    """Return whether a retry may succeed.

    Errors of quota, key, model, budget and refused texts need action. An unusable reply was paid for, so it is not
    retried before its window ends.
    """
    if isinstance(error, ProviderUnreachableError | ProviderRateLimitedError):
        return True
    return type(error) is ProviderFailedError and bool(error.data.get("transient"))


def named_pause_s(error: ProviderFailedError) -> float:
    """Return the pause the provider asked for, in seconds; 0 for none."""
    named = error.data.get("retry_after_s")
    return max(0.0, float(named)) if isinstance(named, int | float) and named == named else 0.0


def window_ms(error: ProviderFailedError, failures: int) -> int:
    """Return for how long a failure opens the breaker."""
    doubled = FIRST_TRANSIENT_WINDOW_MS << min(failures - 1, 10)
    if isinstance(error, ProviderReplyError):
        return min(ACTION_WINDOW_MS, doubled)  # every such reply is paid for
    transient = min(MAX_TRANSIENT_WINDOW_MS, doubled)
    named = min(MAX_WINDOW_MS, math.ceil(min(named_pause_s(error), MAX_WINDOW_MS) * 1000))
    if isinstance(error, ProviderQuotaError):
        return max(QUOTA_WINDOW_MS, named)
    if isinstance(error, ProviderAuthError | ProviderModelError):
        return max(ACTION_WINDOW_MS, named)
    return max(transient, named) if isinstance(error, ProviderRateLimitedError) else transient


class CircuitBreaker:
    """The circuit breaker of one account, or of one model of it.

    `error` is the reason why it is open, None if it is closed; `since_ms` is the time of the first failure since then,
    `until_ms` the end of the window, `window_ms` its length.
    """

    def __init__(self) -> None:
        self.error: ProviderFailedError | None = None
        self.since_ms = 0
        self.until_ms = 0
        self.window_ms = 0
        self.failures = 0
        self.trial_ms: int | None = None
        self._trial_number = 0

    def __repr__(self) -> str:
        if self.error is None:
            return "<CircuitBreaker closed>"
        trial = ", trial under way" if self.trial_ms is not None else ""
        return f"<CircuitBreaker {self.error.code} until {self.until_ms}{trial}>"

    def retry_in_ms(self, now_ms: int) -> int:
        """Return for how long calls still fail fast; 0 if a call may be made."""
        if self._is_trying(now_ms):
            return max(MIN_TRIAL_WAIT_MS, self._left_ms(now_ms))
        return self._left_ms(now_ms)

    def refusal(self, now_ms: int) -> ProviderFailedError | None:
        """Return the error for a call that fails fast; None if the call may be made."""
        left_ms = self.retry_in_ms(now_ms)
        if self.error is None or left_ms == 0:
            return None
        seconds = math.ceil(left_ms / 1000)
        return _copy(self.error, f"; next try in {about(seconds * 1000)}", {"retry_after_s": seconds})

    def admit(self, now_ms: int) -> int:
        """Admit a call and return its trial number, 0 for none; raise if open."""
        refusal = self.refusal(now_ms)
        if refusal is not None:
            raise refusal
        if self.error is None:
            return 0
        self._trial_number += 1
        self.trial_ms = now_ms
        return self._trial_number

    def record_success(self, trial_number: int, now_ms: int) -> None:
        """Record a success; only that of a trial call closes the breaker."""
        if self._end_trial(trial_number) and self._left_ms(now_ms) == 0:
            self.error = None
            self.since_ms = self.until_ms = self.window_ms = self.failures = 0

    def record_failure(self, trial_number: int, error: ProviderFailedError, now_ms: int) -> None:
        """Record a failure after all tries.

        Concurrent calls count as one failure, with the longest of their windows. A refused text and an exhausted budget
        are not failures of the provider.
        """
        if isinstance(error, TextRefusedError | TokenBudgetError):
            self.record_success(trial_number, now_ms)
            return
        if self._end_trial(trial_number) or self.error is None:
            self.failures += 1
        window = window_ms(error, self.failures)
        if self.error is None:
            self.since_ms = now_ms
        elif window < self._left_ms(now_ms):
            return
        self.error = _copy(error, "", {})
        self.window_ms = window
        self.until_ms = now_ms + window

    def record_abandoned(self, trial_number: int) -> None:
        """Record a cancelled call: another trial call is allowed."""
        self._end_trial(trial_number)

    def _left_ms(self, now_ms: int) -> int:
        # A wall clock that is set back must not extend the window.
        self.until_ms = min(self.until_ms, now_ms + self.window_ms)
        return max(0, self.until_ms - now_ms)

    def _is_trying(self, now_ms: int) -> bool:
        """Return whether a trial call is under way and not lost."""
        return self.trial_ms is not None and abs(now_ms - self.trial_ms) < TRIAL_TIMEOUT_MS

    def _end_trial(self, trial_number: int) -> bool:
        """End the trial call if it has this number; return whether it had."""
        if trial_number == 0 or trial_number != self._trial_number or self.trial_ms is None:
            return False
        self.trial_ms = None
        return True

    def to_record(self) -> dict[str, Any]:
        """Return the state to save; empty if closed."""
        if self.error is None:
            return {}
        return {
            "code": self.error.code,
            "message": self.error.message,
            "hint": self.error.hint,
            "since_ms": self.since_ms,
            "until_ms": self.until_ms,
            "window_ms": self.window_ms,
            "failures": self.failures,
            "trial_ms": self.trial_ms,
        }

    @classmethod
    def from_record(cls, record: object) -> CircuitBreaker:
        """Return the breaker of a saved record; a closed one if the record is invalid.

        A trial call that was under way when the process was killed counts as failed: its window starts with it.
        """
        breaker = cls()
        if not isinstance(record, Mapping):
            return breaker
        code, message, hint = (record.get(key) for key in ("code", "message", "hint"))
        since_ms, until_ms = (clamped_time_ms(record.get(key)) for key in ("since_ms", "until_ms"))
        window, failures = (clamped_count(record.get(key)) for key in ("window_ms", "failures"))
        if not (isinstance(code, str) and isinstance(message, str) and isinstance(hint, str)):
            return breaker
        if not window or not failures:
            return breaker
        data = {"hint": encodable(hint)}
        error = MemdError.from_wire({"code": code, "message": encodable(message), "data": data})
        if not isinstance(error, ProviderFailedError):
            return breaker
        breaker.error = _copy(error, "", {})
        breaker.since_ms, breaker.failures = since_ms, failures
        breaker.window_ms = min(MAX_WINDOW_MS, window)
        trial_ms = clamped_time_ms(record.get("trial_ms"))
        breaker.until_ms = max(until_ms, trial_ms + breaker.window_ms) if trial_ms else until_ms
        return breaker


def _copy(error: ProviderFailedError, suffix: str, data: Mapping[str, Any]) -> ProviderFailedError:
    """Return a copy without traceback, and with a bounded message."""
    return type(error)(error.message[:MAX_MESSAGE_CHARACTERS] + suffix, hint=error.hint, data=data)
