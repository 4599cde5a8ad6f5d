"""All accounts at providers: one each, shared by all agents, remembered over restarts.

A restart must not ask a provider that said to wait, and must not open the day's purse again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import structlog
import trio

from memd.embedding.numbers import clamped_count
from memd.embedding.provider import BatchLimits
from memd.embedding.remote.account import Account as Account
from memd.embedding.remote.account import Call as Call
from memd.embedding.remote.accounts_file import load_records, replace_records
from memd.embedding.remote.breaker import Breaker
from memd.embedding.remote.budget import Budget
from memd.embedding.remote.providers.api import Endpoint
from memd.system.clock import Clock
from memd_client.reports import AccountStatus

log = structlog.get_logger(__name__)

WRITE_INTERVAL_S: Final = 1.0
"""Counts change with every call; what is lost with a killed process is a second of them."""

LAST_WRITE_S: Final = 2.0
"""How long a daemon that stops waits for a disk that hangs."""

READ_S: Final = 5.0
"""How long a daemon that starts waits for it."""

MOST_REMEMBERED: Final = 200
"""Accounts of earlier runs that are kept in the file: more than anybody has."""


class Accounts:
    """Makes and remembers accounts.

    Resources: `run` has to have started before the first call, else that call knows nothing of an earlier run.
    """

    def __init__(self, path: Path | None, clock: Clock, daily_budget: int) -> None:
        self._path = path
        self._clock = clock
        self._budget = Budget(daily_budget, clock)
        self._accounts: dict[str, Account] = {}
        self._earlier: dict[str, Mapping[str, Any]] = {}
        self._changed = trio.Event()
        self._urgent = trio.Event()
        self._is_failing = False

    def __repr__(self) -> str:
        return f"<Accounts {len(self._accounts)} in use, {self._budget!r}>"

    def of(self, endpoint: Endpoint, limits: BatchLimits) -> Account:
        """Return the account an endpoint uses, the same one for the same provider, address and key."""
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
        """Return every account in use, as status shows it."""
        return [account.status() for account in self._accounts.values()]

    @property
    def tokens_today(self) -> int:
        """Tokens bought today (UTC), where tokens cost money."""
        return self._budget.spent

    @property
    def daily_budget(self) -> int:
        """Tokens that may be bought in a day; 0 without a limit. May be set while calls are under way."""
        return self._budget.limit

    @daily_budget.setter
    def daily_budget(self, tokens: int) -> None:
        """Allow another number from now on."""
        self._budget.limit = tokens

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Read what an earlier run knew, then write what changes until cancelled, and once more at the end.

        Started when the file was read. A file that can't be read or written is logged and costs nothing else.
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
            with trio.CancelScope(shield=True, deadline=trio.current_time() + LAST_WRITE_S):
                if self._changed.is_set():
                    await self._save(self._path, limiter)

    def _note_change(self, is_urgent: bool) -> None:
        self._changed.set()
        if is_urgent:
            self._urgent.set()

    async def _load(self, path: Path, limiter: trio.CapacityLimiter) -> None:
        """Take over what the file holds."""
        try:
            with trio.fail_after(READ_S):
                found = await trio.to_thread.run_sync(
                    load_records, path, abandon_on_cancel=True, limiter=limiter
                )
        except (OSError, ValueError, trio.TooSlowError) as error:
            log.warning("embedding.accounts_unreadable", path=str(path), error=_why(error))
            return
        self._budget.restore(clamped_count(found.get("day")), clamped_count(found.get("spent")))
        records = found.get("accounts")
        for key, record in records.items() if isinstance(records, dict) else ():
            if not isinstance(record, dict):
                continue
            if key in self._accounts:
                self._accounts[key].restore(record)
            else:
                self._earlier[key] = _tidy(record)

    async def _save(self, path: Path, limiter: trio.CapacityLimiter) -> None:
        """Write what is known now."""
        self._changed, self._urgent = trio.Event(), trio.Event()
        earlier = [(key, record) for key, record in self._earlier.items() if self._is_worth_keeping(record)]
        records: dict[str, Any] = dict(earlier[-MOST_REMEMBERED:])
        records |= {key: account.to_record() for key, account in self._accounts.items()}
        found = {"day": self._budget.day, "spent": self._budget.spent, "accounts": records}
        try:
            await trio.to_thread.run_sync(
                replace_records, path, found, abandon_on_cancel=True, limiter=limiter
            )
            self._is_failing = False
        except trio.Cancelled:
            self._changed.set()  # nobody knows whether it was written
            raise
        except OSError as error:
            if not self._is_failing:
                log.warning("embedding.accounts_unsaved", path=str(path), error=_why(error))
            self._is_failing = True

    def _is_worth_keeping(self, record: Mapping[str, Any]) -> bool:
        """Return whether the record of an account nobody uses says anything that still holds."""
        if record.get("day") == self._budget.day:
            return True
        now_ms = self._clock()
        doors = [record["breaker"], *record["models"].values()]
        return any(Breaker.from_record(door).retry_in_ms(now_ms) > 0 for door in doors)


def _tidy(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what makes sense of a record, so that nothing else is written again."""
    models = record.get("models")
    doors = {
        str(name): Breaker.from_record(door).to_record()
        for name, door in (models.items() if isinstance(models, dict) else ())
    }
    return {
        "provider": provider[:100] if isinstance(provider := record.get("provider"), str) else "",
        "day": clamped_count(record.get("day")),
        "calls": clamped_count(record.get("calls")),
        "tokens": clamped_count(record.get("tokens")),
        "breaker": Breaker.from_record(record.get("breaker")).to_record(),
        "models": {name: door for name, door in doors.items() if door},
    }


def _why(error: Exception) -> str:
    """Return a sentence about a file that can't be used; never what is in it."""
    if isinstance(error, OSError):
        return error.strerror or "unknown"
    return "it did not answer in time" if isinstance(error, trio.TooSlowError) else "it holds something else"
