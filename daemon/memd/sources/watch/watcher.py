"""One watcher for all agents: hints that files may have changed, from file events or, if those fail, from polling.

Hints only start syncs early: every search scans the disk itself, unless the agent's queue reports no change. So the
watcher may hint late, but it never fails: if events fail, it polls and retries them.
"""

from __future__ import annotations

import math
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, TypeAlias

import trio
from msgspec import Struct

from memd.sources.source import Listing
from memd.sources.watch.filesystems import MOUNT_TABLE
from memd.sources.watch.inotify import RETRY_S, STEP_S, InotifyEvents
from memd.sources.watch.queue import FolderEvents, Hint, Hints, WatchQueue
from memd.system.clock import Clock
from memd.system.log import log
from memd_client.errors import MemdError

Mechanism: TypeAlias = Literal["auto", "inotify", "watchfiles", "poll"]

HintSink = Callable[[str, str], None]
"""Receives (agent, source) on the event loop; must not block."""

Listings: TypeAlias = Mapping[str, Listing]
"""What is on disk now, by source."""

POLL_S = 2.0
POLL_SHARE = 200
"""Minimum time between two polls, and its ratio to the duration of a poll: polling takes at most 0.5 % of a core."""

MAX_POLL_S = 300.0
"""Maximum time between two polls, even if one takes long because a server hangs."""

RECHECK_S = 60.0
"""Time between two checks for changes that raise no event, such as a mount or a renamed parent folder."""

CRASH_PAUSE_S = 10.0
"""Pause before the watcher restarts after an unexpected exception."""

THREADS = 4
"""Worker threads for the events, for reading them, for polling and for checking roots, so that none waits."""


class WatchState(Struct, frozen=True):
    """How changes of one agent's files are detected.

    `off` if watching is disabled; for `polling`, `reason` includes the remedy if there is one.
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
        self._agents: dict[str, Callable[[], Listings]] = {}
        self._queues: dict[str, dict[tuple[str, str], WatchQueue]] = {}
        self._states: dict[str, WatchState] = {}
        self._hints = Hints()
        self._poll_again = trio.Event()
        self._events = self._make_events()
        self._running = trio.CancelScope()

    def __repr__(self) -> str:
        polled = sum(state.mode == "polling" for state in self._states.values())
        folders = len(self._events.folders)
        return f"<Watcher of {len(self._agents)} agents, {polled} polled, {folders} folders armed>"

    def queue(self, agent: str, source: str, part: str = "") -> WatchQueue:
        """Return a new queue for the folders of a part of one of an agent's sources, replacing the previous one."""
        queue = WatchQueue((agent, source), lambda: self._events, self._hints, self._now)
        self._queues.setdefault(agent, {})[source, part] = queue
        return queue

    def watch(self, agent: str, find: Callable[[], Listings]) -> None:
        """Start hinting an agent of changes, with a first hint soon.

        Args:
            agent: Its id.
            find: Returns what is on disk now (blocking): called regularly while events don't report every change.
        """
        self._agents[agent] = find
        self._note_states()
        self._hints.add(self._hints_of(agent))

    def forget(self, agent: str) -> None:
        """Stop hinting an agent."""
        self._queues.pop(agent, None)
        if self._agents.pop(agent, None) is not None:
            self._note_states()

    def state(self, agent: str) -> WatchState:
        """Return how changes of an agent's files are detected."""
        return self._states.get(agent, WatchState("off"))

    def use(self, mechanism: Mechanism) -> None:
        """Switch to another mechanism."""
        if mechanism != self._mechanism:
            self._mechanism = mechanism
            old, self._events = self._events, self._make_events()
            self._running.cancel()
            old.close()
            self._hint_all()

    def close(self) -> None:
        """Release all resources; call after `run` has ended."""
        self._events.close()

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Watch until cancelled.

        Cancellation: ends within `step_s`.
        Errors: an unexpected exception is logged, and the watcher restarts.
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
            self._hint_all()
            await trio.sleep(CRASH_PAUSE_S)

    def _make_events(self) -> FolderEvents:
        """Return the source of events for the configured mechanism."""
        mechanism = self._mechanism
        if mechanism == "poll":
            return FolderEvents('`watcher = "poll"` is set in memd.toml')
        if mechanism == "inotify" or (mechanism == "auto" and sys.platform == "linux"):
            return InotifyEvents(
                self._threads, table=self._mount_table, step_s=self._step_s, retry_s=self._retry_s
            )
        from memd.sources.watch.watchfiles_events import WatchfilesEvents  # 1 MB that Linux doesn't need

        return WatchfilesEvents(
            self._threads, table=self._mount_table, step_s=self._step_s, retry_s=self._retry_s
        )

    async def _keep_delivering(self) -> None:
        """Deliver hints, together for a burst."""
        while True:
            self._deliver(await self._hints.take())
            await trio.sleep(self._step_s)

    async def _follow_events(self) -> None:
        """Run the source of events; restart if the mechanism changes."""
        while True:
            with trio.CancelScope() as self._running:
                await self._events.run(self._hint_all)

    async def _keep_rechecking(self) -> None:
        """Check periodically for changes that raise no event."""
        while True:
            await trio.sleep(self._recheck_s)
            queues = [
                queue
                for agent, queues in self._queues.items()
                if agent in self._agents
                for queue in queues.values()
            ]

            def recheck(queues: list[WatchQueue] = queues) -> None:
                self._events.read()  # detects new mounts
                for queue in queues:
                    queue.recheck()

            await trio.to_thread.run_sync(recheck, limiter=self._threads, abandon_on_cancel=True)

    async def _keep_polling(self) -> None:
        """List the files of agents whose events don't report every change, and compare two listings."""
        before: dict[str, Listings] = {}
        while True:
            self._poll_again = trio.Event()
            polled = [agent for agent in self._agents if self._states[agent].mode == "polling"]
            started_s = time.perf_counter()
            after: dict[str, Listings] = {}
            for agent in polled:
                known = before.get(agent)
                try:
                    after[agent] = await trio.to_thread.run_sync(
                        self._agents[agent], limiter=self._threads, abandon_on_cancel=True
                    )
                except (MemdError, OSError, KeyError):  # it can't be listed now, or was closed
                    if known is not None:
                        after[agent] = known
                else:
                    self._deliver(_changes(agent, known or {}, after[agent]))
            before = after
            took_s = time.perf_counter() - started_s
            with trio.move_on_after(
                max(self._poll_s, min(POLL_SHARE * took_s, MAX_POLL_S)) if polled else math.inf
            ):
                await self._poll_again.wait()

    def _hints_of(self, agent: str) -> set[Hint]:
        return {(agent, source) for source, _ in self._queues.get(agent, ())}

    def _hint_all(self) -> None:
        """Hint all agents, because any of them may have missed a change."""
        self._hints.add({hint for agent in self._agents for hint in self._hints_of(agent)})

    def _deliver(self, hints: set[Hint]) -> None:
        """Pass hints on to their agents, except removed ones."""
        self._note_states()
        for agent, source in sorted(hints):
            if agent in self._agents:
                self._on_hint(agent, source)

    def _note_states(self) -> None:
        """Update how each agent's changes are detected, and log differences."""
        polled: defaultdict[str, list[str]] = defaultdict(list)
        recovered = []
        before, self._states = self._states, {}
        for agent in self._agents:
            queues = self._queues.get(agent, {}).values()
            reason = self._events.down or next((queue.problem for queue in queues if queue.problem), "")
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


def _changes(agent: str, before: Listings, after: Listings) -> set[Hint]:
    """Return hints for the sources whose files differ between two listings."""
    return {
        (agent, name)
        for name, now in after.items()
        if (then := before.get(name)) is None or (then.files, then.skipped) != (now.files, now.skipped)
    }
