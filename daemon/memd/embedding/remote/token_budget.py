"""The daily token budget of all accounts."""

from __future__ import annotations

from typing import Final

import structlog

from memd.system.clock import Clock
from memd_client.errors import TokenBudgetError

log = structlog.get_logger(__name__)

DAY_MS: Final = 86_400_000

DAYS_REMEMBERED: Final = 8
"""The number of past days whose counts are kept, for a clock that jumps and returns."""


class TokenBudget:
    """A limit on the tokens bought per day (UTC), over all accounts.

    Calls under way reserve their estimate, so that concurrent calls can't spend the same tokens.
    """

    def __init__(self, limit: int, clock: Clock) -> None:
        self.limit = limit
        self._clock = clock
        self._day = clock() // DAY_MS
        self._spent = 0
        self._other_days: dict[int, int] = {}
        self.reserved = 0
        self._logged_day: int | None = None

    def __repr__(self) -> str:
        return f"<TokenBudget {self.spent} of {self.limit or 'any number'}, {self.reserved} reserved>"

    @property
    def day(self) -> int:
        """The current day, in days since the epoch."""
        self._roll_over()
        return self._day

    @property
    def spent(self) -> int:
        """Tokens bought today."""
        self._roll_over()
        return self._spent

    @property
    def is_spent(self) -> bool:
        """Whether no more tokens may be bought today."""
        return bool(self.limit) and self.spent >= self.limit

    @property
    def left(self) -> int | None:
        """Tokens that may still be reserved; None without a limit."""
        return max(0, self.limit - self.spent - self.reserved) if self.limit else None

    def restore(self, day: int, spent: int) -> None:
        """Add tokens bought in an earlier run, on the day they count for."""
        if day == self.day:
            self._spent += spent
        else:
            self._keep_day(day, spent)

    def check(self, tokens: int) -> None:
        """Raise TokenBudgetError if the budget doesn't cover the tokens."""
        left = self.left
        if left is None or tokens <= left:
            return
        if self._logged_day != self.day:
            self._logged_day = self.day
            log.warning("embedding.token_budget_spent", limit=self.limit, spent=self.spent, wanted=tokens)
        raise TokenBudgetError(
            f"the daily budget of {self.limit:,} tokens is used up: {self.spent:,} were bought today, "
            f"{self.reserved:,} are reserved, {tokens:,} more are needed",
            data={"retry_after_s": -(-self.ms_to_midnight() // 1000)},
        )

    def reserve(self, tokens: int) -> None:
        """Reserve tokens for a call."""
        self.check(tokens)
        self.reserved += tokens

    def settle(self, reserved: int, bought: int) -> None:
        """End a reservation, and count the tokens bought."""
        self._roll_over()
        self.reserved -= reserved
        self._spent += bought

    def ms_to_midnight(self) -> int:
        """Return the time until the next day begins, in milliseconds."""
        return max(1, (self.day + 1) * DAY_MS - self._clock())

    def _roll_over(self) -> None:
        day = self._clock() // DAY_MS
        # A clock set back by a day or less keeps the count; one that returns to an earlier day restores its count.
        if day > self._day or day < self._day - 1:
            self._keep_day(self._day, self._spent)
            self._day, self._spent = day, self._other_days.pop(day, 0)

    def _keep_day(self, day: int, spent: int) -> None:
        self._other_days.pop(day, None)
        self._other_days[day] = spent
        if len(self._other_days) > DAYS_REMEMBERED:
            del self._other_days[next(iter(self._other_days))]
