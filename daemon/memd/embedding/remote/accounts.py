"""The accounts at all providers, shared by all agents and saved in a JSON file.

Circuit breakers and the day's tokens therefore survive a restart.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import structlog
import trio

from memd.embedding.numbers import clamped_count
from memd.embedding.provider import BatchLimits
from memd.embedding.remote.account import Account
from memd.embedding.remote.circuit_breaker import CircuitBreaker
from memd.embedding.remote.endpoint import Endpoint
from memd.embedding.remote.token_budget import TokenBudget
from memd.system.clock import Clock
from memd.system.state_file import load_whole, replace_whole
from memd_client.reports import AccountStatus

log = structlog.get_logger(__name__)

FORMAT: Final = 1

MAX_FILE_BYTES: Final = 1_000_000
"""The largest valid file: an account takes about 500 bytes."""

WRITE_INTERVAL_S: Final = 1.0
"""The minimum time between writes; a killed process loses the counts of the last second."""

FINAL_WRITE_TIMEOUT_S: Final = 2.0
"""The timeout of the last write while the daemon stops."""

READ_TIMEOUT_S: Final = 5.0
"""The timeout of the read while the daemon starts."""

MAX_UNUSED_ACCOUNTS: Final = 200
"""The number of unused accounts of earlier runs that stay in the file."""


class Accounts:
    """Creates and saves accounts; `run`, which loads them, must be started first."""

    def __init__(self, path: Path | None, clock: Clock, daily_budget: int) -> None:
        self._path = path
        self._clock = clock
        self._budget = TokenBudget(daily_budget, clock)
        self._accounts: dict[str, Account] = {}
        self._earlier: dict[str, Mapping[str, Any]] = {}
        self._changed = trio.Event()
        self._urgent = trio.Event()
        self._is_failing = False

    def __repr__(self) -> str:
        return f"<Accounts {len(self._accounts)} in use, {self._budget!r}>"

    def account_for(self, endpoint: Endpoint, limits: BatchLimits) -> Account:
        """Return the account of an endpoint; the same provider, address and key share one."""
        key = hashlib.sha256(endpoint.account.encode("utf-8", "replace")).hexdigest()[:16]
        if key not in self._accounts:
            account = Account(
                key,
                endpoint.provider,
                limits.concurrency,
                clock=self._clock,
                budget=self._budget,
                on_change=self._note_change,
            )
            account.restore(self._earlier.pop(key, {}))
            self._accounts[key] = account
        return self._accounts[key]

    def status(self) -> list[AccountStatus]:
        """Return the status of every account in use."""
        return [account.status() for account in self._accounts.values()]

    @property
    def tokens_today(self) -> int:
        """Metered tokens bought today (UTC)."""
        return self._budget.spent

    @property
    def daily_budget(self) -> int:
        """Tokens that may be bought in a day, 0 without a limit; can be changed."""
        return self._budget.limit

    @daily_budget.setter
    def daily_budget(self, tokens: int) -> None:
        self._budget.limit = tokens

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Load the file, then save changes until cancelled, and once at the end.

        Reports "started" when the file is loaded. A file that can't be read or written is logged.
        """
        if self._path is None:
            task_status.started()
            await trio.sleep_forever()
        limiter = trio.CapacityLimiter(1)
        await self._load(self._path, limiter)
        task_status.started()
        try:
            while True:
                await self._changed.wait()
                await self._save(self._path, limiter)
                with trio.move_on_after(WRITE_INTERVAL_S):
                    await self._urgent.wait()
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + FINAL_WRITE_TIMEOUT_S):
                if self._changed.is_set():
                    await self._save(self._path, limiter)

    def _note_change(self, is_urgent: bool) -> None:
        self._changed.set()
        if is_urgent:
            self._urgent.set()

    async def _load(self, path: Path, limiter: trio.CapacityLimiter) -> None:
        try:
            with trio.fail_after(READ_TIMEOUT_S):
                document = await trio.to_thread.run_sync(
                    load_records, path, abandon_on_cancel=True, limiter=limiter
                )
        except (OSError, ValueError, trio.TooSlowError) as error:
            log.warning("embedding.accounts_unreadable", path=str(path), error=_reason(error))
            return
        self._budget.restore(clamped_count(document.get("day")), clamped_count(document.get("spent")))
        records = document.get("accounts")
        for key, record in records.items() if isinstance(records, dict) else ():
            if not isinstance(record, dict):
                continue
            if key in self._accounts:
                self._accounts[key].restore(record)
            else:
                self._earlier[key] = _valid_parts(record)

    async def _save(self, path: Path, limiter: trio.CapacityLimiter) -> None:
        self._changed, self._urgent = trio.Event(), trio.Event()
        earlier = [(key, record) for key, record in self._earlier.items() if self._is_worth_keeping(record)]
        records: dict[str, Any] = dict(earlier[-MAX_UNUSED_ACCOUNTS:])
        records |= {key: account.to_record() for key, account in self._accounts.items()}
        document = {"day": self._budget.day, "spent": self._budget.spent, "accounts": records}
        try:
            await trio.to_thread.run_sync(
                replace_records, path, document, abandon_on_cancel=True, limiter=limiter
            )
            self._is_failing = False
        except trio.Cancelled:
            self._changed.set()  # the write may be incomplete
            raise
        except OSError as error:
            if not self._is_failing:
                log.warning("embedding.accounts_unsaved", path=str(path), error=_reason(error))
            self._is_failing = True

    def _is_worth_keeping(self, record: Mapping[str, Any]) -> bool:
        """Return whether an unused account has tokens of today or an open circuit breaker."""
        if record.get("day") == self._budget.day:
            return True
        now_ms = self._clock()
        breakers = [record["breaker"], *record["models"].values()]
        return any(CircuitBreaker.from_record(breaker).retry_in_ms(now_ms) > 0 for breaker in breakers)


def _valid_parts(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the valid parts of a record."""
    models = record.get("models")
    breakers = {
        str(name): CircuitBreaker.from_record(breaker).to_record()
        for name, breaker in (models.items() if isinstance(models, dict) else ())
    }
    return {
        "provider": provider[:100] if isinstance(provider := record.get("provider"), str) else "",
        "day": clamped_count(record.get("day")),
        "calls": clamped_count(record.get("calls")),
        "tokens": clamped_count(record.get("tokens")),
        "breaker": CircuitBreaker.from_record(record.get("breaker")).to_record(),
        "models": {name: breaker for name, breaker in breakers.items() if breaker},
    }


def _reason(error: Exception) -> str:
    """Return the cause, without contents of the file."""
    if isinstance(error, OSError):
        return error.strerror or "unknown"
    return "timed out" if isinstance(error, trio.TooSlowError) else "not a valid accounts file"


# --- the file; these functions block ------------------------------------


def load_records(path: Path) -> dict[str, Any]:
    """Return the file's contents; empty if it doesn't exist."""
    try:
        body = load_whole(path, MAX_FILE_BYTES, through_link=True)
    except FileNotFoundError:
        return {}
    try:
        value = json.loads(body)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise ValueError("unknown format")
    return value


def replace_records(path: Path, records: Mapping[str, Any]) -> None:
    """Replace the file without fsync: a power cut costs one call at most."""
    replace_whole(path, json.dumps({"format": FORMAT, **records}, indent=1).encode("ascii"))
