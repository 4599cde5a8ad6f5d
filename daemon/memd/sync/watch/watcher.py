"""One watcher for all agents: hints that something may have changed, by file events or, failing those, by looking.

A hint is a head start: every search looks at the disk itself, unless the agent's queue says that nothing changed. So
the watcher may hint late, but it never fails: whatever ends the events, they are tried again, and polling bridges it.
"""

from __future__ import annotations

import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import structlog
import trio

from memd.sync.disk.filesystems import MOUNT_TABLE
from memd.sync.watch.inotify import RETRY_S, STEP_S, InotifyEvents
from memd.sync.watch.poll import Snapshot, find_changes, look
from memd.sync.watch.queue import FolderEvents, Hint, Hints, WatchQueue
from memd.sync.watch.queue import Kind as Kind
from memd.sync.watch.queue import WatchPlan as WatchPlan
from memd.sync.watch.watchfiles_events import WatchfilesEvents
from memd.system.clock import Clock
from memd_client.errors import MemdError

log = structlog.get_logger(__name__)

Mechanism: TypeAlias = Literal["auto", "inotify", "watchfiles", "poll"]

HintSink = Callable[[str, Kind], None]
"""Hears (agent, kind) on the loop, and never blocks."""

POLL_S = 2.0
POLL_SHARE = 200
"""The least time between two looks, and how many times one look takes: at most 0.5 % of a core."""

MAX_POLL_S = 300.0
"""The most time between two looks, however long one takes on a server that hangs."""

RECHECK_S = 60.0
"""Time between two checks for what raises no event, such as a mount or a renamed folder further up."""

CRASH_PAUSE_S = 10.0
"""Pause before the watcher starts again after a defect."""

THREADS = 4
"""The events, a reading of them, a look at the files and a check of the roots: none waits for another."""


@dataclass(frozen=True, slots=True)
class WatchState:
    """How changes of one agent's files are noticed.

    `off` if the settings want none; for `polling` the reason, and what to do about it if there is something.
    """

    mode: Literal["events", "polling", "off"]
    reason: str = ""
    since_ms: int | None = None


class Watcher:
    """Watches the folders of all agents.

    Resources: see `InotifyEvents` and `WatchfilesEvents`; until `close`.
    """

    def __init__(
        self,
        on_hint: HintSink,
        *,
        clock: Clock,
        mechanism: Mechanism = "auto",
        mount_table: Path = MOUNT_TABLE,
        step_s: float = STEP_S,
        poll_s: float = POLL_S,
        retry_s: float = RETRY_S,
        recheck_s: float = RECHECK_S,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._on_hint = on_hint
        self._clock = clock
        self._mechanism = mechanism
        self._mount_table = mount_table
        self._step_s = step_s
        self._poll_s = poll_s
        self._retry_s = retry_s
        self._recheck_s = recheck_s
        self._now = now
        self._threads = trio.CapacityLimiter(THREADS)
        self._plans: dict[str, WatchPlan] = {}
        self._queues: dict[str, WatchQueue] = {}
        self._states: dict[str, WatchState] = {}
        self._hints = Hints()
        self._poll_again = trio.Event()
        self._events = self._make_events()
        self._running = trio.CancelScope()

    def __repr__(self) -> str:
        polled = sum(state.mode == "polling" for state in self._states.values())
        folders = len(self._events.folders)
        return f"<Watcher of {len(self._plans)} agents, {polled} polled, {folders} folders armed>"

    def queue(self, agent: str) -> WatchQueue:
        """Return a new queue for an agent's folders, in the place of the one it had."""
        queue = WatchQueue(agent, lambda: self._events, self._plans, self._hints, self._now)
        self._queues[agent] = queue
        return queue

    def watch(self, plan: WatchPlan) -> None:
        """Hint an agent of changes from now on, for a first time soon."""
        if self._plans.get(plan.agent) != plan:
            self._plans[plan.agent] = plan
            self._note_states()
            self._hints.add(plan.hints)

    def forget(self, agent: str) -> None:
        """Hint an agent no more."""
        if self._plans.pop(agent, None) is not None:
            self._note_states()

    def state(self, agent: str) -> WatchState:
        """Return how changes of an agent's files are noticed."""
        return self._states.get(agent, WatchState("off"))

    def use(self, mechanism: Mechanism) -> None:
        """Notice changes by another mechanism."""
        if mechanism != self._mechanism:
            self._mechanism = mechanism
            old, self._events = self._events, self._make_events()
            self._running.cancel()
            old.close()
            self._hint_everyone()

    def close(self) -> None:
        """Give back what is open; not before `run` has ended."""
        self._events.close()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Watch until cancelled.

        Cancellation: ends within a step.
        When it fails: it doesn't; a defect is logged, and the watcher starts again.
        """
        task_status.started()
        while True:
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._keep_delivering)
                    nursery.start_soon(self._follow_events)
                    nursery.start_soon(self._keep_polling)
                    nursery.start_soon(self._keep_rechecking)
            except* Exception as group:
                log.error("watch.crashed", exc_info=group)
            self._hint_everyone()
            await trio.sleep(CRASH_PAUSE_S)

    def _make_events(self) -> FolderEvents:
        """Return the events the settings want."""
        mechanism = self._mechanism
        if mechanism == "poll":
            return FolderEvents('`watcher = "poll"` is set in memd.toml')
        if mechanism == "inotify" or (mechanism == "auto" and sys.platform == "linux"):
            return InotifyEvents(
                self._threads, table=self._mount_table, step_s=self._step_s, retry_s=self._retry_s
            )
        return WatchfilesEvents(
            self._threads, table=self._mount_table, step_s=self._step_s, retry_s=self._retry_s
        )

    async def _keep_delivering(self) -> None:
        """Deliver hints, those of a burst together."""
        while True:
            self._deliver(await self._hints.take())
            await trio.sleep(self._step_s)

    async def _follow_events(self) -> None:
        """Have events reported; start over if the mechanism changes."""
        while True:
            with trio.CancelScope() as self._running:
                await self._events.run(self._hint_everyone)

    async def _keep_rechecking(self) -> None:
        """Check for what raises no event, again and again."""
        while True:
            await trio.sleep(self._recheck_s)
            queues = [queue for agent, queue in self._queues.items() if agent in self._plans]

            def recheck(queues: list[WatchQueue] = queues) -> None:
                self._events.read()  # finds new mounts
                for queue in queues:
                    queue.recheck()

            await trio.to_thread.run_sync(recheck, limiter=self._threads, abandon_on_cancel=True)

    async def _keep_polling(self) -> None:
        """Look at the files of agents whose events don't report every change, as long as there are any."""
        before: dict[str, Snapshot] = {}
        while True:
            self._poll_again = trio.Event()
            plans = [plan for agent, plan in self._plans.items() if self._states[agent].mode == "polling"]
            started_s = time.perf_counter()
            after: dict[str, Snapshot] = {}
            for plan in plans:
                known = before.get(plan.agent)
                try:
                    seen = await trio.to_thread.run_sync(
                        look, plan, known, limiter=self._threads, abandon_on_cancel=True
                    )
                except (MemdError, OSError):  # nothing to look with just now: the last look counts
                    if known is not None:
                        after[plan.agent] = known
                else:
                    after[plan.agent] = seen
                    self._deliver(find_changes(plan, known, seen))
            before = after
            took_s = time.perf_counter() - started_s
            with trio.move_on_after(
                max(self._poll_s, min(POLL_SHARE * took_s, MAX_POLL_S)) if plans else math.inf
            ):
                await self._poll_again.wait()

    def _hint_everyone(self) -> None:
        """Hint all agents: any of them may have missed a change."""
        self._hints.add({hint for plan in self._plans.values() for hint in plan.hints})

    def _deliver(self, hints: set[Hint] | frozenset[Hint]) -> None:
        """Hint agents; one that was forgotten hears nothing."""
        self._note_states()
        for agent, kind in sorted(hints):
            if agent in self._plans:
                self._on_hint(agent, kind)

    def _note_states(self) -> None:
        """Note for each agent how its changes are noticed now, and log what is new."""
        polled: defaultdict[str, list[str]] = defaultdict(list)
        recovered = []
        before, self._states = self._states, {}
        for agent in self._plans:
            queue = self._queues.get(agent)
            reason = self._events.down or (queue.problem if queue is not None else "")
            old = before.get(agent)
            state = WatchState("polling" if reason else "events", reason, self._clock())
            if old is not None and old.mode == state.mode:
                state = WatchState(state.mode, reason, old.since_ms)
            self._states[agent] = state
            if reason and (old is None or old.reason != reason):
                polled[reason].append(agent)
            elif not reason and old is not None and old.reason:
                recovered.append(agent)
        for reason, agents in polled.items():
            log.warning("watch.polling", agents=agents, reason=reason)
        if recovered:
            log.info("watch.recovered", agents=recovered)
        if self._states != before:
            self._poll_again.set()
