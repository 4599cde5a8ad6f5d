"""When to stop asking a provider, and when to ask again. Pure: times are parameters, in epoch milliseconds.

Closed: calls pass. Open: calls are refused until a time. After that it is half-open: one call at a time may try,
and what becomes of it decides. Each failed trial opens it again, so a provider that is out of order is asked once
a window, not once a text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from memd.embedding.numbers import clamped_count, clamped_time_ms
from memd.embedding.provider import encodable
from memd.embedding.remote.retry import named_pause_s
from memd.system.units import about
from memd_client.errors import (
    MemdError,
    ProviderAuthError,
    ProviderFailedError,
    ProviderModelError,
    ProviderQuotaError,
    ProviderRateLimitedError,
    ProviderReplyError,
    TextRefusedError,
    TokenBudgetError,
)

TRANSIENT_MS: Final = 2_000
LONGEST_TRANSIENT_MS: Final = 60_000
"""Windows for what may pass by itself: they double from the first to the longest."""

QUOTA_MS: Final = 30 * 60_000
"""Credit is added by people or at the turn of a month; a call that asks for it is in vain and may count."""

REFUSED_MS: Final = 10 * 60_000
"""A wrong key and an unknown model are mended by people, mostly in settings, which is another account or model."""

LONGEST_MS: Final = 24 * 3_600_000
"""The longest pause a provider may name: beyond a day it is more likely a slip than a wish."""

TRIAL_MS: Final = 10 * 60_000
"""A trial that nothing was heard of for so long is lost, and another one may be made: more than any call takes."""

TRIAL_LOOK_MS: Final = 1_000
"""How soon to look again while a trial is under way."""

MESSAGE_CHARACTERS: Final = 300
"""Most of a failure's message that is kept; it goes into status and a file."""


def window_ms(error: ProviderFailedError, failures: int) -> int:
    """Return for how long a failure closes the door."""
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


class Breaker:
    """One door to a provider.

    `error` is why it isn't closed, None where it is; `since_ms` is of the first failure since it was closed,
    `until_ms` the end of the window, `window_ms` the length of it.
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
            return "<Breaker closed>"
        trial = ", trial under way" if self.trial_ms is not None else ""
        return f"<Breaker {self.error.code} until {self.until_ms}{trial}>"

    def retry_in_ms(self, now_ms: int) -> int:
        """Return how long calls are refused from now on; 0 where one may be made."""
        if self._is_trying(now_ms):
            return max(TRIAL_LOOK_MS, self._left_ms(now_ms))
        return self._left_ms(now_ms)

    def refusal(self, now_ms: int) -> ProviderFailedError | None:
        """Return the error a call is refused with, a fresh one each time; None where it may be made."""
        left_ms = self.retry_in_ms(now_ms)
        if self.error is None or left_ms == 0:
            return None
        seconds = math.ceil(left_ms / 1000)
        return _copy(self.error, f"; asked again in {about(seconds * 1000)}", {"retry_after_s": seconds})

    def enter(self, now_ms: int) -> int:
        """Let a call through."""
        refusal = self.refusal(now_ms)
        if refusal is not None:
            raise refusal
        if self.error is None:
            return 0
        self._ticket += 1
        self.trial_ms = now_ms
        return self._ticket

    def succeeded(self, ticket: int, now_ms: int) -> None:
        """A call went well. Only a trial closes: an older call knows nothing newer than the failure."""
        if self._end_trial(ticket) and self._left_ms(now_ms) == 0:
            self.error = None
            self.since_ms = self.until_ms = self.window_ms = self.failures = 0

    def failed(self, ticket: int, error: ProviderFailedError, now_ms: int) -> None:
        """A call failed, after all its tries.

        Calls that were under way together fail together: they count as one failure, and the longest of their
        windows holds. A refused text and a spent budget say nothing against the provider.
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
        """A call was cancelled: nothing is known, and a trial is given back."""
        self._end_trial(ticket)

    def _left_ms(self, now_ms: int) -> int:
        """Return what is left of the window."""
        # A wall clock that was set back must not make a window longer than it was meant to be.
        self.until_ms = min(self.until_ms, now_ms + self.window_ms)
        return max(0, self.until_ms - now_ms)

    def _is_trying(self, now_ms: int) -> bool:
        """Return whether a trial is under way and not lost."""
        return self.trial_ms is not None and abs(now_ms - self.trial_ms) < TRIAL_MS

    def _end_trial(self, ticket: int) -> bool:
        """Return whether that ticket is the trial under way, which is over now."""
        if ticket == 0 or ticket != self._ticket or self.trial_ms is None:
            return False
        self.trial_ms = None
        return True

    def to_record(self) -> dict[str, Any]:
        """Return what a restart has to know; empty where the breaker is closed."""
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
    def from_record(cls, record: object) -> Breaker:
        """Return the breaker of an earlier run; a closed one where the record says nothing that can be used.

        A trial that was under way when the process was killed was a call: its window starts there.
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
    """Return an error that says the same: a raised one collects its raisers' traceback."""
    return type(error)(error.message[:MESSAGE_CHARACTERS] + suffix, hint=error.hint, data=data)
