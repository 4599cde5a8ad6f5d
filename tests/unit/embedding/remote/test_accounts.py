"""Accounts are shared by key and address, say why they pause, and count the day."""

from __future__ import annotations

import pytest
import trio
import trio.lowlevel
import trio.testing
from structlog.testing import capture_logs

from memd.embedding.remote.breaker import QUOTA_MS, REFUSED_MS, TRANSIENT_MS
from memd_client.errors import (
    ProviderModelError,
    ProviderRateLimitedError,
    ProviderReplyError,
    ProviderUnreachableError,
)
from tests.support.remotes import START_MS, MovableClock
from tests.unit.embedding.accounting import (
    DOWN,
    LIMITS,
    NO_CREDIT,
    accounts,
    endpoint,
    fail,
    spend,
)

# --- whose ------------------------------------------------------------------------------------------


def test_agents_with_the_same_key_share_an_account_and_two_keys_or_addresses_do_not() -> None:
    found = accounts()

    assert found.of(endpoint(), LIMITS) is found.of(endpoint(model="another"), LIMITS)
    others = [endpoint(), endpoint(key="other"), endpoint(key=None), endpoint(url="https://b/v1")]
    others += [endpoint(provider="compatible")]
    assert len({found.of(other, LIMITS).key for other in others}) == len(others)


def test_a_pause_holds_for_all_models_of_an_account_and_for_no_other_account() -> None:
    found = accounts()
    fail(found.of(endpoint(), LIMITS), ProviderRateLimitedError("429", data={"retry_after_s": 40}))

    with pytest.raises(ProviderRateLimitedError) as refusal:
        found.of(endpoint(), LIMITS).begin(1, metered=True, model="another")
    assert refusal.value.data == {"retry_after_s": 40}
    spend(found.of(endpoint(key="other"), LIMITS), 5)


def test_an_unknown_model_stops_that_model_alone() -> None:
    account = accounts().of(endpoint(), LIMITS)
    fail(account, ProviderModelError("no such model"), model="wrong")

    assert account.retry_in_s("wrong") == REFUSED_MS / 1000
    assert account.retry_in_s("right") == 0
    with pytest.raises(ProviderModelError):
        account.begin(1, metered=True, model="wrong")
    account.begin(1, metered=True, model="right").succeeded(1)


def test_a_trial_that_finds_no_model_shows_that_the_account_is_in_order() -> None:
    clock = MovableClock()
    account = accounts(clock).of(endpoint(), LIMITS)
    fail(account, DOWN)
    clock.move(TRANSIENT_MS / 1000)
    fail(account, ProviderModelError("no such model"), model="wrong")

    assert account.retry_in_s("right") == 0


# --- calls ------------------------------------------------------------------------------------------


def test_a_call_ends_once_and_a_cancelled_one_gives_its_trial_back() -> None:
    async def test() -> None:
        clock = MovableClock()
        account = accounts(clock).of(endpoint(), LIMITS)
        fail(account, DOWN)
        clock.move(TRANSIENT_MS / 1000)
        with trio.CancelScope() as scope, account.begin(7, metered=True, model="m") as call:
            assert call.is_trial
            scope.cancel()
            await trio.lowlevel.checkpoint()
        assert account.status().tokens_today == 7, "the provider may have read it"
        call.failed(NO_CREDIT)  # it is over: nothing happens
        with account.begin(7, metered=True, model="m") as call:
            assert call.is_trial
            call.succeeded(5)
        assert account.status().state == "ok"
        assert account.status().code == ""
        assert account.status().tokens_today == 12

    trio.run(test)


def test_a_reply_that_can_not_be_used_was_paid_for_and_an_unanswered_call_was_not() -> None:
    clock = MovableClock()
    account = accounts(clock).of(endpoint(), LIMITS)
    account.begin(100, metered=True, model="m").failed(DOWN)
    clock.move(10)
    account.begin(100, metered=True, model="m").failed(ProviderReplyError("garbage"))

    assert account.status().tokens_today == 100
    assert account.status().calls_today == 2


def test_status_says_why_since_when_and_until_when() -> None:
    clock = MovableClock()
    found = accounts(clock)
    account = found.of(endpoint(), LIMITS)
    spend(account, 20)
    clock.move(5)
    fail(account, NO_CREDIT)

    (status,) = found.status()

    assert (status.provider, status.state, status.code) == ("openai", "paused", "provider_quota_exhausted")
    assert status.reason == NO_CREDIT.message
    assert (status.since_ms, status.until_ms) == (START_MS + 5000, START_MS + 5000 + QUOTA_MS)
    assert (status.calls_today, status.tokens_today) == (2, 20)
    clock.move(QUOTA_MS / 1000)
    assert found.status()[0].state == "ok", "it may be asked again"


def test_pause_and_end_of_it_are_logged_once_each_and_not_per_call() -> None:
    clock = MovableClock()
    account = accounts(clock).of(endpoint(), LIMITS)
    with capture_logs() as logs:
        calls = [account.begin(1, metered=True, model="m") for _ in range(4)]
        for call in calls:
            call.failed(DOWN)
        for _ in range(5):
            clock.move(60)
            fail(account, DOWN)
            with pytest.raises(ProviderUnreachableError):
                account.check("m")
        clock.move(60)
        spend(account, 1)
        spend(account, 1)

    events = [(entry["event"], entry["provider"], entry["code"]) for entry in logs]
    assert events == [
        ("embedding.account_paused", "openai", "provider_unreachable"),
        ("embedding.account_resumed", "openai", "provider_unreachable"),
    ]
    assert logs[0]["until"] == "2027-01-15T00:00:02+00:00"


def test_a_short_pause_is_kept_by_all_and_ends_by_itself_even_where_the_clock_is_set_back() -> None:
    clock = MovableClock()
    account = accounts(clock).of(endpoint(), LIMITS)
    account.rest(3)
    account.rest(1)
    assert account.rest_s() == 3
    clock.move(-1_000_000)
    assert account.rest_s() <= 8
    clock.move(1_000_003)
    assert account.rest_s() == 0
    assert account.status().state == "ok"
