"""Schedules syncs of an agent's text on file events, intervals and session events.

Searches don't depend on it, because each checks the disk itself. Early syncs leave searches less to catch up on, and
have vectors ready.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import trio

from memd.index.files import FileRow
from memd.settings.schema import SessionSync, Sync
from memd.sources.agent_sources import AgentSources
from memd.sources.source import SourceFile
from memd.sync.text.text_sync import TextSync
from memd.system.clock import Clock
from memd.system.lru import LruCache

SESSION_DEBOUNCE_S = 5.0
"""Quiet time before a conversation's growth is checked: one exchange causes writes for some seconds."""

LONGEST_DEBOUNCE = 4
"""Multiple of the quiet time after which a file that is written to continuously is synced."""

FULL_SYNC_INTERVAL_S = 600.0
"""Interval of syncs that are independent of events: a lost event delays vectors by ten minutes at most."""

MAX_SESSION_KEYS = 1000
"""Session keys that are remembered, so that each session's start syncs once."""


class Debouncer:
    """Runs an action after a burst of hints, once there was a quiet time."""

    def __init__(self, quiet_s: float, action: Callable[[], None]) -> None:
        self._quiet_s = quiet_s
        self._action = action
        self._hinted = trio.Event()

    def hint(self) -> None:
        """Report that something may have changed."""
        self._hinted.set()

    async def run(self) -> None:
        """Run the action after each burst, until cancelled."""
        while True:
            await self._hinted.wait()
            latest = trio.current_time() + self._quiet_s * LONGEST_DEBOUNCE
            while self._hinted.is_set():
                self._hinted = trio.Event()
                with trio.move_on_at(min(latest, trio.current_time() + self._quiet_s)):
                    await self._hinted.wait()
                if trio.current_time() >= latest:
                    break
            self._hinted = trio.Event()
            self._action()


class Schedule:
    """Decides when one agent's text is synced."""

    def __init__(
        self,
        text: TextSync,
        sources: AgentSources,
        settings: Sync,
        *,
        clock: Clock,
        disk: trio.CapacityLimiter,
    ) -> None:
        self._text = text
        self._sources = sources
        self._settings = settings
        self._clock = clock
        self._disk = disk
        self._notes = Debouncer(settings.watch_debounce_ms / 1000, text.sync_nowait)
        self._growth = trio.Event()
        self._conversations = Debouncer(SESSION_DEBOUNCE_S, lambda: self._growth.set())
        self._keys: LruCache[str, bool] = LruCache(MAX_SESSION_KEYS)

    def hint(self, source: str) -> None:
        """Receive a hint of the watcher: a source may have changed."""
        (self._conversations if self._sources.is_conversation(source) else self._notes).hint()

    def session_started(self, session_key: str) -> bool:
        """Request a sync for a session's start, once per session and if the settings say so; return whether."""
        if not self._settings.on_session_start or self._keys.get(session_key):
            return False
        self._keys.put(session_key, True)
        self._text.sync_nowait()
        return True

    def compacted(self) -> None:
        """Request a sync after an agent's context was compacted, because its flush has just written notes."""
        self._text.sync_nowait()

    async def run(self) -> None:
        """Serve hints and intervals until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._notes.run)
            nursery.start_soon(self._conversations.run)
            nursery.start_soon(self._follow_growth)
            nursery.start_soon(self._every, self._settings.interval_minutes * 60.0 or math.inf)
            nursery.start_soon(self._every, FULL_SYNC_INTERVAL_S)

    async def _every(self, pause_s: float) -> None:
        """Sync at an interval, which any other sync restarts."""
        wait_s = self._due_in_s(pause_s)
        while True:
            before_ms = self._text.last_sync_ms
            await trio.sleep(wait_s)
            if self._text.last_sync_ms == before_ms:
                self._text.sync_nowait()
                wait_s = pause_s
            else:
                wait_s = self._due_in_s(pause_s)

    def _due_in_s(self, pause_s: float) -> float:
        """Return the time until a sync is due; the last one may be from an earlier run of the daemon."""
        if self._text.last_sync_ms is None or pause_s == math.inf:
            return pause_s
        passed_s = (self._clock() - self._text.last_sync_ms) / 1000
        # A wall clock that was set back must not delay the next sync indefinitely.
        return max(0.0, pause_s - passed_s) if passed_s >= 0 else pause_s

    async def _follow_growth(self) -> None:
        """Sync when conversations have grown enough since they were indexed."""
        while True:
            await self._growth.wait()
            self._growth = trio.Event()
            if await trio.to_thread.run_sync(self._has_grown, limiter=self._disk):
                self._text.sync_nowait()

    def _has_grown(self) -> bool:
        """Return whether conversations differ enough from what is indexed (blocking)."""
        _, changes = self._text.scan()
        if any(self._sources.is_conversation(row.source) for row in changes.gone):
            return True
        rows = self._text.rows
        return any(
            has_grown(self._sources, found, rows.get(found.path), self._settings.sessions)
            for found in changes.read
            if found.is_conversation
        )


def has_grown(sources: AgentSources, found: SourceFile, row: FileRow | None, limits: SessionSync) -> bool:
    """Return whether a conversation has grown enough to be indexed without a search (blocking)."""
    indexed = None if row is None else (row.mtime_ns, row.size, row.inode, row.ctime_ns)
    grown = sources.growth(found, indexed)
    return grown is None or grown[0] >= limits.delta_bytes or grown[1] >= limits.delta_messages
