"""Tests of accounts: sharing, token counts, pauses, and the priority of queries."""

from __future__ import annotations

import pytest
import trio
import trio.lowlevel
import trio.testing
from hypothesis import given, settings
from hypothesis import strategies as st

from memd.embedding.remote.account import PrioritySemaphore
from memd.embedding.remote.circuit_breaker import ACTION_WINDOW_MS, FIRST_TRANSIENT_WINDOW_MS, QUOTA_WINDOW_MS
from memd.embedding.remote.endpoint import TextKind
from memd_client.errors import (
    ProviderFailedError,
    ProviderModelError,
    ProviderRateLimitedError,
    ProviderReplyError,
    ProviderUnreachableError,
    TextRefusedError,
    TokenBudgetError,
)
from tests.support.logs import capture_logs
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

# --- sharing ----------------------------------------------------------------------------------------


def test_account_is_shared_by_key_and_address() -> None:
    found = accounts()

    assert found.account_for(endpoint(), ACCOUNT_LIMITS) is found.account_for(
        endpoint(model="another"), ACCOUNT_LIMITS
    )
    others = [endpoint(), endpoint(key="other"), endpoint(key=None), endpoint(url="https://b/v1")]
    others += [endpoint(provider="compatible")]
    assert len({found.account_for(other, ACCOUNT_LIMITS).key for other in others}) == len(others)


def test_pause_applies_to_all_models_of_one_account_only() -> None:
    found = accounts()
    fail(
        found.account_for(endpoint(), ACCOUNT_LIMITS),
        ProviderRateLimitedError("429", data={"retry_after_s": 40}),
    )

    with pytest.raises(ProviderRateLimitedError) as refusal:
        found.account_for(endpoint(), ACCOUNT_LIMITS).begin(1, metered=True, model="another")
    assert refusal.value.data == {"retry_after_s": 40}
    spend(found.account_for(endpoint(key="other"), ACCOUNT_LIMITS), 5)


def test_unknown_model_pauses_only_that_model() -> None:
    account = accounts().account_for(endpoint(), ACCOUNT_LIMITS)
    fail(account, ProviderModelError("no such model"), model="wrong")

    assert account.retry_in_s("wrong") == ACTION_WINDOW_MS / 1000
    assert account.retry_in_s("right") == 0
    with pytest.raises(ProviderModelError):
        account.begin(1, metered=True, model="wrong")
    account.begin(1, metered=True, model="right").record_success(1)


def test_trial_with_an_unknown_model_closes_the_accounts_breaker() -> None:
    clock = MovableClock()
    account = accounts(clock).account_for(endpoint(), ACCOUNT_LIMITS)
    fail(account, DOWN)
    clock.move(FIRST_TRANSIENT_WINDOW_MS / 1000)
    fail(account, ProviderModelError("no such model"), model="wrong")

    assert account.retry_in_s("right") == 0


@pytest.mark.parametrize("error", [TextRefusedError("odd"), TokenBudgetError("spent")])
def test_refused_text_and_exhausted_budget_do_not_open_the_breaker(error: ProviderFailedError) -> None:
    clock = MovableClock()
    account = accounts(clock).account_for(endpoint(), ACCOUNT_LIMITS)
    fail(account, error)
    assert account.retry_in_s("m") == 0
    fail(account, DOWN)
    clock.move(FIRST_TRANSIENT_WINDOW_MS / 1000)
    fail(account, error)
    assert account.status().code == ""


def test_success_of_an_earlier_call_does_not_close_the_breaker() -> None:
    clock = MovableClock()
    account = accounts(clock).account_for(endpoint(), ACCOUNT_LIMITS)
    older = account.begin(1, metered=True, model="m")
    fail(account, NO_CREDIT)
    clock.move(QUOTA_WINDOW_MS / 1000 + 5)
    older.record_success(1)
    with account.begin(1, metered=True, model="m") as call:
        assert call.is_trial


# --- calls ------------------------------------------------------------------------------------------


async def test_call_ends_once_and_cancellation_frees_its_trial() -> None:
    clock = MovableClock()
    account = accounts(clock).account_for(endpoint(), ACCOUNT_LIMITS)
    fail(account, DOWN)
    clock.move(FIRST_TRANSIENT_WINDOW_MS / 1000)
    with trio.CancelScope() as scope, account.begin(7, metered=True, model="m") as call:
        assert call.is_trial
        scope.cancel()
        await trio.lowlevel.checkpoint()
    assert account.status().tokens_today == 7, "the provider may have read it"
    call.record_failure(NO_CREDIT)  # already ended: no effect
    with account.begin(7, metered=True, model="m") as call:
        assert call.is_trial
        call.record_success(5)
    assert account.status().state == "ok"
    assert account.status().code == ""
    assert account.status().tokens_today == 12


def test_unusable_reply_is_paid_for_and_missing_reply_is_free() -> None:
    clock = MovableClock()
    account = accounts(clock).account_for(endpoint(), ACCOUNT_LIMITS)
    account.begin(100, metered=True, model="m").record_failure(DOWN)
    clock.move(10)
    account.begin(100, metered=True, model="m").record_failure(ProviderReplyError("garbage"))

    assert account.status().tokens_today == 100
    assert account.status().calls_today == 2


def test_status_has_reason_start_and_end_of_a_pause() -> None:
    clock = MovableClock()
    found = accounts(clock)
    account = found.account_for(endpoint(), ACCOUNT_LIMITS)
    spend(account, 20)
    clock.move(5)
    fail(account, NO_CREDIT)

    (status,) = found.status()

    assert (status.provider, status.state, status.code) == ("openai", "paused", "provider_quota_exhausted")
    assert status.reason == NO_CREDIT.message
    assert (status.since_ms, status.until_ms) == (START_MS + 5000, START_MS + 5000 + QUOTA_WINDOW_MS)
    assert (status.calls_today, status.tokens_today) == (2, 20)
    clock.move(QUOTA_WINDOW_MS / 1000)
    assert found.status()[0].state == "ok", "it may be asked again"


def test_pause_and_resumption_are_logged_once_each() -> None:
    clock = MovableClock()
    account = accounts(clock).account_for(endpoint(), ACCOUNT_LIMITS)
    with capture_logs() as logs:
        calls = [account.begin(1, metered=True, model="m") for _ in range(4)]
        for call in calls:
            call.record_failure(DOWN)
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


def test_short_pause_delays_all_calls_and_ends_even_if_the_clock_is_set_back() -> None:
    clock = MovableClock()
    account = accounts(clock).account_for(endpoint(), ACCOUNT_LIMITS)
    account.note_short_pause(3)
    account.note_short_pause(1)
    assert account.short_pause_left_s() == 3
    clock.move(-1_000_000)
    assert account.short_pause_left_s() <= 8
    clock.move(1_000_003)
    assert account.short_pause_left_s() == 0
    assert account.status().state == "ok"


class SlotRecorder:
    """A user of request slots that records the order of service."""

    def __init__(self, semaphore: PrioritySemaphore) -> None:
        self.semaphore = semaphore
        self.served: list[str] = []
        self.busy = 0
        self.busiest = 0
        self.may_finish = trio.Event()

    async def serve(self, name: str, kind: TextKind) -> None:
        async with self.semaphore.slot(kind):
            self.served.append(name)
            self.busy += kind == "document"
            self.busiest = max(self.busiest, self.busy)
            try:
                await self.may_finish.wait()
            finally:
                self.busy -= kind == "document"


async def test_query_needs_no_slot_if_requests_may_be_concurrent() -> None:
    recorder = SlotRecorder(PrioritySemaphore(2))
    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(recorder.serve, f"batch {number}", "document")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(recorder.serve, "query", "query")
        await trio.testing.wait_all_tasks_blocked()
        assert len(recorder.served) == 3
        assert recorder.served[-1] == "query"
        recorder.may_finish.set()
    assert recorder.busiest == 2
    assert repr(recorder.semaphore) == "<PrioritySemaphore 2 free, 0 queries and 0 batches wait>"


async def test_query_gets_the_next_slot_if_there_is_only_one() -> None:
    recorder = SlotRecorder(PrioritySemaphore(1))
    async with trio.open_nursery() as nursery:
        for number in range(3):
            nursery.start_soon(recorder.serve, f"batch {number}", "document")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(recorder.serve, "query", "query")
        await trio.testing.wait_all_tasks_blocked()
        assert len(recorder.served) == 1
        recorder.may_finish.set()
    assert recorder.served[1] == "query"
    assert recorder.busiest == 1


@pytest.mark.parametrize("kind", ["query", "document"])
async def test_cancelled_waiter_takes_no_slot(kind: TextKind) -> None:
    recorder = SlotRecorder(PrioritySemaphore(1))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(recorder.serve, "first", "document")
        await trio.testing.wait_all_tasks_blocked()
        with trio.move_on_after(0):
            await recorder.serve("given up", kind)
        nursery.start_soon(recorder.serve, "second", "document")
        await trio.testing.wait_all_tasks_blocked()
        recorder.may_finish.set()
    assert recorder.served == ["first", "second"]
    assert "1 free" in repr(recorder.semaphore)


@settings(max_examples=60, deadline=None)
@given(
    batches=st.integers(1, 3),
    calls=st.lists(
        st.tuples(st.sampled_from(["query", "document"]), st.integers(0, 4), st.booleans()), max_size=12
    ),
)
async def test_all_slots_are_free_after_any_use(
    batches: int, calls: list[tuple[TextKind, int, bool]]
) -> None:
    semaphore = PrioritySemaphore(batches)
    busy = {"query": 0, "document": 0}

    async def call(kind: TextKind, steps: int, is_cancelled: bool) -> None:
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

    async def cancel_early(nursery: trio.Nursery, kind: TextKind, steps: int) -> None:
        with trio.CancelScope() as scope:
            nursery.start_soon(cancel_after, scope, steps)
            await call(kind, steps, False)

    async def cancel_after(scope: trio.CancelScope, steps: int) -> None:
        for _ in range(steps):
            await trio.lowlevel.checkpoint()
        scope.cancel()

    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            for kind, steps, is_cancelled in calls:
                nursery.start_soon(call, kind, steps, is_cancelled)
                nursery.start_soon(cancel_early, nursery, kind, steps)
    assert repr(semaphore) == f"<PrioritySemaphore {batches} free, 0 queries and 0 batches wait>"
