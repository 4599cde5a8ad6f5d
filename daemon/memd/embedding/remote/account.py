"""An account at a provider: its circuit breaker, request slots and token counts."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import TracebackType
from typing import Literal

import msgspec
import trio

from memd.embedding.remote.circuit_breaker import MAX_BACKOFF_S, CircuitBreaker, Count
from memd.embedding.remote.endpoint import TextKind
from memd.embedding.remote.token_budget import TokenBudget
from memd.system.clock import Clock
from memd.system.log import log
from memd_client.errors import (
    ProviderFailedError,
    ProviderReplyError,
    TextRefusedError,
    TokenBudgetError,
)
from memd_client.reports import AccountStatus

Outcome = ProviderFailedError | Literal["abandoned"] | None
"""The outcome of a call; None for success."""


class AccountRecord(msgspec.Struct):
    """The saved state of an account: its calls and tokens of a day, and its circuit breaker."""

    provider: str
    day: Count = 0
    calls: Count = 0
    tokens: Count = 0
    breaker: CircuitBreaker = msgspec.field(default_factory=CircuitBreaker)


class ProviderCall:
    """An admitted call to a provider, whose first outcome is recorded.

    As a context manager it is abandoned if the block ends without an outcome. If it is cancelled, its estimated tokens
    count as bought: the provider may have received the request. `is_trial` is whether it is a half-open breaker's trial
    call, which is never retried.
    """

    def __init__(self, account: Account, model: str, tokens: int, *, metered: bool, is_trial: bool) -> None:
        self._account = account
        self._is_over = False
        self.model = model
        self.tokens = tokens
        self.metered = metered
        self.is_trial = is_trial

    def __repr__(self) -> str:
        kind = "trial" if self.is_trial else "call"
        return f"<ProviderCall {kind} of {self.tokens} tokens, {'over' if self._is_over else 'under way'}>"

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
            self._account.settle(self, bought, outcome)


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

    A failure opens its circuit breaker for all calls, an unknown model only for calls of that model.
    """

    def __init__(
        self,
        key: str,
        record: AccountRecord,
        concurrency: int,
        *,
        clock: Clock,
        budget: TokenBudget,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        self.key = key
        self.slots = PrioritySemaphore(concurrency)
        self._record = record
        self._clock = clock
        self._budget = budget
        self._on_change = on_change
        self._short_pause_until_ms = 0

    def __repr__(self) -> str:
        return (
            f"<Account at {self._record.provider}, {self._record.breaker.code or 'circuit breaker closed'}>"
        )

    def begin(self, tokens: int, *, metered: bool, model: str = "") -> ProviderCall:
        """Admit and count a call; raise if the breaker or the budget refuses it."""
        self.check(model)
        if metered:
            self._budget.reserve(tokens)
        breaker = self._record.breaker
        is_trial = breaker.applies_to(model)
        if is_trial:
            breaker.begin_trial(self._clock())
        self._roll_over()
        self._record.calls += 1
        self._on_change()
        return ProviderCall(self, model, tokens, metered=metered, is_trial=is_trial)

    def settle(self, call: ProviderCall, bought: int, outcome: Outcome) -> None:
        """Record the outcome of a call; called by `ProviderCall`."""
        if call.metered:
            self._budget.settle(call.tokens, bought)
        self._roll_over()
        self._record.tokens += bought
        breaker = self._record.breaker
        before = breaker.code
        if isinstance(outcome, TextRefusedError | TokenBudgetError):
            outcome = None  # not a failure of the provider
        if isinstance(outcome, ProviderFailedError):
            breaker.record_failure(outcome, call.model, self._clock(), is_trial=call.is_trial)
        elif call.is_trial and outcome is None:
            breaker.close()
        elif call.is_trial:
            breaker.abandon_trial()
        self._log_change(before)
        self._on_change()

    def _log_change(self, before: str) -> None:
        """Log if the breaker opened for a new reason, or closed."""
        breaker, provider = self._record.breaker, self._record.provider
        if breaker.code and breaker.code != before:
            until = datetime.fromtimestamp(breaker.until_ms / 1000, UTC).isoformat(timespec="seconds")
            log.warning(
                "embedding.account_paused",
                provider=provider,
                code=breaker.code,
                until=until,
                error=breaker.message,
            )
        elif before and not breaker.code:
            log.info("embedding.account_resumed", provider=provider, code=before)

    def check(self, model: str = "") -> None:
        """Raise the error to fail fast with if the circuit breaker is open for a model."""
        breaker = self._record.breaker
        refusal = breaker.refusal(self._clock()) if breaker.applies_to(model) else None
        if refusal is not None:
            raise refusal

    def retry_in_s(self, model: str = "") -> float:
        """Return for how many seconds calls still fail fast; 0 if a call may be made."""
        breaker = self._record.breaker
        wait_ms = breaker.retry_in_ms(self._clock()) if breaker.applies_to(model) else 0
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

    def status(self) -> AccountStatus:
        """Return the account's status; a half-open breaker is no pause."""
        self._roll_over()
        record, breaker = self._record, self._record.breaker
        return AccountStatus(
            record.provider,
            "paused" if breaker.code and breaker.retry_in_ms(self._clock()) else "ok",
            record.calls,
            record.tokens,
            code=breaker.code,
            reason=breaker.message,
            since_ms=breaker.since_ms,
            until_ms=breaker.until_ms,
        )

    def _roll_over(self) -> None:
        """Reset the counts on a new day."""
        if self._record.day != self._budget.day:
            self._record.day, self._record.calls, self._record.tokens = self._budget.day, 0, 0
