"""An account at a provider: its circuit breakers, request slots and token counts."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Literal

import structlog
import trio

from memd.embedding.numbers import clamped_count
from memd.embedding.remote.circuit_breaker import MAX_BACKOFF_S, CircuitBreaker
from memd.embedding.remote.endpoint import TextKind
from memd.embedding.remote.token_budget import TokenBudget
from memd.system.clock import Clock
from memd_client.errors import ProviderFailedError, ProviderModelError, ProviderReplyError
from memd_client.reports import AccountStatus

log = structlog.get_logger(__name__)

URGENT_WINDOW_MS: Final = 5_000
"""Breaker windows longer than this are saved at once, so that a restart within one makes no call."""

TrialNumbers = tuple[int, int]
"""A call's trial numbers at the breakers of the account and of the model; 0: not a trial."""

Outcome = ProviderFailedError | Literal["abandoned"] | None
"""The outcome of a call; None for success."""


class ProviderCall:
    """An admitted call to a provider, whose first outcome is recorded.

    As a context manager it is abandoned if the block ends without an outcome. If it is cancelled, its estimated tokens
    count as bought: the provider may have received the request.
    """

    def __init__(
        self, account: Account, model: str, tokens: int, metered: bool, trial_numbers: TrialNumbers
    ) -> None:
        self._account = account
        self._trial_numbers = trial_numbers
        self._is_over = False
        self.model = model
        self.tokens = tokens
        self.metered = metered

    def __repr__(self) -> str:
        kind = "trial" if self.is_trial else "call"
        return f"<ProviderCall {kind} of {self.tokens} tokens, {'over' if self._is_over else 'under way'}>"

    @property
    def is_trial(self) -> bool:
        """Whether it is a half-open breaker's trial call, which is never retried."""
        return any(self._trial_numbers)

    def __enter__(self) -> ProviderCall:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(self.tokens if kind is not None and issubclass(kind, trio.Cancelled) else 0, "abandoned")

    def record_success(self, tokens: int) -> None:
        """Record success and the tokens it cost."""
        self._end(tokens, None)

    def record_failure(self, error: ProviderFailedError) -> None:
        """Record a failure. An unusable reply was paid for."""
        self._end(self.tokens if isinstance(error, ProviderReplyError) else 0, error)

    def record_retry(self, error: ProviderFailedError) -> None:
        """Record a failure before a retry: the circuit breaker ignores it."""
        self._end(self.tokens if isinstance(error, ProviderReplyError) else 0, "abandoned")

    def record_abandoned(self) -> None:
        """Record that there is no outcome: another trial call is allowed."""
        self._end(0, "abandoned")

    def _end(self, bought: int, outcome: Outcome) -> None:
        if not self._is_over:
            self._is_over = True
            self._account.settle(self, self._trial_numbers, bought, outcome)


class PrioritySemaphore:
    """The request slots of one account; queries have priority over batches.

    If the provider accepts concurrent requests, queries need no slot. If it accepts one at a time, as Ollama does, a
    query gets the next free slot.
    """

    def __init__(self, batches: int) -> None:
        self._is_single = batches <= 1
        self._free = max(1, batches)
        self._queries = trio.lowlevel.ParkingLot()
        self._documents = trio.lowlevel.ParkingLot()

    def __repr__(self) -> str:
        waiting = f"{len(self._queries)} queries and {len(self._documents)} batches wait"
        return f"<PrioritySemaphore {self._free} free, {waiting}>"

    @asynccontextmanager
    async def slot(self, kind: TextKind, timeout_s: float = math.inf) -> AsyncIterator[None]:
        """Acquire a slot for the block; raises `trio.TooSlowError`."""
        if kind == "query" and not self._is_single:
            await trio.lowlevel.checkpoint()
            yield
            return
        with trio.fail_after(timeout_s):
            await self._wait(self._queries if kind == "query" else self._documents)
        try:
            yield
        finally:
            self._release()

    async def _wait(self, queue: trio.lowlevel.ParkingLot) -> None:
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._free:
            self._free -= 1
            await trio.lowlevel.cancel_shielded_checkpoint()
        else:
            await queue.park()  # `_release` passes its slot on

    def _release(self) -> None:
        queue = self._queries if self._queries else self._documents
        if queue:
            queue.unpark()
        else:
            self._free += 1


class Account:
    """An account (provider, address and key), shared by all agents that use it.

    A failure opens the account's circuit breaker; an unknown model only opens the breaker of that model.
    """

    def __init__(
        self,
        key: str,
        provider: str,
        concurrency: int,
        *,
        clock: Clock,
        budget: TokenBudget,
        on_change: Callable[[bool], None] = lambda urgent: None,
    ) -> None:
        self.key = key
        self.provider = provider
        self.slots = PrioritySemaphore(concurrency)
        self._clock = clock
        self._budget = budget
        self._on_change = on_change
        self._breaker = CircuitBreaker()
        self._models: dict[str, CircuitBreaker] = {}
        self._day = budget.day
        self._calls = 0
        self._tokens = 0
        self._short_pause_until_ms = 0

    def __repr__(self) -> str:
        return f"<Account at {self.provider}, {self._breaker!r}>"

    # --- one call -----------------------------------------------------------------------------------

    def begin(self, tokens: int, *, metered: bool, model: str = "") -> ProviderCall:
        """Admit and count a call; raise if a breaker or the budget refuses it."""
        self.check(model)
        if metered:
            self._budget.reserve(tokens)
        now_ms, breakers = self._clock(), self._breakers(model)
        trial_numbers = (breakers[0].admit(now_ms), breakers[1].admit(now_ms))
        self._roll_over()
        self._calls += 1
        # A trial call is saved before its reply, so that a restart meanwhile doesn't repeat it.
        self._on_change(
            any(trial_numbers) and max(breaker.window_ms for breaker in breakers) > URGENT_WINDOW_MS
        )
        return ProviderCall(self, model, tokens, metered, trial_numbers)

    def settle(self, call: ProviderCall, trial_numbers: TrialNumbers, bought: int, outcome: Outcome) -> None:
        """Record the outcome of a call; called by `ProviderCall`."""
        now_ms = self._clock()
        if call.metered:
            self._budget.settle(call.tokens, bought)
        self._roll_over()
        self._tokens += bought
        is_urgent = False
        breakers = self._breakers(call.model)
        failing = breakers[isinstance(outcome, ProviderModelError)]
        for breaker, trial_number in zip(breakers, trial_numbers, strict=True):
            before = breaker.error
            if outcome is None or (isinstance(outcome, ProviderModelError) and breaker is not failing):
                breaker.record_success(trial_number, now_ms)
            elif isinstance(outcome, ProviderFailedError) and breaker is failing:
                breaker.record_failure(trial_number, outcome, now_ms)
            else:
                breaker.record_abandoned(trial_number)
            self._log_change(before, breaker)
            is_urgent |= breaker.error is not before and breaker.window_ms > URGENT_WINDOW_MS
        self._on_change(is_urgent)

    def _log_change(self, before: ProviderFailedError | None, breaker: CircuitBreaker) -> None:
        """Log if a breaker opened for a new reason, or closed."""
        if breaker.error is not None and (before is None or before.code != breaker.error.code):
            until = datetime.fromtimestamp(breaker.until_ms / 1000, UTC).isoformat(timespec="seconds")
            log.warning(
                "embedding.account_paused",
                provider=self.provider,
                code=breaker.error.code,
                until=until,
                error=breaker.error.message,
            )
        elif before is not None and breaker.error is None:
            log.info("embedding.account_resumed", provider=self.provider, code=before.code)

    # --- pauses -------------------------------------------------------------------------------

    def check(self, model: str = "") -> None:
        """Raise the error to fail fast with if a circuit breaker is open."""
        now_ms = self._clock()
        for breaker in self._breakers(model):
            refusal = breaker.refusal(now_ms)
            if refusal is not None:
                raise refusal

    def retry_in_s(self, model: str = "") -> float:
        """Return for how many seconds calls still fail fast; 0 if a call may be made."""
        now_ms = self._clock()
        wait_ms = max(breaker.retry_in_ms(now_ms) for breaker in self._breakers(model))
        if self._budget.is_spent:
            wait_ms = max(wait_ms, self._budget.ms_to_midnight())
        return wait_ms / 1000

    def note_short_pause(self, pause_s: float) -> None:
        """Delay all calls by a short pause that the provider asked for; not a failure."""
        pause_ms = round(min(pause_s, MAX_BACKOFF_S) * 1000)
        self._short_pause_until_ms = self._clock() + max(round(self.short_pause_left_s() * 1000), pause_ms)

    def short_pause_left_s(self) -> float:
        """Return the seconds left of a short pause."""
        now_ms = self._clock()
        # A wall clock that is set back must not extend the pause.
        self._short_pause_until_ms = min(self._short_pause_until_ms, now_ms + round(MAX_BACKOFF_S * 1000))
        return max(0, self._short_pause_until_ms - now_ms) / 1000

    @property
    def tokens_left(self) -> int | None:
        """Tokens left of today's budget of all accounts; None without a limit."""
        return self._budget.left

    def check_budget(self, tokens: int) -> None:
        """Raise if the budget doesn't cover the tokens; for several calls together."""
        self._budget.check(tokens)

    # --- status and record --------------------------------------------------------------------------

    def status(self) -> AccountStatus:
        """Return the account's status; a half-open breaker is no pause."""
        self._roll_over()
        now_ms = self._clock()
        failing = [
            breaker for breaker in (self._breaker, *self._models.values()) if breaker.error is not None
        ]
        breaker = max(failing, key=lambda breaker: breaker.retry_in_ms(now_ms), default=None)
        if breaker is None or breaker.error is None:
            return AccountStatus(self.provider, "ok", self._calls, self._tokens)
        return AccountStatus(
            self.provider,
            "paused" if breaker.retry_in_ms(now_ms) else "ok",
            self._calls,
            self._tokens,
            code=breaker.error.code,
            reason=breaker.error.message,
            since_ms=breaker.since_ms,
            until_ms=breaker.until_ms,
        )

    def to_record(self) -> dict[str, Any]:
        """Return the state to save."""
        self._roll_over()
        models = {name: breaker.to_record() for name, breaker in self._models.items()}
        return {
            "provider": self.provider,
            "day": self._day,
            "calls": self._calls,
            "tokens": self._tokens,
            "breaker": self._breaker.to_record(),
            "models": {name: record for name, record in models.items() if record},
        }

    def restore(self, record: Mapping[str, Any]) -> None:
        """Merge the valid parts of a saved record into the account."""
        self._roll_over()
        if record.get("day") == self._day:
            self._calls += clamped_count(record.get("calls"))
            self._tokens += clamped_count(record.get("tokens"))
        if self._breaker.error is None:
            self._breaker = CircuitBreaker.from_record(record.get("breaker"))
        models = record.get("models")
        for name, breaker in models.items() if isinstance(models, Mapping) else ():
            self._models.setdefault(str(name), CircuitBreaker.from_record(breaker))

    def _breakers(self, model: str) -> tuple[CircuitBreaker, CircuitBreaker]:
        """Return the circuit breakers of the account and of a model."""
        return self._breaker, self._models.setdefault(model, CircuitBreaker())

    def _roll_over(self) -> None:
        """Reset the counts on a new day."""
        if self._day != self._budget.day:
            self._day, self._calls, self._tokens = self._budget.day, 0, 0
