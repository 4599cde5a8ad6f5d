"""When calls to a provider are made again: back-off between tries, and the circuit breaker after them.

Pure: times are parameters, in epoch milliseconds. Closed: calls pass. Open: calls are refused until the window ends.
Half-open: one trial call may pass, and its outcome closes the breaker or opens it for a longer window, so a provider
that is down is called once a window, not once a text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from memd.embedding.numbers import clamped_count, clamped_time_ms
from memd.embedding.provider import encodable
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
"""Calls for a batch before its failure counts. A batch comes again later, so more tries would only delay others."""

QUERY_TRIES: Final = 2
"""Calls for a query: a client waits for it."""

FIRST_BACKOFF_S: Final = 0.5
LONGEST_BACKOFF_S: Final = 8.0
"""Pauses between tries double from the first to the longest. A longer pause that a provider names opens the breaker."""

SPREAD: Final = 0.5
"""The largest random share added to a pause, so that calls that failed together are not repeated together."""

TRANSIENT_MS: Final = 2_000
LONGEST_TRANSIENT_MS: Final = 60_000
"""Windows for errors that may pass without action: they double from the first to the longest."""

QUOTA_MS: Final = 30 * 60_000
"""Credit is added by people or at the turn of a month; calls until then are useless and may count."""

REFUSED_MS: Final = 10 * 60_000
"""A wrong key and an unknown model are corrected in settings, which makes another account or model."""

LONGEST_MS: Final = 24 * 3_600_000
"""The longest pause a provider may name."""

TRIAL_MS: Final = 10 * 60_000
"""A trial without an outcome for so long is lost, and another may be made: longer than any call takes."""

TRIAL_LOOK_MS: Final = 1_000
"""The shortest wait while a trial is under way."""

MESSAGE_CHARACTERS: Final = 300
"""The longest message of a failure; it goes into status and a file."""


def backoff_s(attempt: int, random: Callable[[], float]) -> float:
    """Return the pause after a failed try, in seconds."""
    base = min(LONGEST_BACKOFF_S, FIRST_BACKOFF_S * 2.0 ** min(attempt, 10))
    return min(LONGEST_BACKOFF_S, base * (1.0 + SPREAD * random()))


def is_transient(error: ProviderFailedError) -> bool:
    """Return whether the same call may succeed a moment later.

    Not for quota, key, model, budget and a refused text, which need action. A reply that can't be used was paid
    for: it is not bought again until its window ends.
    """
    if isinstance(error, ProviderUnreachableError | ProviderRateLimitedError):
        return True
    return type(error) is ProviderFailedError and bool(error.data.get("transient"))


def named_pause_s(error: ProviderFailedError) -> float:
    """Return the pause the provider named, in seconds; 0 if it named none."""
    named = error.data.get("retry_after_s")
    return max(0.0, float(named)) if isinstance(named, int | float) and named == named else 0.0


def window_ms(error: ProviderFailedError, failures: int) -> int:
    """Return how long a failure opens the breaker."""
    doubled = TRANSIENT_MS << min(failures - 1, 10)
    if isinstance(error, ProviderReplyError):
        return min(REFUSED_MS, doubled)  # each of them is paid for
    transient = min(LONGEST_TRANSIENT_MS, doubled)
    named = min(LONGEST_MS, math.ceil(min(named_pause_s(error), LONGEST_MS) * 1000))
    if isinstance(error, ProviderQuotaError):
        return max(QUOTA_MS, named)
    if isinstance(error, ProviderAuthError | ProviderModelError):
        return max(REFUSED_MS, named)
    return max(transient, named) if isinstance(error, ProviderRateLimitedError) else transient


class CircuitBreaker:
    """The circuit breaker of one account, or of one model of it.

    `error` is why it is open, None if closed; `since_ms` is the first failure since it was closed, `until_ms` the end
    of the window, `window_ms` its length.
    """

    def __init__(self) -> None:
        self.error: ProviderFailedError | None = None
        self.since_ms = 0
        self.until_ms = 0
        self.window_ms = 0
        self.failures = 0
        self.trial_ms: int | None = None
        self._ticket = 0

    def __repr__(self) -> str:
        if self.error is None:
            return "<CircuitBreaker closed>"
        trial = ", trial under way" if self.trial_ms is not None else ""
        return f"<CircuitBreaker {self.error.code} until {self.until_ms}{trial}>"

    def retry_in_ms(self, now_ms: int) -> int:
        """Return how long calls are refused from now on; 0 if one may be made."""
        if self._is_trying(now_ms):
            return max(TRIAL_LOOK_MS, self._left_ms(now_ms))
        return self._left_ms(now_ms)

    def refusal(self, now_ms: int) -> ProviderFailedError | None:
        """Return a new error to refuse a call with; None if it may be made."""
        left_ms = self.retry_in_ms(now_ms)
        if self.error is None or left_ms == 0:
            return None
        seconds = math.ceil(left_ms / 1000)
        return _copy(self.error, f"; asked again in {about(seconds * 1000)}", {"retry_after_s": seconds})

    def enter(self, now_ms: int) -> int:
        """Admit a call and return its ticket, 0 unless it is a trial; raise if calls are refused."""
        refusal = self.refusal(now_ms)
        if refusal is not None:
            raise refusal
        if self.error is None:
            return 0
        self._ticket += 1
        self.trial_ms = now_ms
        return self._ticket

    def succeeded(self, ticket: int, now_ms: int) -> None:
        """Note a success. Only a trial closes the breaker: older calls began before the failure."""
        if self._end_trial(ticket) and self._left_ms(now_ms) == 0:
            self.error = None
            self.since_ms = self.until_ms = self.window_ms = self.failures = 0

    def failed(self, ticket: int, error: ProviderFailedError, now_ms: int) -> None:
        """Note a failure after all tries.

        Calls that were under way together count as one failure, with the longest of their windows. A refused text
        and a spent budget are no failures of the provider.
        """
        if isinstance(error, TextRefusedError | TokenBudgetError):
            self.succeeded(ticket, now_ms)
            return
        if self._end_trial(ticket) or self.error is None:
            self.failures += 1
        window = window_ms(error, self.failures)
        if self.error is None:
            self.since_ms = now_ms
        elif window < self._left_ms(now_ms):
            return
        self.error = _copy(error, "", {})
        self.window_ms = window
        self.until_ms = now_ms + window

    def abandoned(self, ticket: int) -> None:
        """Note a cancelled call: a trial may be made again."""
        self._end_trial(ticket)

    def _left_ms(self, now_ms: int) -> int:
        # A wall clock that was set back must not make the window longer.
        self.until_ms = min(self.until_ms, now_ms + self.window_ms)
        return max(0, self.until_ms - now_ms)

    def _is_trying(self, now_ms: int) -> bool:
        """Return whether a trial is under way and not lost."""
        return self.trial_ms is not None and abs(now_ms - self.trial_ms) < TRIAL_MS

    def _end_trial(self, ticket: int) -> bool:
        """End the trial under way if it has that ticket; return whether it had."""
        if ticket == 0 or ticket != self._ticket or self.trial_ms is None:
            return False
        self.trial_ms = None
        return True

    def to_record(self) -> dict[str, Any]:
        """Return what a restart has to know; empty if closed."""
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
        """Return the breaker of an earlier run; a closed one if the record is not valid.

        A trial that was under way when the process was killed counts as a call: its window starts there.
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
        breaker.window_ms = min(LONGEST_MS, window)
        trial_ms = clamped_time_ms(record.get("trial_ms"))
        breaker.until_ms = max(until_ms, trial_ms + breaker.window_ms) if trial_ms else until_ms
        return breaker


def _copy(error: ProviderFailedError, suffix: str, data: Mapping[str, Any]) -> ProviderFailedError:
    """Return an equal error: a raised one collects tracebacks."""
    return type(error)(error.message[:MESSAGE_CHARACTERS] + suffix, hint=error.hint, data=data)
