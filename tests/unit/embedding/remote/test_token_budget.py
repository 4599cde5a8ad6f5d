"""Tests of the daily token budget, and of pauses over restarts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path

import pytest
import trio
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from memd.embedding.remote.account import ProviderCall
from memd.embedding.remote.remote import RemoteProvider
from memd.embedding.remote.token_budget import DAY_MS
from memd_client.errors import (
    ProviderFailedError,
    ProviderQuotaError,
    ProviderRateLimitedError,
    TokenBudgetError,
)
from tests.support.logs import capture_logs
from tests.support.provider_errors import DialectName
from tests.support.provider_faults import Fault
from tests.support.provider_server import ProviderServer, serve_provider
from tests.support.remote_fixture import (
    ACCOUNT_LIMITS,
    DOWN,
    START_MS,
    MovableClock,
    accounts,
    endpoint,
    remote,
    spend,
)

# --- daily tokens -----------------------------------------------------------------------------------


def test_budget_limits_all_accounts_and_reports_the_wait() -> None:
    clock = MovableClock()
    found = accounts(clock, budget=100)
    spend(found.account_for(endpoint(), ACCOUNT_LIMITS), 60)
    clock.move(3600)

    with pytest.raises(TokenBudgetError) as refusal:
        found.account_for(endpoint(key="other"), ACCOUNT_LIMITS).begin(41, metered=True)

    assert refusal.value.data == {"retry_after_s": 23 * 3600}
    assert "60" in refusal.value.message
    spend(found.account_for(endpoint(key="other"), ACCOUNT_LIMITS), 40)
    assert found.tokens_today == 100
    assert found.account_for(endpoint(), ACCOUNT_LIMITS).retry_in_s() == 23 * 3600
    assert [status.calls_today for status in found.status()] == [1, 1]


def test_concurrent_calls_can_not_spend_the_same_tokens() -> None:
    account = accounts(budget=100).account_for(endpoint(), ACCOUNT_LIMITS)
    first = account.begin(60, metered=True)
    assert account.tokens_left == 40

    with pytest.raises(TokenBudgetError):
        account.begin(60, metered=True)
    first.record_failure(ProviderRateLimitedError("429"))
    assert account.tokens_left == 100


def test_unmetered_tokens_are_counted_without_budget() -> None:
    found = accounts(budget=10)
    account = found.account_for(endpoint(), ACCOUNT_LIMITS)
    spend(account, 1000, metered=False)

    assert account.status().tokens_today == 1000
    assert found.tokens_today == 0
    assert account.tokens_left == 10


def test_day_changes_at_midnight_utc_during_calls() -> None:
    clock = MovableClock(START_MS + DAY_MS - 1)
    found = accounts(clock, budget=100)
    account = found.account_for(endpoint(), ACCOUNT_LIMITS)
    spend(account, 90)
    under_way = account.begin(10, metered=True)
    with pytest.raises(TokenBudgetError):
        account.begin(1, metered=True)

    clock.now_ms += 1

    assert account.tokens_left == 90, "what is under way is reserved from the new day"
    under_way.record_success(8)
    assert found.tokens_today == 8
    assert account.status().tokens_today == 8
    assert account.status().calls_today == 0


def test_clock_set_back_over_midnight_does_not_restore_the_budget() -> None:
    clock = MovableClock()
    found = accounts(clock, budget=100)
    spend(found.account_for(endpoint(), ACCOUNT_LIMITS), 100)
    clock.move(-10)
    assert found.tokens_today == 100
    clock.move(20)
    assert found.tokens_today == 100
    clock.move(-10 * DAY_MS / 1000)
    assert found.tokens_today == 0, "a clock that was days ahead does not lock it"


def test_a_spent_budget_is_logged_once_a_day() -> None:
    clock = MovableClock()
    account = accounts(clock, budget=10).account_for(endpoint(), ACCOUNT_LIMITS)
    with capture_logs() as logs:
        for _ in range(2):
            for _ in range(3):
                with pytest.raises(TokenBudgetError):
                    account.begin(11, metered=True)
            clock.move(DAY_MS / 1000)

    assert [entry["event"] for entry in logs] == ["embedding.token_budget_spent"] * 2


class BudgetMachine(RuleBasedStateMachine):
    """Concurrent calls; only wrong estimates exceed the budget."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = MovableClock()
        self.accounts = accounts(self.clock, budget=1000)
        self.account = self.accounts.account_for(endpoint(), ACCOUNT_LIMITS)
        self.calls: list[tuple[ProviderCall, int]] = []
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

    @rule(
        at=st.integers(0, 20), outcome=st.sampled_from(["well", "dearer", "cheaper", "refused", "given up"])
    )
    def end(self, at: int, outcome: str) -> None:
        if not self.calls:
            return
        call, reserved = self.calls.pop(at % len(self.calls))
        bought = {"well": reserved, "dearer": reserved + 50, "cheaper": reserved // 2}.get(outcome, 0)
        if outcome in ("well", "dearer", "cheaper"):
            call.record_success(bought)
        else:
            call.record_retry(DOWN) if outcome == "refused" else call.record_abandoned()
        self.bought += bought
        self.beyond += max(0, bought - reserved)

    @rule(hours=st.integers(1, 30))
    def wait(self, hours: int) -> None:
        self.clock.move(hours * 3600)
        day = self.clock.now_ms // DAY_MS
        if day != self.day:
            self.day, self.bought, self.beyond = day, 0, 0

    @invariant()
    def counts_are_consistent(self) -> None:
        assert self.accounts.tokens_today == self.bought
        assert self.bought <= 1000 + self.beyond
        left = self.account.tokens_left
        assert left == max(0, 1000 - self.bought - sum(reserved for _, reserved in self.calls))


TestBudgetMachine = BudgetMachine.TestCase


WINDOW_S = 30 * 60
"""How long an account without quota isn't called."""

STEP_S = 60
"""How often the daemon of this test embeds a query and a batch."""

DIALECTS: tuple[DialectName, ...] = ("openai", "gemini", "voyage", "mistral", "ollama", "compatible")
METERED: tuple[DialectName, ...] = ("openai", "gemini", "voyage", "mistral", "compatible")


async def fails(ask: Callable[[], Awaitable[object]]) -> ProviderFailedError:
    """Return the error of a call."""
    with pytest.raises(ProviderFailedError) as raised:
        await ask()
    return raised.value


async def embed_both(provider: RemoteProvider) -> list[ProviderFailedError]:
    """Embed a query and a batch, and return the errors."""
    return [
        await fails(lambda: provider.embed_query("where is the invoice")),
        await fails(lambda: provider.embed_batch(["the cat is ill", "an invoice is due"])),
    ]


async def simulate_day(server: ProviderServer, path: Path) -> list[float]:
    """Return the times of calls to an account without quota, restarted hourly."""
    clock = MovableClock()
    start_ms, calls_s = clock.now_ms, list[float]()
    for _ in range(24):
        async with remote(server, clock, path) as provider:
            for _ in range(3600 // STEP_S):
                seen = server.calls
                errors = await embed_both(provider)
                assert {type(error) for error in errors} == {ProviderQuotaError}
                calls_s += [(clock.now_ms - start_ms) / 1000] * (server.calls - seen)
                clock.move(STEP_S)
    return calls_s


@pytest.mark.parametrize("dialect", METERED)
def test_account_without_quota_is_called_once_per_window_despite_restarts(
    dialect: DialectName, tmp_path: Path
) -> None:
    with serve_provider(dialect, dims=32) as server:
        server.fault = Fault("quota")
        calls_s = trio.run(simulate_day, server, tmp_path / "accounts.json")
        gaps = [later - earlier for earlier, later in pairwise(calls_s)]
        assert min(gaps) >= WINDOW_S
        assert 40 <= len(calls_s) <= 24 * 3600 // WINDOW_S
        assert server.complaints == []


def test_account_with_restored_quota_is_used_after_the_window(tmp_path: Path) -> None:
    async def test(server: ProviderServer) -> None:
        clock = MovableClock()
        async with remote(server, clock, tmp_path / "accounts.json") as provider:
            server.fault = Fault("quota")
            await embed_both(provider)
        server.fault = None
        async with remote(server, clock, tmp_path / "accounts.json") as provider:
            clock.move(WINDOW_S - 1)
            assert isinstance(await fails(lambda: provider.embed_query("early")), ProviderQuotaError)
            clock.move(1)
            await provider.embed_query("in time")
            await provider.embed_batch(["more", "of", "it"])

    with serve_provider("openai", dims=32) as server:
        trio.run(test, server)
        assert server.texts_embedded == {"in time": 1, "more": 1, "of": 1, "it": 1}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_pause_of_40_seconds_is_exact(dialect: DialectName, tmp_path: Path) -> None:
    async def test(server: ProviderServer) -> None:
        clock = MovableClock()
        server.fault = Fault("rate_limited", retry_after=40)
        path = tmp_path / "accounts.json"
        async with remote(server, clock, path) as provider:
            errors = await embed_both(provider)
            assert {type(error) for error in errors} == {ProviderRateLimitedError}
            assert server.calls == 1
            for _ in range(39):
                clock.move(1)
                await embed_both(provider)
            assert server.calls == 1
            assert provider.retry_in_s() == pytest.approx(1)
        # a restarted daemon keeps it as well
        async with remote(server, clock, path) as provider:
            clock.move(0.9)
            await embed_both(provider)
            assert server.calls == 1
            clock.move(0.1)
            await embed_both(provider)
            assert server.calls == 2
            clock.move(39)
            await embed_both(provider)
            assert server.calls == 2
            clock.move(1)
            server.fault = None
            assert (await provider.embed_query("at last")).shape == (32,)
            assert server.calls == 3

    with serve_provider(dialect, dims=32) as server:
        trio.run(test, server)


def test_concurrent_callers_make_one_trial_call_after_the_window(tmp_path: Path) -> None:
    async def test(server: ProviderServer) -> None:
        clock = MovableClock()
        server.fault = Fault("quota")
        async with remote(server, clock, tmp_path / "accounts.json") as provider:
            await embed_both(provider)
            seen = server.calls
            clock.move(WINDOW_S)

            async def ask(number: int) -> None:
                await fails(lambda: provider.embed_query(f"query {number}"))

            async with trio.open_nursery() as nursery:
                for number in range(20):
                    nursery.start_soon(ask, number)
            assert server.calls == seen + 1

    with serve_provider("openai", dims=32) as server:
        trio.run(test, server)
