"""The tokens of a day are a hard stop over all accounts, whatever is under way and whatever the clock does."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from structlog.testing import capture_logs

from memd.embedding.remote.accounts import Call
from memd.embedding.remote.budget import DAY_MS
from memd_client.errors import (
    ProviderRateLimitedError,
    TokenBudgetError,
)
from tests.support.remotes import START_MS, MovableClock
from tests.unit.embedding.accounting import (
    DOWN,
    LIMITS,
    accounts,
    endpoint,
    spend,
)

# --- the day's tokens -------------------------------------------------------------------------------


def test_the_budget_is_a_hard_stop_over_all_accounts_and_names_the_time_to_wait() -> None:
    clock = MovableClock()
    found = accounts(clock, budget=100)
    spend(found.of(endpoint(), LIMITS), 60)
    clock.move(3600)

    with pytest.raises(TokenBudgetError) as refusal:
        found.of(endpoint(key="other"), LIMITS).begin(41, metered=True)

    assert refusal.value.data == {"retry_after_s": 23 * 3600}
    assert "60" in refusal.value.message
    spend(found.of(endpoint(key="other"), LIMITS), 40)
    assert found.tokens_today == 100
    assert found.of(endpoint(), LIMITS).retry_in_s() == 23 * 3600
    assert [status.calls_today for status in found.status()] == [1, 1]


def test_calls_at_the_same_time_can_not_spend_the_same_tokens() -> None:
    account = accounts(budget=100).of(endpoint(), LIMITS)
    first = account.begin(60, metered=True)
    assert account.tokens_left == 40

    with pytest.raises(TokenBudgetError):
        account.begin(60, metered=True)
    first.failed(ProviderRateLimitedError("429"))
    assert account.tokens_left == 100


def test_tokens_that_cost_nothing_are_counted_and_not_budgeted() -> None:
    found = accounts(budget=10)
    account = found.of(endpoint(), LIMITS)
    spend(account, 1000, metered=False)

    assert account.status().tokens_today == 1000
    assert found.tokens_today == 0
    assert account.tokens_left == 10


def test_the_day_rolls_over_at_midnight_utc_while_calls_are_under_way() -> None:
    clock = MovableClock(START_MS + DAY_MS - 1)
    found = accounts(clock, budget=100)
    account = found.of(endpoint(), LIMITS)
    spend(account, 90)
    under_way = account.begin(10, metered=True)
    with pytest.raises(TokenBudgetError):
        account.begin(1, metered=True)

    clock.now_ms += 1

    assert account.tokens_left == 90, "what is under way is reserved from the new day"
    under_way.succeeded(8)
    assert found.tokens_today == 8
    assert account.status().tokens_today == 8
    assert account.status().calls_today == 0


def test_a_clock_set_back_over_midnight_does_not_open_the_purse_again() -> None:
    clock = MovableClock()
    found = accounts(clock, budget=100)
    spend(found.of(endpoint(), LIMITS), 100)
    clock.move(-10)
    assert found.tokens_today == 100
    clock.move(20)
    assert found.tokens_today == 100
    clock.move(-10 * DAY_MS / 1000)
    assert found.tokens_today == 0, "a clock that was days ahead does not lock it"


def test_a_spent_budget_is_logged_once_a_day() -> None:
    clock = MovableClock()
    account = accounts(clock, budget=10).of(endpoint(), LIMITS)
    with capture_logs() as logs:
        for _ in range(2):
            for _ in range(3):
                with pytest.raises(TokenBudgetError):
                    account.begin(11, metered=True)
            clock.move(DAY_MS / 1000)

    assert [entry["event"] for entry in logs] == ["embedding.token_budget_spent"] * 2


class BudgetMachine(RuleBasedStateMachine):
    """Calls of all sizes and fates at once: what is bought never goes beyond the budget but by wrong estimates."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = MovableClock()
        self.accounts = accounts(self.clock, budget=1000)
        self.account = self.accounts.of(endpoint(), LIMITS)
        self.calls: list[tuple[Call, int]] = []
        self.bought = 0
        self.beyond = 0
        self.day = self.clock.now_ms // DAY_MS

    @rule(tokens=st.integers(1, 700))
    def begin(self, tokens: int) -> None:
        fits = self.bought + sum(reserved for _, reserved in self.calls) + tokens <= 1000
        try:
            self.calls.append((self.account.begin(tokens, metered=True), tokens))
            assert fits
        except TokenBudgetError:
            assert not fits

    @rule(at=st.integers(0, 20), fate=st.sampled_from(["well", "dearer", "cheaper", "refused", "given up"]))
    def end(self, at: int, fate: str) -> None:
        if not self.calls:
            return
        call, reserved = self.calls.pop(at % len(self.calls))
        bought = {"well": reserved, "dearer": reserved + 50, "cheaper": reserved // 2}.get(fate, 0)
        if fate in ("well", "dearer", "cheaper"):
            call.succeeded(bought)
        else:
            call.tried(DOWN) if fate == "refused" else call.abandoned()
        self.bought += bought
        self.beyond += max(0, bought - reserved)

    @rule(hours=st.integers(1, 30))
    def wait(self, hours: int) -> None:
        self.clock.move(hours * 3600)
        day = self.clock.now_ms // DAY_MS
        if day != self.day:
            self.day, self.bought, self.beyond = day, 0, 0

    @invariant()
    def the_books_are_right(self) -> None:
        assert self.accounts.tokens_today == self.bought
        assert self.bought <= 1000 + self.beyond
        left = self.account.tokens_left
        assert left == max(0, 1000 - self.bought - sum(reserved for _, reserved in self.calls))


TestBudgetMachine = BudgetMachine.TestCase
