"""The daily token budget of all accounts."""

from __future__ import annotations

from typing import Final

from memd.system.clock import Clock
from memd.system.log import log
from memd_client.errors import TokenBudgetError

DAY_MS: Final = 86_400_000

DAYS_REMEMBERED: Final = 8
"""The number of days whose counts are kept, for a clock that jumps and returns."""


class TokenBudget:
    """A limit on the tokens bought per day (UTC), over all accounts.

    Calls under way reserve their estimate, so that concurrent calls can't spend the same tokens.
    """

    def __init__(self, limit: int, clock: Clock) -> None:
        self.limit = limit
        self._clock = clock
        self._day = 0
        self._spent: dict[int, int] = {}
        self.reserved = 0
        self._logged_day: int | None = None

    def __repr__(self) -> str:
        return f"<TokenBudget {self.spent} of {self.limit or 'any number'}, {self.reserved} reserved>"

    @property
    def day(self) -> int:
        """The current day, in days since the epoch."""
        day = self._clock() // DAY_MS
        # A clock set back by a day or less keeps the count.
        if day != self._day - 1:
            self._day = day
        return self._day

    @property
    def spent(self) -> int:
        """Tokens bought today."""
        return self._spent.get(self.day, 0)

    @property
    def is_spent(self) -> bool:
        """Whether no more tokens may be bought today."""
        return bool(self.limit) and self.spent >= self.limit

    @property
    def left(self) -> int | None:
        """Tokens that may still be reserved; None without a limit."""
        return max(0, self.limit - self.spent - self.reserved) if self.limit else None

    def add(self, tokens: int, day: int) -> None:
        """Count tokens bought on a day."""
        self._spent[day] = self._spent.pop(day, 0) + tokens
        if len(self._spent) > DAYS_REMEMBERED:
            del self._spent[next(iter(self._spent))]

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
        self.reserved -= reserved
        self.add(bought, self.day)

    def ms_to_midnight(self) -> int:
        """Return the time until the next day begins, in milliseconds."""
        return max(1, (self.day + 1) * DAY_MS - self._clock())
