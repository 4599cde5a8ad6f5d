"""The accounts at all providers, shared by all agents and saved in a JSON file.

Circuit breakers and the day's tokens therefore survive a restart.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import msgspec
import trio

from memd.embedding.provider import BatchLimits
from memd.embedding.remote.account import Account, AccountRecord
from memd.embedding.remote.circuit_breaker import Count
from memd.embedding.remote.endpoint import Endpoint
from memd.embedding.remote.token_budget import TokenBudget
from memd.system.clock import Clock
from memd.system.log import log
from memd.system.state_file import load_whole, replace_whole
from memd_client.reports import AccountStatus

FORMAT: Final = 1

MAX_FILE_BYTES: Final = 1_000_000
"""The largest valid file: an account takes about 500 bytes."""

WRITE_INTERVAL_S: Final = 1.0
"""The minimum time between writes; a killed process loses the changes of the last second."""

FINAL_WRITE_TIMEOUT_S: Final = 2.0
"""The timeout of the last write while the daemon stops."""

READ_TIMEOUT_S: Final = 5.0
"""The timeout of the read while the daemon starts."""

MAX_UNUSED_ACCOUNTS: Final = 200
"""The number of unused accounts of earlier runs that stay in the file."""


class AccountsFile(msgspec.Struct):
    """The contents of the file: the tokens that all accounts bought on a day, and the accounts by key."""

    format: int
    day: Count = 0
    spent: Count = 0
    accounts: dict[str, AccountRecord] = {}


class Accounts:
    """Creates and saves accounts; `run`, which loads them, must be started first."""

    def __init__(self, path: Path | None, clock: Clock, daily_budget: int) -> None:
        self._path = path
        self._clock = clock
        self._budget = TokenBudget(daily_budget, clock)
        self._accounts: dict[str, Account] = {}
        self._records: dict[str, AccountRecord] = {}
        self._changed = trio.Event()
        self._is_failing = False

    def __repr__(self) -> str:
        return f"<Accounts {len(self._accounts)} in use, {self._budget!r}>"

    def account_for(self, endpoint: Endpoint, limits: BatchLimits) -> Account:
        """Return the account of an endpoint; the same provider, address and key share one."""
        key = hashlib.sha256(endpoint.account.encode("utf-8", "replace")).hexdigest()[:16]
        if key not in self._accounts:
            self._accounts[key] = Account(
                key,
                self._records.setdefault(key, AccountRecord(endpoint.provider)),
                limits.concurrency,
                clock=self._clock,
                budget=self._budget,
                on_change=lambda: self._changed.set(),
            )
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
                await trio.sleep(WRITE_INTERVAL_S)
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + FINAL_WRITE_TIMEOUT_S):
                if self._changed.is_set():
                    await self._save(self._path, limiter)

    async def _load(self, path: Path, limiter: trio.CapacityLimiter) -> None:
        try:
            with trio.fail_after(READ_TIMEOUT_S):
                document = await trio.to_thread.run_sync(
                    load_records, path, abandon_on_cancel=True, limiter=limiter
                )
        except (OSError, ValueError, trio.TooSlowError) as error:
            log.warning("embedding.accounts_unreadable", path=str(path), error=_reason(error))
            return
        self._budget.add(document.spent, document.day)
        self._records = document.accounts
        for record in self._records.values():
            record.breaker.is_trying = False

    async def _save(self, path: Path, limiter: trio.CapacityLimiter) -> None:
        self._changed = trio.Event()
        unused = [key for key in self._records if key not in self._accounts]
        forgotten = {key for key in unused if not self._is_worth_keeping(self._records[key])}
        for key in forgotten.union(unused[:-MAX_UNUSED_ACCOUNTS]):
            del self._records[key]
        document = AccountsFile(FORMAT, self._budget.day, self._budget.spent, self._records)
        body = msgspec.json.format(msgspec.json.encode(document), indent=1)
        try:
            await trio.to_thread.run_sync(replace_whole, path, body, abandon_on_cancel=True, limiter=limiter)
            self._is_failing = False
        except trio.Cancelled:
            self._changed.set()  # the write may be incomplete
            raise
        except OSError as error:
            if not self._is_failing:
                log.warning("embedding.accounts_unsaved", path=str(path), error=_reason(error))
            self._is_failing = True

    def _is_worth_keeping(self, record: AccountRecord) -> bool:
        """Return whether an unused account has tokens of today or an open circuit breaker."""
        return record.day == self._budget.day or record.breaker.retry_in_ms(self._clock()) > 0


def _reason(error: Exception) -> str:
    """Return the cause, without contents of the file."""
    if isinstance(error, OSError):
        return error.strerror or "unknown"
    return "timed out" if isinstance(error, trio.TooSlowError) else "not a valid accounts file"


def load_records(path: Path) -> AccountsFile:
    """Return the file's contents; empty if it doesn't exist. Blocks."""
    try:
        document = msgspec.json.decode(load_whole(path, MAX_FILE_BYTES), type=AccountsFile)
    except FileNotFoundError:
        return AccountsFile(FORMAT)
    except RecursionError:
        raise ValueError("nested too deep") from None
    if document.format != FORMAT:
        raise ValueError("unknown format")
    return document
