"""One account at a provider: whether it may be asked, by how many at once, and what it was asked for today."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Final, Literal

import structlog
import trio

from memd.embedding.numbers import clamped_count
from memd.embedding.remote.breaker import Breaker
from memd.embedding.remote.budget import Budget
from memd.embedding.remote.request_slots import Turns
from memd.embedding.remote.retry import LONGEST_BACKOFF_S
from memd.system.clock import Clock
from memd_client.errors import ProviderFailedError, ProviderModelError, ProviderReplyError
from memd_client.reports import AccountStatus

log = structlog.get_logger(__name__)

URGENT_MS: Final = 5_000
"""A window longer than this is written down at once: a restart within it must not ask again."""

Tickets = tuple[int, int]
"""Of a call: at the account's breaker and at its model's."""

Outcome = ProviderFailedError | Literal["abandoned"] | None
"""What became of a call; None where it went well."""


class Call:
    """One call to a provider, from the permission to what became of it. Ends once; a second end does nothing.

    As a context manager it is abandoned where the block ends without a word. Cancelled in the middle, its estimate
    counts as bought: the provider may have read the request.
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
        """Whether a breaker let this one through to see: it must not be repeated."""
        return any(self._tickets)

    def __enter__(self) -> Call:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(self.tokens if kind is not None and issubclass(kind, trio.Cancelled) else 0, "abandoned")

    def succeeded(self, tokens: int) -> None:
        """It went well, and cost that many tokens."""
        self._end(tokens, None)

    def failed(self, error: ProviderFailedError) -> None:
        """It failed for good. A reply that can't be used is paid for all the same."""
        self._end(self.tokens if isinstance(error, ProviderReplyError) else 0, error)

    def tried(self, error: ProviderFailedError) -> None:
        """It failed, and will be tried again: the failure doesn't count yet."""
        self._end(self.tokens if isinstance(error, ProviderReplyError) else 0, "abandoned")

    def abandoned(self) -> None:
        """Nothing became of it that says anything: a trial is given back."""
        self._end(0, "abandoned")

    def _end(self, bought: int, outcome: Outcome) -> None:
        if not self._is_over:
            self._is_over = True
            self._account.settle(self, self._tickets, bought, outcome)


class Account:
    """One account at one address, shared by all who use the same key there.

    A failure closes the account for everybody, but for an unknown model: that closes it for the model alone.
    """

    def __init__(
        self,
        key: str,
        provider: str,
        concurrency: int,
        *,
        clock: Clock,
        budget: Budget,
        on_change: Callable[[bool], None] = lambda urgent: None,
    ) -> None:
        self.key = key
        self.provider = provider
        self.turns = Turns(concurrency)
        self._clock = clock
        self._budget = budget
        self._on_change = on_change
        self._breaker = Breaker()
        self._models: dict[str, Breaker] = {}
        self._day = budget.day
        self._calls = 0
        self._tokens = 0
        self._rest_until_ms = 0

    def __repr__(self) -> str:
        return f"<Account at {self.provider}, {self._breaker!r}>"

    # --- one call -----------------------------------------------------------------------------------

    def begin(self, tokens: int, *, metered: bool, model: str = "") -> Call:
        """Ask for permission to make a call, and count it."""
        self.check(model)
        if metered:
            self._budget.reserve(tokens)
        now_ms, doors = self._clock(), self._doors(model)
        tickets = (doors[0].enter(now_ms), doors[1].enter(now_ms))
        self._roll_over()
        self._calls += 1
        # A trial is written down before its answer comes: a process that is killed meanwhile has made it.
        self._on_change(any(tickets) and max(door.window_ms for door in doors) > URGENT_MS)
        return Call(self, model, tokens, metered, tickets)

    def settle(self, call: Call, tickets: Tickets, bought: int, outcome: Outcome) -> None:
        """Book what became of a call; `Call` does so."""
        now_ms = self._clock()
        if call.metered:
            self._budget.settle(call.tokens, bought)
        self._roll_over()
        self._tokens += bought
        is_urgent = False
        doors = self._doors(call.model)
        blamed = doors[isinstance(outcome, ProviderModelError)]
        for door, ticket in zip(doors, tickets, strict=True):
            before = door.error
            if outcome is None or (isinstance(outcome, ProviderModelError) and door is not blamed):
                door.succeeded(ticket, now_ms)
            elif isinstance(outcome, ProviderFailedError) and door is blamed:
                door.failed(ticket, outcome, now_ms)
            else:
                door.abandoned(ticket)
            self._tell(before, door)
            is_urgent |= door.error is not before and door.window_ms > URGENT_MS
        self._on_change(is_urgent)

    def _tell(self, before: ProviderFailedError | None, door: Breaker) -> None:
        """Log that a breaker opened for a reason that is new, or closed."""
        if door.error is not None and (before is None or before.code != door.error.code):
            until = datetime.fromtimestamp(door.until_ms / 1000, UTC).isoformat(timespec="seconds")
            log.warning(
                "embedding.account_paused",
                provider=self.provider,
                code=door.error.code,
                until=until,
                error=door.error.message,
            )
        elif before is not None and door.error is None:
            log.info("embedding.account_resumed", provider=self.provider, code=before.code)

    # --- when to call -------------------------------------------------------------------------------

    def check(self, model: str = "") -> None:
        """Do nothing where a call may be made now."""
        now_ms = self._clock()
        for door in self._doors(model):
            refusal = door.refusal(now_ms)
            if refusal is not None:
                raise refusal

    def retry_in_s(self, model: str = "") -> float:
        """Return how long calls are refused from now on, in seconds; 0 where one may be made."""
        now_ms = self._clock()
        wait_ms = max(door.retry_in_ms(now_ms) for door in self._doors(model))
        if self._budget.is_spent:
            wait_ms = max(wait_ms, self._budget.ms_to_midnight())
        return wait_ms / 1000

    def rest(self, pause_s: float) -> None:
        """Note a short pause the provider asked for: nobody calls meanwhile, and nothing counts as failed."""
        pause_ms = round(min(pause_s, LONGEST_BACKOFF_S) * 1000)
        self._rest_until_ms = self._clock() + max(round(self.rest_s() * 1000), pause_ms)

    def rest_s(self) -> float:
        """Return what is left of such a pause, in seconds."""
        now_ms = self._clock()
        # A wall clock that was set back must not make every call wait until it has caught up.
        self._rest_until_ms = min(self._rest_until_ms, now_ms + round(LONGEST_BACKOFF_S * 1000))
        return max(0, self._rest_until_ms - now_ms) / 1000

    @property
    def tokens_left(self) -> int | None:
        """Tokens that may still be bought today, by all accounts together; None without a limit."""
        return self._budget.left

    def check_budget(self, tokens: int) -> None:
        """Do nothing where that many tokens may be bought now: before the first of several calls is made."""
        self._budget.check(tokens)

    # --- what is known ------------------------------------------------------------------------------

    def status(self) -> AccountStatus:
        """Return the account as status shows it; a breaker that waits for its trial is no pause."""
        self._roll_over()
        now_ms = self._clock()
        failing = [door for door in (self._breaker, *self._models.values()) if door.error is not None]
        door = max(failing, key=lambda door: door.retry_in_ms(now_ms), default=None)
        if door is None or door.error is None:
            return AccountStatus(self.provider, "ok", self._calls, self._tokens)
        return AccountStatus(
            self.provider,
            "paused" if door.retry_in_ms(now_ms) else "ok",
            self._calls,
            self._tokens,
            code=door.error.code,
            reason=door.error.message,
            since_ms=door.since_ms,
            until_ms=door.until_ms,
        )

    def to_record(self) -> dict[str, Any]:
        """Return what a restart has to know."""
        self._roll_over()
        return {
            "provider": self.provider,
            "day": self._day,
            "calls": self._calls,
            "tokens": self._tokens,
            "breaker": self._breaker.to_record(),
            "models": {
                name: door.to_record() for name, door in self._models.items() if door.error is not None
            },
        }

    def restore(self, record: Mapping[str, Any]) -> None:
        """Take over what an earlier run knew; what can't be used of it is left out."""
        self._roll_over()
        if record.get("day") == self._day:
            self._calls += clamped_count(record.get("calls"))
            self._tokens += clamped_count(record.get("tokens"))
        if self._breaker.error is None:
            self._breaker = Breaker.from_record(record.get("breaker"))
        models = record.get("models")
        for name, door in models.items() if isinstance(models, Mapping) else ():
            self._models.setdefault(str(name), Breaker.from_record(door))

    def _doors(self, model: str) -> tuple[Breaker, Breaker]:
        """Return the breakers a call passes: the account's and its model's."""
        return self._breaker, self._models.setdefault(model, Breaker())

    def _roll_over(self) -> None:
        """Count anew where the day is another one."""
        if self._day != self._budget.day:
            self._day, self._calls, self._tokens = self._budget.day, 0, 0
