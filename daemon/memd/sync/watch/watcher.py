"""One watcher for all agents: hints that something may have changed, from file events or, failing those, by
looking.

A hint is a head start, no more: every search looks at the disk itself. So the watcher may miss a change, but
it never fails: whatever ends the events, they are armed again, and polling bridges what takes longer.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import structlog
import trio

from memd.sync.disk.filesystems import Mounts, load_mounts
from memd.sync.watch.arming import Arming
from memd.sync.watch.events import STEP_MS, EventSource, FileEvents
from memd.sync.watch.folders import Hint, Layout, Survey, survey
from memd.sync.watch.folders import Kind as Kind
from memd.sync.watch.folders import WatchPlan as WatchPlan
from memd.sync.watch.poll import Snapshot, find_changes, look
from memd.system.clock import Clock

log = structlog.get_logger(__name__)

HintSink = Callable[[str, Kind], None]
"""Hears (agent, kind) on the loop, and never blocks."""

POLL_S = 2.0
POLL_SHARE = 200
"""The least time between two looks, and how many times one look takes: at most 0.5 % of a core."""

LONGEST_POLL_S = 300.0
"""The most time between two looks, however long one takes on a server that hangs."""

RETRY_S = 60.0
"""Time between two tries at events where a limit of the system is in the way."""

RECHECK_S = 60.0
"""Time between two looks at the folders when nothing happens: it finds what raises no event, such as a mount
or a renamed folder further up."""

CRASH_PAUSE_S = 10.0
"""Pause before the watcher starts anew after a defect."""

THREADS = 4
"""Two watches that overlap, a look at the folders and a look at the files: none waits for another."""


@dataclass(frozen=True, slots=True)
class WatchState:
    """How changes of one agent's files are noticed.

    `off` where nobody asked; for `polling`, why, and the way out where there is one.
    """

    mode: Literal["events", "polling", "off"]
    reason: str = ""
    since_ms: int | None = None


class Watcher:
    """Watches the folders of all agents."""

    def __init__(
        self,
        on_hint: HintSink,
        *,
        clock: Clock,
        arm: Callable[[Sequence[str], int], EventSource] = FileEvents,
        mounts: Callable[[], Mounts] = load_mounts,
        step_ms: int = STEP_MS,
        poll_s: float = POLL_S,
        retry_s: float = RETRY_S,
        recheck_s: float = RECHECK_S,
    ) -> None:
        self._on_hint = on_hint
        self._clock = clock
        self._mounts = mounts
        self._poll_s = poll_s
        self._threads = trio.CapacityLimiter(THREADS)
        self._plans: dict[str, WatchPlan] = {}
        self._states: dict[str, WatchState] = {}
        self._poll_again = trio.Event()
        self._events = Arming(
            self._plans,
            on_hints=self._hint,
            on_state=self._note_states,
            arm=arm,
            step_ms=step_ms,
            mounts=mounts,
            threads=self._threads,
            retry_s=retry_s,
            recheck_s=recheck_s,
        )

    def __repr__(self) -> str:
        polled = sum(state.mode == "polling" for state in self._states.values())
        return (
            f"<Watcher of {len(self._plans)} agents, {polled} polled, {self._events.folders} folders armed>"
        )

    def watch(self, plan: WatchPlan) -> None:
        """Watch an agent's folders, in the place of those it had. A hint tells when they are watched."""
        if self._plans.get(plan.agent) != plan:
            self._plans[plan.agent] = plan
            self._note_states()
            self._events.look_again(plan.hints)

    def forget(self, agent: str) -> None:
        """Watch an agent's folders no more."""
        if self._plans.pop(agent, None) is not None:
            self._note_states()
            self._events.look_again()

    def state(self, agent: str) -> WatchState:
        """Return how changes of an agent's files are noticed."""
        return self._states.get(agent, WatchState("off"))

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Watch until cancelled.

        Cancellation: ends within a step of watchfiles, with nothing left open.
        When it fails: it doesn't; a defect is logged, and the watcher starts anew.
        """
        task_status.started()
        while True:
            try:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._events.run)
                    nursery.start_soon(self._keep_polling)
            except* Exception as group:
                log.error("watch.crashed", exc_info=group)
            self._events.look_again()
            await trio.sleep(CRASH_PAUSE_S)

    async def _keep_polling(self) -> None:
        """Look at the files of agents whose events are not the whole truth, as long as there are any."""
        before: Snapshot = {}
        known: set[str] = set()
        while True:
            self._poll_again = trio.Event()
            plans = [plan for agent, plan in self._plans.items() if self._states[agent].mode == "polling"]
            if not plans:
                before, known = {}, set()
                await self._poll_again.wait()
                continue
            pause_s = self._poll_s
            try:
                layout, after, took_s = await self._look(plans, before)
            except OSError:
                pass  # nothing to look with just now: the last look stands
            else:
                pause_s = max(pause_s, min(POLL_SHARE * took_s, LONGEST_POLL_S))
                fresh = [plan.hints for plan in plans if plan.agent not in known]
                self._hint(find_changes(before, after).union(*fresh))
                if before.keys() != after.keys() or layout.odd != self._events.odd:
                    self._events.look_again()
                before, known = after, {plan.agent for plan in plans}
            with trio.move_on_after(pause_s):
                await self._poll_again.wait()

    async def _look(self, plans: Sequence[WatchPlan], before: Snapshot) -> tuple[Layout, Snapshot, float]:
        """Return the folders to poll, what they hold now, and how many seconds it took to know."""
        take: Survey = "all" if self._events.down else "polled"
        odd = self._events.odd

        def run() -> tuple[Layout, Snapshot, float]:
            started_s = time.perf_counter()
            layout = survey(plans, self._mounts(), odd, take)
            after = look(layout, before)
            return layout, after, time.perf_counter() - started_s

        return await trio.to_thread.run_sync(run, limiter=self._threads, abandon_on_cancel=True)

    def _hint(self, hints: Iterable[Hint]) -> None:
        """Tell whom changes may concern, once each; an agent that was forgotten hears nothing."""
        for agent, kind in sorted(set(hints)):
            if agent in self._plans:
                self._on_hint(agent, kind)

    def _note_states(self) -> None:
        """Note for each agent how its changes are noticed now, and say what is new."""
        polled: defaultdict[str, list[str]] = defaultdict(list)
        recovered = []
        before, self._states = self._states, {}
        for agent in self._plans:
            reason = self._events.down or self._events.polled.get(agent, "")
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
        self._poll_again.set()
