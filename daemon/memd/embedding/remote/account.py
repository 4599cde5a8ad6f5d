"""One account at a provider: whether calls may be made, how many at a time, and what they cost today."""

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
from memd.embedding.remote.circuit_breaker import LONGEST_BACKOFF_S, CircuitBreaker
from memd.embedding.remote.endpoint import TextKind
from memd.embedding.remote.token_budget import TokenBudget
from memd.system.clock import Clock
from memd_client.errors import ProviderFailedError, ProviderModelError, ProviderReplyError
from memd_client.reports import AccountStatus

log = structlog.get_logger(__name__)

URGENT_MS: Final = 5_000
"""A longer window is saved at once: a restart within it must not call again."""

Tickets = tuple[int, int]
"""Of a call: at the circuit breaker of the account and at that of the model."""

Outcome = ProviderFailedError | Literal["abandoned"] | None
"""The outcome of a call; None for success."""


class Call:
    """One call to a provider, from the permission to its outcome. Ends once; a second end does nothing.

    As a context manager it is abandoned if the block ends without an outcome. If cancelled, its estimate counts as
    bought: the provider may have read the request.
    """

    def __init__(self, account: Account, model: str, tokens: int, metered: bool, tickets: Tickets) -> None:
        self._account = account
        self._tickets = tickets
        self._is_over = False
        self.model = model
        self.tokens = tokens
        self.metered = metered

    def __repr__(self) -> str:
        kind = "trial" if self.is_trial else "call"
        return f"<Call {kind} of {self.tokens} tokens, {'over' if self._is_over else 'under way'}>"

    @property
    def is_trial(self) -> bool:
        """Whether it is the trial of an open breaker, which must not be repeated."""
        return any(self._tickets)

    def __enter__(self) -> Call:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(self.tokens if kind is not None and issubclass(kind, trio.Cancelled) else 0, "abandoned")

    def succeeded(self, tokens: int) -> None:
        """End with success, at a cost of that many tokens."""
        self._end(tokens, None)

    def failed(self, error: ProviderFailedError) -> None:
        """End with a failure. A reply that can't be used is paid for all the same."""
        self._end(self.tokens if isinstance(error, ProviderReplyError) else 0, error)

    def tried(self, error: ProviderFailedError) -> None:
        """End with a failure that is followed by another try: it does not count yet."""
        self._end(self.tokens if isinstance(error, ProviderReplyError) else 0, "abandoned")

    def abandoned(self) -> None:
        """End without an outcome: another trial may be made."""
        self._end(0, "abandoned")

    def _end(self, bought: int, outcome: Outcome) -> None:
        if not self._is_over:
            self._is_over = True
            self._account.settle(self, self._tickets, bought, outcome)


class PrioritySemaphore:
    """The request slots of one account: queries go before batches.

    Queries don't wait for batches if the provider takes several requests at once. If it takes a single one, as Ollama
    does, a query waits for the one under way and goes before all others.
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
        """Wait for a slot, and hold it inside the block; raises `trio.TooSlowError`."""
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
            await queue.park()  # `_release` hands its slot over

    def _release(self) -> None:
        queue = self._queries if self._queries else self._documents
        if queue:
            queue.unpark()
        else:
            self._free += 1


class Account:
    """One account at one address, shared by all agents that use the same key there.

    A failure pauses the account, except for an unknown model, which pauses that model alone.
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
        self._rest_until_ms = 0

    def __repr__(self) -> str:
        return f"<Account at {self.provider}, {self._breaker!r}>"

    # --- one call -----------------------------------------------------------------------------------

    def begin(self, tokens: int, *, metered: bool, model: str = "") -> Call:
        """Return a call that may be made now, and count it; raise if calls are refused or the budget is spent."""
        self.check(model)
        if metered:
            self._budget.reserve(tokens)
        now_ms, breakers = self._clock(), self._breakers(model)
        tickets = (breakers[0].enter(now_ms), breakers[1].enter(now_ms))
        self._roll_over()
        self._calls += 1
        # A trial is saved before its reply: a process that is killed meanwhile has made it.
        self._on_change(any(tickets) and max(breaker.window_ms for breaker in breakers) > URGENT_MS)
        return Call(self, model, tokens, metered, tickets)

    def settle(self, call: Call, tickets: Tickets, bought: int, outcome: Outcome) -> None:
        """Book the outcome of a call; for `Call`."""
        now_ms = self._clock()
        if call.metered:
            self._budget.settle(call.tokens, bought)
        self._roll_over()
        self._tokens += bought
        is_urgent = False
        breakers = self._breakers(call.model)
        failing = breakers[isinstance(outcome, ProviderModelError)]
        for breaker, ticket in zip(breakers, tickets, strict=True):
            before = breaker.error
            if outcome is None or (isinstance(outcome, ProviderModelError) and breaker is not failing):
                breaker.succeeded(ticket, now_ms)
            elif isinstance(outcome, ProviderFailedError) and breaker is failing:
                breaker.failed(ticket, outcome, now_ms)
            else:
                breaker.abandoned(ticket)
            self._log_change(before, breaker)
            is_urgent |= breaker.error is not before and breaker.window_ms > URGENT_MS
        self._on_change(is_urgent)

    def _log_change(self, before: ProviderFailedError | None, breaker: CircuitBreaker) -> None:
        """Log that a breaker opened for a new reason, or closed."""
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

    # --- when to call -------------------------------------------------------------------------------

    def check(self, model: str = "") -> None:
        """Raise why calls are refused, if they are."""
        now_ms = self._clock()
        for breaker in self._breakers(model):
            refusal = breaker.refusal(now_ms)
            if refusal is not None:
                raise refusal

    def retry_in_s(self, model: str = "") -> float:
        """Return how long calls are refused from now on, in seconds; 0 if one may be made."""
        now_ms = self._clock()
        wait_ms = max(breaker.retry_in_ms(now_ms) for breaker in self._breakers(model))
        if self._budget.is_spent:
            wait_ms = max(wait_ms, self._budget.ms_to_midnight())
        return wait_ms / 1000

    def rest(self, pause_s: float) -> None:
        """Note a short pause the provider asked for: all calls wait, and no failure counts."""
        pause_ms = round(min(pause_s, LONGEST_BACKOFF_S) * 1000)
        self._rest_until_ms = self._clock() + max(round(self.rest_s() * 1000), pause_ms)

    def rest_s(self) -> float:
        """Return what is left of such a pause, in seconds."""
        now_ms = self._clock()
        # A wall clock that was set back must not make the pause longer.
        self._rest_until_ms = min(self._rest_until_ms, now_ms + round(LONGEST_BACKOFF_S * 1000))
        return max(0, self._rest_until_ms - now_ms) / 1000

    @property
    def tokens_left(self) -> int | None:
        """Tokens that may still be bought today, by all accounts together; None without a limit."""
        return self._budget.left

    def check_budget(self, tokens: int) -> None:
        """Raise if that many tokens may not be bought: before the first of several calls."""
        self._budget.check(tokens)

    # --- status and record --------------------------------------------------------------------------

    def status(self) -> AccountStatus:
        """Return the account as status shows it; a breaker that waits for its trial is no pause."""
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
        """Return what a restart has to know."""
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
        """Take over the valid parts of an earlier run's record."""
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
        """Return the breakers of the account and of a model."""
        return self._breaker, self._models.setdefault(model, CircuitBreaker())

    def _roll_over(self) -> None:
        """Reset the counts on a new day."""
        if self._day != self._budget.day:
            self._day, self._calls, self._tokens = self._budget.day, 0, 0
