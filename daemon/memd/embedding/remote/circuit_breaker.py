"""Back-off between tries of a call, and a circuit breaker after failed ones.

Closed: calls pass. Open: calls fail fast until the window ends. Half-open: one trial call is allowed; its outcome
closes the breaker or opens it for a longer window. So a provider that is down is called once per window, not once per
text. Pure: times are parameters, in epoch milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Final

import msgspec

from memd.embedding.numbers import MAX_COUNT, MAX_TIME_MS
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

MIN_TRIAL_WAIT_MS: Final = 1_000
"""The wait to report while a trial call is under way."""

MAX_MESSAGE_CHARACTERS: Final = 300
"""The longest error message that is kept for the status and the file."""

Count = Annotated[int, msgspec.Meta(ge=0, le=MAX_COUNT)]
TimeMs = Annotated[int, msgspec.Meta(ge=0, le=MAX_TIME_MS)]
WindowMs = Annotated[int, msgspec.Meta(ge=0, le=MAX_WINDOW_MS)]


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


class CircuitBreaker(msgspec.Struct, omit_defaults=True):
    """The circuit breaker of one account, saved as it is.

    Attributes:
        code: The error code of the failure that opened it; empty if it is closed.
        message: The message of that failure.
        hint: The hint of that failure.
        since_ms: The time of the first failure since it was last closed.
        until_ms: The end of the window.
        window_ms: The length of the window.
        failures: Consecutive failures.
        models: The models that the provider doesn't have, if only their calls fail fast; empty if all calls do.
        is_trying: Whether a trial call is under way.
    """

    code: str = ""
    message: str = ""
    hint: str = ""
    since_ms: TimeMs = 0
    until_ms: TimeMs = 0
    window_ms: WindowMs = 0
    failures: Count = 0
    models: list[str] = []
    is_trying: bool = False

    def applies_to(self, model: str) -> bool:
        """Return whether it is open for calls of a model."""
        return bool(self.code) and (not self.models or model in self.models)

    def retry_in_ms(self, now_ms: int) -> int:
        """Return for how long calls still fail fast; 0 if a call may be made."""
        return MIN_TRIAL_WAIT_MS if self.is_trying else self._left_ms(now_ms)

    def refusal(self, now_ms: int) -> ProviderFailedError | None:
        """Return the error for a call that fails fast; None if the call may be made."""
        left_ms = self.retry_in_ms(now_ms)
        if not self.code or left_ms == 0:
            return None
        seconds = math.ceil(left_ms / 1000)
        message = f"{self.message}; next try in {about(seconds * 1000)}"
        data = {"hint": self.hint, "retry_after_s": seconds}
        error = MemdError.from_wire({"code": self.code, "message": message, "data": data})
        return error if isinstance(error, ProviderFailedError) else None

    def begin_trial(self, now_ms: int) -> None:
        """Begin a trial call. It counts as failed until it ends, so that a killed process's trial isn't repeated."""
        self.is_trying = True
        self.until_ms = now_ms + self.window_ms

    def abandon_trial(self) -> None:
        """End a trial call without an outcome: another one is allowed."""
        self.is_trying, self.until_ms = False, 0

    def close(self) -> None:
        """Let all calls pass."""
        self.code = self.message = self.hint = ""
        self.since_ms = self.until_ms = self.window_ms = self.failures = 0
        self.models, self.is_trying = [], False

    def record_failure(
        self, error: ProviderFailedError, model: str, now_ms: int, *, is_trial: bool = False
    ) -> None:
        """Record a failure after all tries.

        Concurrent calls count as one failure, with the longest of their windows. An unknown model only affects calls
        of that model, so that a corrected setting works at once.
        """
        is_unknown_model = isinstance(error, ProviderModelError)
        if self.models and not is_unknown_model:
            self.close()
        if self.code and not is_trial:
            is_shorter = window_ms(error, self.failures) < self._left_ms(now_ms)
            if is_shorter if not is_unknown_model else not self.models:
                return
        else:
            self.failures += 1
        if not self.code:
            self.since_ms = now_ms
        self.code, self.hint = error.code, encodable(error.hint or "")
        self.message = encodable(error.message[:MAX_MESSAGE_CHARACTERS])
        self.models = sorted({*self.models, encodable(model)}) if is_unknown_model else []
        self.window_ms = window_ms(error, self.failures)
        self.until_ms = now_ms + self.window_ms
        self.is_trying = self.is_trying and not is_trial

    def _left_ms(self, now_ms: int) -> int:
        # A wall clock that is set back must not extend the window.
        self.until_ms = min(self.until_ms, now_ms + self.window_ms)
        return max(0, self.until_ms - now_ms)
