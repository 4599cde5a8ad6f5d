"""What is known of accounts outlives a restart, a crash and a garbage file, and gives nothing away."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.lowlevel
import trio.testing
from hypothesis import given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from memd.embedding.remote.circuit_breaker import QUOTA_MS, REFUSED_MS
from memd.embedding.remote.token_budget import DAY_MS
from memd.embedding.secret import Secret
from memd_client.errors import (
    ProviderAuthError,
    ProviderModelError,
    ProviderQuotaError,
    TokenBudgetError,
)
from tests.support.remote_fixture import (
    ACCOUNT_KEY,
    ACCOUNT_LIMITS,
    NO_CREDIT,
    MovableClock,
    accounts,
    endpoint,
    fail,
    running,
    spend,
    until,
)

# --- the file ---------------------------------------------------------------------------------------


async def test_breaker_counts_and_budget_survive_a_restart(tmp_path: Path) -> None:
    path, clock = tmp_path / "memory" / "accounts.json", MovableClock()
    async with running(path, clock, 100) as found:
        spend(found.of(endpoint(), ACCOUNT_LIMITS), 30)
        fail(found.of(endpoint(key="broke"), ACCOUNT_LIMITS), NO_CREDIT)
        fail(found.of(endpoint(), ACCOUNT_LIMITS), ProviderModelError("no such model"), model="wrong")
    clock.move(60)
    async with running(path, clock, 100) as found:
        assert found.tokens_today == 30
        account = found.of(endpoint(), ACCOUNT_LIMITS)
        assert account.status().tokens_today == 30
        assert account.status().calls_today == 2
        assert account.retry_in_s("wrong") == REFUSED_MS / 1000 - 60
        spend(account, 10)
        broke = found.of(endpoint(key="broke"), ACCOUNT_LIMITS)
        with pytest.raises(ProviderQuotaError, match="asked again in 29 min"):
            broke.begin(1, metered=True)
    clock.move(QUOTA_MS / 1000)
    async with running(path, clock, 100) as found:
        assert found.tokens_today == 40
        with found.of(endpoint(key="broke"), ACCOUNT_LIMITS).begin(1, metered=True) as call:
            assert call.is_trial
            call.failed(NO_CREDIT)
        assert found.of(endpoint(key="broke"), ACCOUNT_LIMITS).retry_in_s() == QUOTA_MS / 1000
    clock.move(DAY_MS / 1000)
    async with running(path, clock, 100) as found:
        assert found.tokens_today == 0
        assert found.of(endpoint(), ACCOUNT_LIMITS).status().tokens_today == 0


async def test_accounts_nobody_uses_keep_their_pause_over_several_restarts(tmp_path: Path) -> None:
    path, clock = tmp_path / "accounts.json", MovableClock()
    async with running(path, clock) as found:
        fail(found.of(endpoint(), ACCOUNT_LIMITS), NO_CREDIT)
    for number in range(3):
        async with running(path, clock) as found:
            spend(found.of(endpoint(key=f"other {number}"), ACCOUNT_LIMITS), 1)
    async with running(path, clock) as found:
        assert found.of(endpoint(), ACCOUNT_LIMITS).retry_in_s() == QUOTA_MS / 1000
    clock.move(3 * DAY_MS / 1000)
    async with running(path, clock) as found:
        spend(found.of(endpoint(key="new"), ACCOUNT_LIMITS), 1)
    assert len(json.loads(path.read_text())["accounts"]) == 1, "what says nothing any more is dropped"


def test_a_long_pause_and_its_trial_are_on_disk_before_anything_else_happens(tmp_path: Path) -> None:
    async def test() -> None:
        path, clock = tmp_path / "accounts.json", MovableClock()

        def on_disk() -> Any:
            found = json.loads(path.read_text()) if path.exists() else {"accounts": {"": {"breaker": {}}}}
            return next(iter(found["accounts"].values()))["breaker"]

        async with running(path, clock) as found:
            account = found.of(endpoint(), ACCOUNT_LIMITS)
            spend(account, 1)
            await until(path.exists)
            fail(account, NO_CREDIT)
            await until(lambda: on_disk().get("code") == "provider_quota_exhausted")
            clock.move(QUOTA_MS / 1000)
            trial = account.begin(1, metered=True)
            await until(lambda: on_disk().get("trial_ms") == clock.now_ms)
            # a process that is killed here has made its call: the next one doesn't make it again
            killed = accounts(clock, 0, path)
            async with trio.open_nursery() as nursery:
                await nursery.start(killed.run)
                assert killed.of(endpoint(), ACCOUNT_LIMITS).retry_in_s() == QUOTA_MS / 1000
                nursery.cancel_scope.cancel()
            trial.abandoned()

    trio.run(test, clock=trio.testing.MockClock())  # it stands still: nothing waits for the next second


async def test_counts_are_written_once_a_second_at_most(tmp_path: Path) -> None:
    path, clock = tmp_path / "accounts.json", MovableClock()
    async with running(path, clock) as found:
        account = found.of(endpoint(), ACCOUNT_LIMITS)
        spend(account, 1)
        await until(path.exists)
        first = path.stat().st_ino
        for _ in range(50):
            spend(account, 1)
            await trio.lowlevel.checkpoint()
        assert path.stat().st_ino == first
    assert json.loads(path.read_text())["spent"] == 51, "and once more at the end"


async def test_the_file_is_the_owners_alone_and_holds_no_key_and_no_address(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "memory" / "accounts.json"
    async with running(path, MovableClock()) as found:
        fail(found.of(endpoint(), ACCOUNT_LIMITS), ProviderAuthError("openai answered 401"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["accounts.json"]
    body = path.read_text()
    for secret in (ACCOUNT_KEY, "pass-word", "api.example", Secret(ACCOUNT_KEY).fingerprint()):
        assert secret not in body
        assert secret not in repr(found)


@pytest.mark.parametrize(
    "body",
    [b"", b"\0" * 100, b"{", b"[]", b'{"format": 7}', b"[" * 100_000, b"9" * 10_000, b" " * 1_100_000],
    ids=["empty", "zeros", "cut", "list", "newer", "nested", "number", "giant"],
)
async def test_a_garbage_file_is_logged_replaced_and_costs_nothing_else(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "accounts.json"
    path.write_bytes(body)
    with capture_logs() as logs:
        async with running(path, MovableClock()) as found:
            spend(found.of(endpoint(), ACCOUNT_LIMITS), 3)
    assert [entry["event"] for entry in logs] == ["embedding.accounts_unreadable"]
    assert json.loads(path.read_text())["spent"] == 3


async def test_what_makes_no_sense_is_not_written_again_however_deep_it_is(tmp_path: Path) -> None:
    path, clock = tmp_path / "accounts.json", MovableClock()
    deep = "[" * 900 + "]" * 900
    today = clock() // DAY_MS
    record = f'{{"day": {today}, "calls": 4, "odd": {deep}, "provider": {deep}, "models": {{"m": {deep}}}}}'
    path.write_text(f'{{"format": 1, "accounts": {{"earlier": {record}}}}}')
    async with running(path, clock) as found:
        spend(found.of(endpoint(), ACCOUNT_LIMITS), 3)
    kept = json.loads(path.read_text())["accounts"]["earlier"]
    assert set(kept) == {"provider", "day", "calls", "tokens", "breaker", "models"}
    assert (kept["day"], kept["calls"], kept["models"]) == (today, 4, {})


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)


@given(
    top=st.dictionaries(st.sampled_from(["day", "spent", "accounts"]), VALUES),
    record=st.dictionaries(
        st.sampled_from(["provider", "day", "calls", "tokens", "breaker", "models"]), VALUES
    ),
)
async def test_a_file_with_odd_values_is_taken_as_far_as_it_makes_sense(
    tmp_path_factory: pytest.TempPathFactory, top: dict[str, Any], record: dict[str, Any]
) -> None:
    clock = MovableClock()
    path = tmp_path_factory.mktemp("odd") / "accounts.json"
    key = accounts(clock).of(endpoint(), ACCOUNT_LIMITS).key
    path.write_text(json.dumps({"format": 1, "accounts": {key: record, "x": record}, **top}))
    async with running(path, clock) as found:
        account = found.of(endpoint(), ACCOUNT_LIMITS)
        clock.move(2 * DAY_MS / 1000)
        spend(account, 3)
        assert account.status().tokens_today == 3
        assert found.tokens_today == 3
    assert json.loads(path.read_text())["spent"] == 3


async def test_a_disk_that_can_not_be_written_is_logged_once_and_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with capture_logs() as logs:
        async with running(tmp_path / "file" / "accounts.json", MovableClock()) as found:
            spend(found.of(endpoint(), ACCOUNT_LIMITS), 3)
            await until(lambda: len(logs) == 2)
            spend(found.of(endpoint(), ACCOUNT_LIMITS), 3)  # written at the end, in vain again
            assert found.tokens_today == 6
    assert [entry["event"] for entry in logs] == [
        "embedding.accounts_unreadable",
        "embedding.accounts_unsaved",
    ]


async def test_a_temporary_file_or_link_that_was_left_behind_is_replaced_and_not_followed(
    tmp_path: Path,
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (tmp_path / "accounts.json.tmp").symlink_to(elsewhere)
    async with running(tmp_path / "accounts.json", MovableClock()) as found:
        spend(found.of(endpoint(), ACCOUNT_LIMITS), 3)
    assert elsewhere.read_text() == "mine"
    assert json.loads((tmp_path / "accounts.json").read_text())["spent"] == 3
    assert sorted(os.listdir(tmp_path)) == ["accounts.json", "elsewhere"]


async def test_without_a_path_nothing_is_kept_and_the_budget_may_be_changed_meanwhile() -> None:
    found = accounts(budget=10)
    async with trio.open_nursery() as nursery:
        await nursery.start(found.run)
        with pytest.raises(TokenBudgetError):
            found.of(endpoint(), ACCOUNT_LIMITS).begin(11, metered=True)
        found.daily_budget = 20
        found.of(endpoint(), ACCOUNT_LIMITS).begin(11, metered=True).succeeded(11)
        nursery.cancel_scope.cancel()
    assert found.daily_budget == 20
