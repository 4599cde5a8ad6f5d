"""Accounts are shared by key and address, count the day, say why they pause, and let queries go before batches."""

from __future__ import annotations

import pytest
import trio
import trio.lowlevel
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from memd.embedding.remote.account import PrioritySemaphore
from memd.embedding.remote.circuit_breaker import QUOTA_MS, REFUSED_MS, TRANSIENT_MS
from memd.embedding.remote.endpoint import TextKind
from memd_client.errors import (
    ProviderModelError,
    ProviderRateLimitedError,
    ProviderReplyError,
    ProviderUnreachableError,
)
from tests.support.remote_fixture import (
    ACCOUNT_LIMITS,
    DOWN,
    NO_CREDIT,
    START_MS,
    MovableClock,
    accounts,
    endpoint,
    fail,
    spend,
)

# --- whose ------------------------------------------------------------------------------------------


def test_agents_with_the_same_key_share_an_account_and_two_keys_or_addresses_do_not() -> None:
    found = accounts()

    assert found.of(endpoint(), ACCOUNT_LIMITS) is found.of(endpoint(model="another"), ACCOUNT_LIMITS)
    others = [endpoint(), endpoint(key="other"), endpoint(key=None), endpoint(url="https://b/v1")]
    others += [endpoint(provider="compatible")]
    assert len({found.of(other, ACCOUNT_LIMITS).key for other in others}) == len(others)


def test_a_pause_holds_for_all_models_of_an_account_and_for_no_other_account() -> None:
    found = accounts()
    fail(found.of(endpoint(), ACCOUNT_LIMITS), ProviderRateLimitedError("429", data={"retry_after_s": 40}))

    with pytest.raises(ProviderRateLimitedError) as refusal:
        found.of(endpoint(), ACCOUNT_LIMITS).begin(1, metered=True, model="another")
    assert refusal.value.data == {"retry_after_s": 40}
    spend(found.of(endpoint(key="other"), ACCOUNT_LIMITS), 5)


def test_an_unknown_model_stops_that_model_alone() -> None:
    account = accounts().of(endpoint(), ACCOUNT_LIMITS)
    fail(account, ProviderModelError("no such model"), model="wrong")

    assert account.retry_in_s("wrong") == REFUSED_MS / 1000
    assert account.retry_in_s("right") == 0
    with pytest.raises(ProviderModelError):
        account.begin(1, metered=True, model="wrong")
    account.begin(1, metered=True, model="right").succeeded(1)


def test_a_trial_that_finds_no_model_shows_that_the_account_is_in_order() -> None:
    clock = MovableClock()
    account = accounts(clock).of(endpoint(), ACCOUNT_LIMITS)
    fail(account, DOWN)
    clock.move(TRANSIENT_MS / 1000)
    fail(account, ProviderModelError("no such model"), model="wrong")

    assert account.retry_in_s("right") == 0


# --- calls ------------------------------------------------------------------------------------------


async def test_a_call_ends_once_and_a_cancelled_one_gives_its_trial_back() -> None:
    clock = MovableClock()
    account = accounts(clock).of(endpoint(), ACCOUNT_LIMITS)
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


def test_a_reply_that_can_not_be_used_was_paid_for_and_an_unanswered_call_was_not() -> None:
    clock = MovableClock()
    account = accounts(clock).of(endpoint(), ACCOUNT_LIMITS)
    account.begin(100, metered=True, model="m").failed(DOWN)
    clock.move(10)
    account.begin(100, metered=True, model="m").failed(ProviderReplyError("garbage"))

    assert account.status().tokens_today == 100
    assert account.status().calls_today == 2


def test_status_says_why_since_when_and_until_when() -> None:
    clock = MovableClock()
    found = accounts(clock)
    account = found.of(endpoint(), ACCOUNT_LIMITS)
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
    account = accounts(clock).of(endpoint(), ACCOUNT_LIMITS)
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
    account = accounts(clock).of(endpoint(), ACCOUNT_LIMITS)
    account.rest(3)
    account.rest(1)
    assert account.rest_s() == 3
    clock.move(-1_000_000)
    assert account.rest_s() <= 8
    clock.move(1_000_003)
    assert account.rest_s() == 0
    assert account.status().state == "ok"


class Desk:
    """Somebody who takes turns and notes who is served."""

    def __init__(self, semaphore: PrioritySemaphore) -> None:
        self.semaphore = semaphore
        self.served: list[str] = []
        self.busy = 0
        self.busiest = 0
        self.go_on = trio.Event()

    async def serve(self, name: str, kind: TextKind) -> None:
        async with self.semaphore.slot(kind):
            self.served.append(name)
            self.busy += kind == "document"
            self.busiest = max(self.busiest, self.busy)
            try:
                await self.go_on.wait()
            finally:
                self.busy -= kind == "document"


async def test_a_question_does_not_wait_where_more_than_one_request_is_taken() -> None:
    desk = Desk(PrioritySemaphore(2))
    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(desk.serve, f"batch {number}", "document")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(desk.serve, "question", "query")
        await trio.testing.wait_all_tasks_blocked()
        assert len(desk.served) == 3
        assert desk.served[-1] == "question"
        desk.go_on.set()
    assert desk.busiest == 2
    assert repr(desk.semaphore) == "<PrioritySemaphore 2 free, 0 queries and 0 batches wait>"


async def test_where_one_request_is_taken_alone_a_question_is_the_next() -> None:
    desk = Desk(PrioritySemaphore(1))
    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(desk.serve, f"batch {number}", "document")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(desk.serve, "question", "query")
        await trio.testing.wait_all_tasks_blocked()
        assert len(desk.served) == 1
        desk.go_on.set()
    assert desk.served[1] == "question"
    assert desk.busiest == 1


@pytest.mark.parametrize("kind", ["query", "document"])
async def test_who_is_cancelled_in_line_takes_no_turn_along(kind: TextKind) -> None:
    desk = Desk(PrioritySemaphore(1))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(desk.serve, "first", "document")
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(0):
            await desk.serve("given up", kind)
        nursery.start_soon(desk.serve, "second", "document")
        await trio.testing.wait_all_tasks_blocked()
        desk.go_on.set()
    assert desk.served == ["first", "second"]
    assert "1 free" in repr(desk.semaphore)


@settings(max_examples=60, deadline=None)
@given(
    batches=st.integers(1, 3),
    lanes=st.lists(
        st.tuples(st.sampled_from(["query", "document"]), st.integers(0, 4), st.booleans()), max_size=12
    ),
)
async def test_whoever_comes_and_goes_all_turns_are_there_at_the_end(
    batches: int, lanes: list[tuple[TextKind, int, bool]]
) -> None:
    semaphore = PrioritySemaphore(batches)
    busy = {"query": 0, "document": 0}

    async def lane(kind: TextKind, steps: int, is_cancelled: bool) -> None:
        with trio.CancelScope() as scope:
            async with semaphore.slot(kind):
                busy[kind] += 1
                counted = busy["document"] + (busy["query"] if batches == 1 else 0)
                assert counted <= batches
                try:
                    for _ in range(steps):
                        await trio.lowlevel.checkpoint()
                    if is_cancelled:
                        scope.cancel()
                    await trio.lowlevel.checkpoint()
                finally:
                    busy[kind] -= 1

    async def leave_early(nursery: trio.Nursery, kind: TextKind, steps: int) -> None:
        with trio.CancelScope() as scope:
            nursery.start_soon(cancel_after, scope, steps)
            await lane(kind, steps, False)

    async def cancel_after(scope: trio.CancelScope, steps: int) -> None:
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        scope.cancel()

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            for kind, steps, is_cancelled in lanes:
                nursery.start_soon(lane, kind, steps, is_cancelled)
                nursery.start_soon(leave_early, nursery, kind, steps)
    assert repr(semaphore) == f"<PrioritySemaphore {batches} free, 0 queries and 0 batches wait>"
