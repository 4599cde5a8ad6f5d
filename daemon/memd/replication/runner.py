"""When one replica syncs: after changes here, after searches, in intervals, and with a back-off after failures."""

from __future__ import annotations

import math
import random
from typing import Final

import trio

from memd.replication.replica import Replica, SyncReport
from memd.system.back_off import back_off_s
from memd.system.clock import Clock
from memd.system.log import log
from memd_client.errors import MemdError, RemoteRefusedError, RemoteRewrittenError, RemoteUnreachableError

INTERVAL_S: Final = 300.0
"""Interval of syncs while nothing happens."""

ACTIVE_INTERVAL_S: Final = 2.0
"""Shortest time between two looks at the remote while the agent is used."""

OFFLINE_INTERVAL_S: Final = 3.0
"""The same after a failure."""

BACKOFF_S, MAX_BACKOFF_S = 2.0, 300.0
"""Back-off after a failure: doubles from the first to the second value."""

OFFLINE_REASONS: Final = ("offline", "contention")
"""Reasons of an unreachable remote that end without action of a person."""

JITTER: Final = 0.1
"""Share by which waits differ, so that machines don't ask a server at the same moment."""


class ReplicaRunner:
    """Syncs one replica until stopped; `slots` limits the syncs of all replicas.

    Attributes:
        problem: Why the last sync failed, or None.
        last_sync_ms: When a sync last succeeded, in epoch milliseconds.
        is_paused: Whether syncs are paused.
    """

    def __init__(
        self,
        replica: Replica,
        clock: Clock,
        slots: trio.CapacityLimiter,
        *,
        is_paused: bool = False,
    ) -> None:
        self.replica = replica
        self.problem: MemdError | None = None
        self.last_sync_ms: int | None = None
        self.is_paused = is_paused
        self._clock = clock
        self._slots = slots
        self._failures = 0
        self._looked_s = float("-inf")
        self._due_s = 0.0
        self._scan_s = float("inf")
        self._woken = trio.Event()
        self._look: trio.Event | None = None
        self._scope = trio.CancelScope()
        self._ended = trio.Event()

    def __repr__(self) -> str:
        return f"<ReplicaRunner of {self.replica!r}, {self.state}>"

    @property
    def state(self) -> str:
        """One word for the status."""
        if self.is_paused:
            return "paused"
        if self.replica.view.question is not None:
            return "held"
        if isinstance(self.problem, RemoteUnreachableError):
            return "offline" if self.problem.data.get("reason") in OFFLINE_REASONS else "failed"
        if isinstance(self.problem, RemoteRefusedError | RemoteRewrittenError):
            return "refused"
        if self.problem is not None:
            return "failed"
        return "pending" if self.replica.view.ahead or self.replica.next_scan_s() is not None else "ok"

    @property
    def next_sync_ms(self) -> int | None:
        """When the next sync is due, in epoch milliseconds; now while one runs, None while paused."""
        if self.is_paused:
            return None
        wait_s = self._due_s - trio.current_time()
        return self._clock() + (max(0, int(wait_s * 1000)) if math.isfinite(wait_s) else 0)

    # --- triggers -------------------------------------------------------------------------------------

    def on_change(self) -> None:
        """Look at the workspace now: something may have changed."""
        self._scan_s = trio.current_time()
        self._woken.set()

    def on_activity(self) -> trio.Event | None:
        """Look at the remote soon: the agent is being used.

        Returns:
            What is set once a look that begins now or is under way has ended; None if there is none.
        """
        spacing_s = OFFLINE_INTERVAL_S if self._failures else ACTIVE_INTERVAL_S
        self._advance(max(trio.current_time(), self._looked_s + spacing_s))
        if self._look is None and self._due_s <= trio.current_time():
            self._look = trio.Event()
        return None if self.is_paused or self._failures else self._look

    def on_network(self) -> None:
        """Look at the remote now: the network changed."""
        self._failures = 0
        self._advance(trio.current_time())

    def resume(self) -> None:
        """End a pause."""
        self.is_paused = False
        self._due_s = min(self._due_s, trio.current_time())
        self._woken.set()

    def _advance(self, due_s: float) -> None:
        if due_s < self._due_s:
            self._due_s = due_s
            self._woken.set()

    # --- syncs ----------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Sync until stopped or cancelled, and close the replica then."""
        with self._scope:
            try:
                await self._run()
            finally:
                self.replica.close()
                self._ended.set()

    async def stop(self) -> None:
        """End `run` and wait until the replica is closed."""
        self._scope.cancel()
        await self._ended.wait()

    async def _run(self) -> None:
        while True:
            now_s = trio.current_time()
            next_s = float("inf") if self.is_paused else min(self._due_s, self._scan_s)
            if now_s < next_s:
                self._woken = trio.Event()
                with trio.move_on_at(next_s):
                    await self._woken.wait()
                continue
            await self._once(is_full=self._due_s <= now_s)

    async def sync(self, *, accept_rewrite: bool = False) -> SyncReport:
        """Sync now, with changes of the last moment; raise why it failed."""
        try:
            async with self._slots:
                report = await self.replica.sync(accept_rewrite=accept_rewrite, settle=True)
        except MemdError as error:
            self._failed(error)
            raise
        else:
            self._succeeded()
            return report
        finally:
            self._plan_scan()
            self._woken.set()  # the next sync may be due earlier than before

    async def _once(self, *, is_full: bool) -> None:
        """Sync, and plan the next sync. Raises nothing but cancellation."""
        self._scan_s = float("inf")
        if is_full:
            self._due_s = float("inf")
        try:
            is_local = self._failures > 0 and not is_full
            async with self._slots:
                report = await self.replica.sync(is_full=is_full, is_local=is_local)
        except MemdError as error:
            self._failed(error)
        except Exception:
            log.exception("remote.sync_crashed", agent=self.replica.config.id)
            self._failed(
                MemdError(f"the sync of agent {self.replica.config.id} crashed; see the daemon's log")
            )
        else:
            if report.exchanged:
                self._succeeded()
            elif report.committed:
                self.on_activity()
        self._plan_scan()
        if is_full and self._look is not None:
            self._look.set()
            self._look = None

    def _plan_scan(self) -> None:
        """Look at the workspace again when changes may have settled."""
        wait_s = self.replica.next_scan_s()
        if wait_s is not None:
            self._scan_s = min(self._scan_s, trio.current_time() + wait_s)

    def _succeeded(self) -> None:
        if self.problem is not None:
            log.info("remote.recovered", agent=self.replica.config.id)
        self.problem, self._failures = None, 0
        self.last_sync_ms, self._looked_s = self._clock(), trio.current_time()
        self._due_s = self._looked_s + INTERVAL_S * random.uniform(1 - JITTER, 1 + JITTER)

    def _failed(self, error: MemdError) -> None:
        if self.problem is None or self.problem.message != error.message:  # not at every attempt
            log.warning(
                "remote.sync_failed",
                agent=self.replica.config.id,
                code=error.code,
                error=error.message,
                hint=error.hint,
            )
        self.problem = error
        self._looked_s = trio.current_time()
        self._failures += 1
        wait_s = back_off_s(self._failures, BACKOFF_S, MAX_BACKOFF_S)
        self._due_s = self._looked_s + wait_s * random.uniform(1 - JITTER, 1 + JITTER)
