"""Tests of saved accounts: restarts, crashes, invalid files, and secrecy."""

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

from memd.embedding.remote.circuit_breaker import ACTION_WINDOW_MS, QUOTA_WINDOW_MS
from memd.embedding.remote.token_budget import DAY_MS
from memd.embedding.secret import Secret
from memd_client.errors import (
    ProviderAuthError,
    ProviderModelError,
    ProviderQuotaError,
    TokenBudgetError,
)
from tests.support.logs import capture_logs
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
        spend(found.account_for(endpoint(), ACCOUNT_LIMITS), 30)
        fail(found.account_for(endpoint(key="broke"), ACCOUNT_LIMITS), NO_CREDIT)
        fail(
            found.account_for(endpoint(), ACCOUNT_LIMITS), ProviderModelError("no such model"), model="wrong"
        )
    clock.move(60)
    async with running(path, clock, 100) as found:
        assert found.tokens_today == 30
        account = found.account_for(endpoint(), ACCOUNT_LIMITS)
        assert account.status().tokens_today == 30
        assert account.status().calls_today == 2
        assert account.retry_in_s("wrong") == ACTION_WINDOW_MS / 1000 - 60
        spend(account, 10)
        broke = found.account_for(endpoint(key="broke"), ACCOUNT_LIMITS)
        with pytest.raises(ProviderQuotaError, match="next try in 29 min"):
            broke.begin(1, metered=True)
    clock.move(QUOTA_WINDOW_MS / 1000)
    async with running(path, clock, 100) as found:
        assert found.tokens_today == 40
        with found.account_for(endpoint(key="broke"), ACCOUNT_LIMITS).begin(1, metered=True) as call:
            assert call.is_trial
            call.record_failure(NO_CREDIT)
        assert found.account_for(endpoint(key="broke"), ACCOUNT_LIMITS).retry_in_s() == QUOTA_WINDOW_MS / 1000
    clock.move(DAY_MS / 1000)
    async with running(path, clock, 100) as found:
        assert found.tokens_today == 0
        assert found.account_for(endpoint(), ACCOUNT_LIMITS).status().tokens_today == 0


async def test_unused_accounts_keep_their_pause_over_several_restarts(tmp_path: Path) -> None:
    path, clock = tmp_path / "accounts.json", MovableClock()
    async with running(path, clock) as found:
        fail(found.account_for(endpoint(), ACCOUNT_LIMITS), NO_CREDIT)
    for number in range(3):
        async with running(path, clock) as found:
            spend(found.account_for(endpoint(key=f"other {number}"), ACCOUNT_LIMITS), 1)
    async with running(path, clock) as found:
        assert found.account_for(endpoint(), ACCOUNT_LIMITS).retry_in_s() == QUOTA_WINDOW_MS / 1000
    clock.move(3 * DAY_MS / 1000)
    async with running(path, clock) as found:
        spend(found.account_for(endpoint(key="new"), ACCOUNT_LIMITS), 1)
    assert len(json.loads(path.read_text())["accounts"]) == 1, "what says nothing any more is dropped"


async def test_trial_of_a_killed_process_is_not_repeated(tmp_path: Path) -> None:
    path, clock = tmp_path / "accounts.json", MovableClock()
    async with running(path, clock) as found:
        account = found.account_for(endpoint(), ACCOUNT_LIMITS)
        fail(account, NO_CREDIT)
        clock.move(QUOTA_WINDOW_MS / 1000)
        account.begin(1, metered=True)
    async with running(path, clock) as found:
        assert found.account_for(endpoint(), ACCOUNT_LIMITS).retry_in_s() == QUOTA_WINDOW_MS / 1000


async def test_counts_are_written_once_a_second_at_most(tmp_path: Path) -> None:
    path, clock = tmp_path / "accounts.json", MovableClock()
    async with running(path, clock) as found:
        account = found.account_for(endpoint(), ACCOUNT_LIMITS)
        spend(account, 1)
        await until(path.exists)
        first = path.stat().st_ino
        for _ in range(50):
            spend(account, 1)
            await trio.lowlevel.checkpoint()
        assert path.stat().st_ino == first
    assert json.loads(path.read_text())["spent"] == 51, "and once more at the end"


async def test_file_is_private_and_has_no_key_or_address(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "memory" / "accounts.json"
    async with running(path, MovableClock()) as found:
        fail(found.account_for(endpoint(), ACCOUNT_LIMITS), ProviderAuthError("openai answered 401"))
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
async def test_invalid_file_is_logged_and_replaced(tmp_path: Path, body: bytes) -> None:
    path = tmp_path / "accounts.json"
    path.write_bytes(body)
    with capture_logs() as logs:
        async with running(path, MovableClock()) as found:
            spend(found.account_for(endpoint(), ACCOUNT_LIMITS), 3)
    assert [entry["event"] for entry in logs] == ["embedding.accounts_unreadable"]
    assert json.loads(path.read_text())["spent"] == 3


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)


@given(
    top=st.dictionaries(st.sampled_from(["day", "spent", "accounts"]), VALUES),
    record=st.dictionaries(st.sampled_from(["provider", "day", "calls", "tokens", "breaker"]), VALUES),
)
async def test_any_values_in_a_file_leave_usable_accounts(
    tmp_path_factory: pytest.TempPathFactory, top: dict[str, Any], record: dict[str, Any]
) -> None:
    clock = MovableClock()
    path = tmp_path_factory.mktemp("odd") / "accounts.json"
    key = accounts(clock).account_for(endpoint(), ACCOUNT_LIMITS).key
    path.write_text(json.dumps({"format": 1, "accounts": {key: record, "x": record}, **top}))
    async with running(path, clock) as found:
        account = found.account_for(endpoint(), ACCOUNT_LIMITS)
        clock.move(2 * DAY_MS / 1000)  # longer than any window
        spend(account, 3)
        assert account.status().tokens_today == 3
        assert found.tokens_today == 3
    assert json.loads(path.read_text())["spent"] == 3


async def test_write_errors_are_logged_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with capture_logs() as logs:
        async with running(tmp_path / "file" / "accounts.json", MovableClock()) as found:
            spend(found.account_for(endpoint(), ACCOUNT_LIMITS), 3)
            await until(lambda: len(logs) == 2)
            spend(found.account_for(endpoint(), ACCOUNT_LIMITS), 3)  # the last write fails as well
            assert found.tokens_today == 6
    assert [entry["event"] for entry in logs] == [
        "embedding.accounts_unreadable",
        "embedding.accounts_unsaved",
    ]


async def test_leftover_temporary_file_or_link_is_replaced(
    tmp_path: Path,
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    (tmp_path / "accounts.json.tmp").symlink_to(elsewhere)
    async with running(tmp_path / "accounts.json", MovableClock()) as found:
        spend(found.account_for(endpoint(), ACCOUNT_LIMITS), 3)
    assert elsewhere.read_text() == "mine"
    assert json.loads((tmp_path / "accounts.json").read_text())["spent"] == 3
    assert sorted(os.listdir(tmp_path)) == ["accounts.json", "elsewhere"]


async def test_without_a_path_nothing_is_saved_and_the_budget_can_change() -> None:
    found = accounts(budget=10)
    async with trio.open_nursery() as nursery:
        await nursery.start(found.run)
        with pytest.raises(TokenBudgetError):
            found.account_for(endpoint(), ACCOUNT_LIMITS).begin(11, metered=True)
        found.daily_budget = 20
        found.account_for(endpoint(), ACCOUNT_LIMITS).begin(11, metered=True).record_success(11)
        nursery.cancel_scope.cancel()
    assert found.daily_budget == 20
